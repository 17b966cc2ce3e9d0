//! Test environment shared by all benchmarks: the binary, temporary boards, generated task files, repetition counts and
//! timing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Result of a benchmark step; any error ends the run.
pub(crate) type Fallible<T> = Result<T, Box<dyn std::error::Error>>;

/// The binary, and the directory of the boards.
#[derive(Debug)]
pub(crate) struct Scene {
    pub(crate) polis: PathBuf,
    pub(crate) quick: bool,
    room: tempfile::TempDir,
}

impl Scene {
    pub(crate) fn set(quick: bool) -> Fallible<Self> {
        let polis = std::env::current_exe()?.with_file_name("polis");
        // In the build directory, so that it is on a disk and not on a tmpfs.
        let room = tempfile::tempdir_in(polis.parent().unwrap_or(Path::new(".")))?;
        Ok(Self { polis, quick, room })
    }

    /// Returns the path of a directory with this name.
    pub(crate) fn place(&self, name: &str) -> PathBuf {
        self.room.path().join(name)
    }

    /// Creates an empty board. Returns its directory.
    pub(crate) fn board(&self, name: &str) -> Fallible<PathBuf> {
        let place = self.place(name);
        std::fs::create_dir_all(&place)?;
        run(self.polis(&place, &["init"]))?;
        Ok(place)
    }

    /// Writes task files 1 to `count` with a mix of roles and states; every tenth task is blocked by the one before.
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

    /// Returns a polis command on a board.
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

    /// Flushes pending writes to the disk (`sync`), so that no part pays for the previous one.
    pub(crate) fn settle(&self) -> Fallible<()> {
        run(Command::new("sync")).map(|_| ())
    }

    /// Returns the number of repetitions: `full` in a full run, a tenth of it in a quick one.
    pub(crate) fn times(&self, full: usize) -> usize {
        if self.quick { full.div_ceil(10) } else { full }
    }

    /// Returns the duration of a throughput measurement.
    pub(crate) fn spell(&self) -> Duration {
        Duration::from_millis(if self.quick { 500 } else { 4_000 })
    }
}

/// Runs a command to its end. Returns how long it took. Fails if the command fails.
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

/// Returns the quantile `share` of the values (0.5: the median), and sorts them.
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

/// Returns the median of the values, and sorts them.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    at_share(values, 0.5)
}
