//! Terminal UI: CPU time while nothing changes, and bytes drawn for one change compared with a full redraw.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

use crate::report::Report;
use crate::scene::{Fallible, Scene, run};

/// Duration of the idle measurement.
const IDLE: Duration = Duration::from_secs(10);
/// Time without output after which drawing counts as finished.
const QUIET: Duration = Duration::from_millis(700);
/// Maximum share of one processor that an idle screen may use.
const SHARE: f64 = 0.002;

pub(super) fn measure(scene: &Scene, board: &Path, report: &mut Report) -> Fallible<()> {
    let screen = Screen::start(scene, board)?;
    let whole = screen.settled()?;
    let before = screen.processor()?;
    sleep(IDLE);
    let used = screen.processor()? - before;
    let drawn = screen.drawn()? - whole;
    let share = used / IDLE.as_secs_f64();
    report.add(
        "the terminal screen when nothing happens: share of a processor",
        format!("{:.2} %", share * 100.0),
        format!("< {} %", SHARE * 100.0),
        share < SHARE,
        &format!(
            "{:.0} ms in {} s, {drawn} bytes drawn",
            used * 1e3,
            IDLE.as_secs()
        ),
    );
    let before = screen.drawn()?;
    run(scene.polis(board, &["task", "create", "--subject", "one more"]))?;
    let change = screen.settled()? - before;
    #[expect(clippy::cast_precision_loss, reason = "a screen is not that large")]
    let ratio = change as f64 / whole as f64;
    report.at_most(
        "what is drawn for one change / for the whole screen",
        ratio,
        0.5,
        &format!("{change} beside {whole} bytes, 120 x 40"),
    );
    Ok(())
}

/// `polis tui` in a terminal (`script`) that records its output in a file.
struct Screen {
    terminal: Child,
    told: PathBuf,
}

impl Screen {
    fn start(scene: &Scene, board: &Path) -> Fallible<Self> {
        let told = scene.place("screen");
        let shown = format!(
            "stty cols 120 rows 40; exec {} --dir {} tui",
            scene.polis.display(),
            board.display()
        );
        let terminal = Command::new("script")
            .args(["--quiet", "--flush", "--command", &shown])
            .arg(&told)
            .env("TERM", "xterm-256color")
            .env("SHELL", "/bin/sh")
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .spawn()?;
        Ok(Self { terminal, told })
    }

    /// Returns the number of bytes drawn so far.
    fn drawn(&self) -> Fallible<u64> {
        Ok(fs::metadata(&self.told).map_or(0, |file| file.len()))
    }

    /// Waits until drawing has finished. Returns the number of bytes drawn.
    fn settled(&self) -> Fallible<u64> {
        let mut last = (self.drawn()?, Instant::now());
        let begun = Instant::now();
        while last.0 == 0 || last.1.elapsed() < QUIET {
            if begun.elapsed() > Duration::from_secs(30) {
                return Err("the screen does not come to rest".into());
            }
            sleep(Duration::from_millis(20));
            let now = self.drawn()?;
            if now != last.0 {
                last = (now, Instant::now());
            }
        }
        Ok(last.0)
    }

    /// Returns the CPU time of the program in the terminal, in seconds.
    fn processor(&self) -> Fallible<f64> {
        let children = format!("/proc/{0}/task/{0}/children", self.terminal.id());
        let child = fs::read_to_string(children)?;
        let child = child.split_whitespace().next().ok_or("it has ended")?;
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

impl Drop for Screen {
    fn drop(&mut self) {
        // The benchmark started this terminal, and its measurements are finished.
        let _ = self.terminal.kill();
        let _ = self.terminal.wait();
    }
}
