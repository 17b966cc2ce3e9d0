//! What every benchmark needs: the binary, boards of different sizes, and timing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Anything may fail, and ends the run.
pub(crate) type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// The binary and the boards.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) polis: PathBuf,
    pub(crate) quick: bool,
    room: tempfile::TempDir,
}

impl Scene {
    pub(crate) fn set(quick: bool) -> Fallible<Self> {
        let polis = std::env::current_exe()?.with_file_name("polis");
        // Beside the build, so that it is on a disk and not in memory.
        let room = tempfile::tempdir_in(polis.parent().unwrap_or(Path::new(".")))?;
        Ok(Self { polis, quick, room })
    }

    /// A directory of that name.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.room.path().join(name)
    }

    /// An empty board.
    pub(crate) fn board(&self, name: &str) -> Fallible<PathBuf> {
        let place = self.place(name);
        std::fs::create_dir_all(&place)?;
        run(self.polis(&place, &["init"]))?;
        Ok(place)
    }

    /// Task files 1 to `count`: a mix of roles and states, every tenth waiting for the one before.
    pub(crate) fn task_files(&self, name: &str, count: u64) -> Fallible<PathBuf> {
        let place = self.place(name);
        std::fs::create_dir_all(&place)?;
        for n in 1..=count {
            let role =
                ["backend-leader", "frontend-leader", "test-leader", ""][usize::try_from(n % 4)?];
            let role = if role.is_empty() {
                String::new()
            } else {
                format!(",\"requiredRole\":\"{role}\"")
            };
            let status =
                ["pending", "completed", "in_progress", "pending"][usize::try_from(n / 4 % 4)?];
            let blocked_by = if n % 10 == 0 {
                format!("\"{}\"", n - 1)
            } else {
                String::new()
            };
            let blocks = if n % 10 == 9 && n < count {
                format!("\"{}\"", n + 1)
            } else {
                String::new()
            };
            let text = format!(
                "{{\"id\":\"{n}\",\"subject\":\"Task {n} 实现模块\",\"description\":\"{}\",\"status\":\"{status}\",\
                 \"owner\":\"\",\"blocks\":[{blocks}],\"blockedBy\":[{blocked_by}]{role}}}",
                "Do the thing. ".repeat(10)
            );
            std::fs::write(place.join(format!("{n}.json")), text)?;
        }
        Ok(place)
    }

    /// A polis command on a board.
    pub(crate) fn polis(&self, board: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(&self.polis);
        command
            .arg("--dir")
            .arg(board)
            .args(args)
            .env_remove("POLIS_STORE")
            .env_remove("POLIS_AGENT");
        command
    }

    /// Lets the disk finish what the part before left to it, so that no part pays for another.
    pub(crate) fn settle(&self) -> Fallible<()> {
        run(Command::new("sync")).map(|_| ())
    }

    /// How often to repeat, in a full run.
    pub(crate) fn times(&self, full: usize) -> usize {
        if self.quick { full.div_ceil(10) } else { full }
    }

    /// How long to measure throughput.
    pub(crate) fn spell(&self) -> Duration {
        Duration::from_millis(if self.quick { 500 } else { 4_000 })
    }
}

/// Runs a command to its end and answers how long it took.
pub(crate) fn run(mut command: Command) -> Fallible<Duration> {
    let begun = Instant::now();
    let status = command
        .stdout(Stdio::null())
        .stdin(Stdio::null())
        .status()?;
    let took = begun.elapsed();
    if status.success() {
        Ok(took)
    } else {
        Err(format!("{command:?} failed: {status}").into())
    }
}

/// The value in the middle, or at another share of the sorted values.
pub(crate) fn at_share(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index"
    )]
    let place = ((values.len() as f64 - 1.0) * share).round() as usize;
    values.get(place).copied().unwrap_or(f64::NAN)
}

/// The value in the middle.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    at_share(values, 0.5)
}
