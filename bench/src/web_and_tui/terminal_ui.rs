//! Terminal UI: CPU time while nothing changes, and bytes drawn for one change compared with a full redraw.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::bench_env::{BenchEnv, BenchResult, run_timed};
use crate::report::BenchReport;

/// Duration of the idle measurement.
const IDLE_DURATION: Duration = Duration::from_secs(10);
/// Time without output after which drawing counts as finished.
const QUIET_INTERVAL: Duration = Duration::from_millis(700);
/// Maximum share of one processor that an idle screen may use.
const MAX_IDLE_CPU_SHARE: f64 = 0.002;

pub(super) fn measure(env: &BenchEnv, board: &Path, report: &mut BenchReport) -> BenchResult<()> {
    let screen = TuiProcess::start(env, board)?;
    let initial_bytes = screen.wait_until_drawn()?;
    let before = screen.cpu_seconds()?;
    sleep(IDLE_DURATION);
    let used = screen.cpu_seconds()? - before;
    let idle_bytes = screen.bytes_drawn()? - initial_bytes;
    let share = used / IDLE_DURATION.as_secs_f64();
    report.add_figure(
        "idle terminal UI: share of one CPU",
        format!("{:.2} %", share * 100.0),
        format!("< {} %", MAX_IDLE_CPU_SHARE * 100.0),
        share < MAX_IDLE_CPU_SHARE,
        &format!(
            "{:.0} ms in {} s, {idle_bytes} bytes drawn",
            used * 1e3,
            IDLE_DURATION.as_secs()
        ),
    );
    let before = screen.bytes_drawn()?;
    run_timed(env.polis_command(board, &["task", "create", "--subject", "one more"]))?;
    let change = screen.wait_until_drawn()? - before;
    #[expect(clippy::cast_precision_loss, reason = "a screen is not that large")]
    let ratio = change as f64 / initial_bytes as f64;
    report.add_at_most(
        "bytes drawn for one change / for the whole screen",
        ratio,
        0.5,
        &format!("{change} vs {initial_bytes} bytes, 120 x 40"),
    );
    Ok(())
}

/// `polis tui` in a terminal (`script`) that records its output in a file.
struct TuiProcess {
    terminal: Child,
    output_file: PathBuf,
}

impl TuiProcess {
    fn start(env: &BenchEnv, board: &Path) -> BenchResult<Self> {
        let output_file = env.path_of("screen");
        let command = format!(
            "stty cols 120 rows 40; exec {} --dir {} tui",
            env.polis_program.display(),
            board.display()
        );
        let terminal = Command::new("script")
            .args(["--quiet", "--flush", "--command", &command])
            .arg(&output_file)
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Self {
            terminal,
            output_file,
        })
    }

    /// Returns the number of bytes drawn so far.
    fn bytes_drawn(&self) -> BenchResult<u64> {
        Ok(fs::metadata(&self.output_file).map_or(0, |file| file.len()))
    }

    /// Waits until drawing has finished. Returns the number of bytes drawn.
    fn wait_until_drawn(&self) -> BenchResult<u64> {
        let mut last = (self.bytes_drawn()?, Instant::now());
        let started = Instant::now();
        while last.0 == 0 || last.1.elapsed() < QUIET_INTERVAL {
            if started.elapsed() > Duration::from_secs(30) {
                return Err("timed out waiting for the screen to stop changing".into());
            }
            sleep(Duration::from_millis(20));
            let now = self.bytes_drawn()?;
            if now != last.0 {
                last = (now, Instant::now());
            }
        }
        Ok(last.0)
    }

    /// Returns the CPU time of the program in the terminal, in seconds.
    fn cpu_seconds(&self) -> BenchResult<f64> {
        let children = format!("/proc/{0}/task/{0}/children", self.terminal.id());
        let child = fs::read_to_string(children)?;
        let child = child
            .split_whitespace()
            .next()
            .ok_or("the terminal UI has ended")?;
        let stat = fs::read_to_string(format!("/proc/{child}/stat"))?;
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap_or("")
            .split_whitespace()
            .collect();
        let ticks = |at: usize| fields.get(at).and_then(|text| text.parse::<f64>().ok());
        // utime and stime: fields 14 and 15 of the line, here counted from the field after the name.
        let (user, system) = (ticks(11).ok_or("no time")?, ticks(12).ok_or("no time")?);
        Ok((user + system) / f64::from(u32::try_from(rustix::param::clock_ticks_per_second())?))
    }
}

impl Drop for TuiProcess {
    fn drop(&mut self) {
        // The benchmark started this terminal, and its measurements are finished.
        let _ = self.terminal.kill();
        let _ = self.terminal.wait();
    }
}
