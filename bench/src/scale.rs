//! Scaling to 100,000 tasks: import rate, filtered lists compared with 1,000 tasks, and peak memory.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::report::Report;
use crate::scene::{Fallible, Scene, median, run};

const SMALL: u64 = 1_000;
const LARGE: u64 = 100_000;

/// Creates the boards `small` and `large`, which later benchmarks use, and measures them.
pub(crate) fn measure(scene: &Scene, report: &mut Report) -> Fallible<()> {
    for (name, count) in [("small", SMALL), ("large", LARGE)] {
        let files = scene.task_files(&format!("{name}-files"), count)?;
        let board = scene.board(name)?;
        let import = ["task", "import", &files.display().to_string(), "--json"].map(str::to_owned);
        let args: Vec<&str> = import.iter().map(String::as_str).collect();
        let (took, peak) = with_peak(scene.polis(&board, &args))?;
        if count == LARGE {
            #[expect(clippy::cast_precision_loss, reason = "a count of tasks")]
            let rate = count as f64 / took.as_secs_f64();
            report.add(
                "import of 100,000 tasks",
                format!("{rate:.0}/s"),
                "≥ 20000/s".to_owned(),
                rate >= 20_000.0,
                &format!("{:.1} s, one atomic commit", took.as_secs_f64()),
            );
            memory(report, "import", peak);
        }
    }
    let lists: [(&str, &[&str]); 5] = [
        ("by role", &["--role-filter", "test-leader"]),
        ("by a role nobody has", &["--role-filter", "devops-leader"]),
        ("by status", &["--status", "completed"]),
        ("ready", &["--ready"]),
        (
            "ready by role and status",
            &[
                "--ready",
                "--role-filter",
                "backend-leader",
                "--status",
                "pending",
            ],
        ),
    ];
    for (what, filter) in lists {
        let args: Vec<&str> = ["task", "list", "--limit", "50", "--json"]
            .iter()
            .chain(filter)
            .copied()
            .collect();
        let (mut small, mut large, mut peak) = (Vec::new(), Vec::new(), 0);
        for _ in 0..scene.times(50) {
            small.push(run(scene.polis(&scene.place("small"), &args))?.as_secs_f64() * 1e3);
            large.push(run(scene.polis(&scene.place("large"), &args))?.as_secs_f64() * 1e3);
        }
        for _ in 0..3 {
            peak = peak.max(with_peak(scene.polis(&scene.place("large"), &args))?.1);
        }
        let (small, large) = (median(&mut small), median(&mut large));
        let how = format!("{large:.2} ms beside {small:.2} ms on 1,000 tasks; peak {peak} KB");
        report.at_most(
            &format!("`task list` {what}, 100,000 / 1,000 tasks"),
            large / small,
            10.0,
            &how,
        );
    }
    let (_, peak) = with_peak(scene.polis(&scene.place("large"), &["task", "list", "--json"]))?;
    memory(report, "`task list` of all 100,000", peak);
    Ok(())
}

fn memory(report: &mut Report, what: &str, peak_kb: u64) {
    report.add(
        &format!("peak memory, {what}"),
        format!("{} MB", peak_kb / 1_024),
        "< 40 MB".to_owned(),
        peak_kb < 40 * 1_024,
        "high-water mark of the resident set",
    );
}

/// Runs a command. Returns its time and the high-water mark of its resident set in KB.
fn with_peak(mut command: Command) -> Fallible<(Duration, u64)> {
    let begun = Instant::now();
    let mut child = command.stdout(Stdio::null()).spawn()?;
    let file = format!("/proc/{}/status", child.id());
    let mut peak = 0;
    let status = loop {
        if let Ok(text) = std::fs::read_to_string(&file) {
            let mark = text.lines().find_map(|line| line.strip_prefix("VmHWM:"));
            let mark = mark
                .and_then(|line| line.split_whitespace().next())
                .and_then(|kb| kb.parse().ok());
            peak = peak.max(mark.unwrap_or(0));
        }
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_micros(500));
    };
    let took = begun.elapsed();
    if status.success() {
        Ok((took, peak))
    } else {
        Err(format!("{command:?}: {status}").into())
    }
}
