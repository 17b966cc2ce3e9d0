//! Environment shared by all benchmarks: the binary, temporary projects, generated task files, repetition
//! counts and timing.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// Result of a benchmark step; any error ends the run.
pub(crate) type BenchResult<T> = Result<T, Box<dyn std::error::Error>>;

/// The polis binary, and the temporary directory of the projects.
#[derive(Debug)]
pub(crate) struct BenchEnv {
    pub(crate) polis_program: PathBuf,
    pub(crate) quick: bool,
    temp_directory: tempfile::TempDir,
}

impl BenchEnv {
    pub(crate) fn new(quick: bool) -> BenchResult<Self> {
        let app = std::env::current_exe()?.with_file_name("polis");
        // In the build directory, so that it is on a disk and not on a tmpfs.
        let temp_directory = tempfile::tempdir_in(app.parent().unwrap_or(Path::new(".")))?;
        Ok(Self {
            polis_program: app,
            quick,
            temp_directory,
        })
    }

    /// Returns a path in the temporary directory, by its name. Nothing is created.
    pub(crate) fn path_of(&self, name: &str) -> PathBuf {
        self.temp_directory.path().join(name)
    }

    /// Creates an empty project (`polis init`). Returns its directory.
    pub(crate) fn create_project(&self, name: &str) -> BenchResult<PathBuf> {
        let directory = self.path_of(name);
        std::fs::create_dir_all(&directory)?;
        run_timed(self.polis_command(&directory, &["init"]))?;
        Ok(directory)
    }

    /// Writes task files 1 to `count` with a mix of roles and states; every tenth task is blocked by the one
    /// before.
    pub(crate) fn write_task_files(&self, name: &str, count: u64) -> BenchResult<PathBuf> {
        let directory = self.path_of(name);
        std::fs::create_dir_all(&directory)?;
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
            std::fs::write(directory.join(format!("{n}.json")), text)?;
        }
        Ok(directory)
    }

    /// Returns a polis command on a project.
    pub(crate) fn polis_command(&self, board: &Path, args: &[&str]) -> Command {
        let mut command = Command::new(&self.polis_program);
        command
            .arg("--dir")
            .arg(board)
            .args(args)
            .env_remove("POLIS_STORE")
            .env_remove("POLIS_AGENT");
        command
    }

    /// Flushes pending writes to the disk (`sync`), so that no part pays for the previous one.
    pub(crate) fn sync_disk(&self) -> BenchResult<()> {
        run_timed(Command::new("sync")).map(|_| ())
    }

    /// Returns the number of repetitions: `full` in a full run, a tenth of it in a quick one.
    pub(crate) fn repetitions(&self, full: usize) -> usize {
        if self.quick { full.div_ceil(10) } else { full }
    }

    /// Returns the duration of a throughput measurement.
    pub(crate) fn throughput_duration(&self) -> Duration {
        Duration::from_millis(if self.quick { 500 } else { 4_000 })
    }
}

/// Runs a command to its end. Returns how long it took. Fails if the command fails.
pub(crate) fn run_timed(mut command: Command) -> BenchResult<Duration> {
    let started = Instant::now();
    let status = command
        .stdout(Stdio::null())
        .stdin(Stdio::null())
        .status()?;
    let elapsed = started.elapsed();
    if status.success() {
        Ok(elapsed)
    } else {
        Err(format!("{command:?} failed: {status}").into())
    }
}

/// Returns the quantile `share` of the values (0.5: the median), and sorts them.
pub(crate) fn quantile(values: &mut [f64], share: f64) -> f64 {
    values.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        clippy::cast_precision_loss,
        reason = "an index"
    )]
    let directory = ((values.len() as f64 - 1.0) * share).round() as usize;
    values.get(directory).copied().unwrap_or(f64::NAN)
}

/// Returns the median of the values, and sorts them.
pub(crate) fn median(values: &mut [f64]) -> f64 {
    quantile(values, 0.5)
}
