//! Scaling to 100,000 tasks: import rate, filtered lists compared with 1,000 tasks, and peak memory.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use crate::bench_env::{BenchEnv, BenchResult, median, run_timed};
use crate::report::BenchReport;

const SMALL_TASK_COUNT: u64 = 1_000;
const LARGE_TASK_COUNT: u64 = 100_000;

/// Creates the projects `small` and `large`, which later benchmarks use, and measures them.
pub(crate) fn measure(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    for (name, count) in [("small", SMALL_TASK_COUNT), ("large", LARGE_TASK_COUNT)] {
        let files = env.write_task_files(&format!("{name}-files"), count)?;
        let board = env.create_project(name)?;
        let import = ["task", "import", &files.display().to_string(), "--json"].map(str::to_owned);
        let args: Vec<&str> = import.iter().map(String::as_str).collect();
        let (elapsed, peak) = run_with_peak_memory(env.polis_command(&board, &args))?;
        if count == LARGE_TASK_COUNT {
            #[expect(clippy::cast_precision_loss, reason = "a count of tasks")]
            let rate = count as f64 / elapsed.as_secs_f64();
            report.add_figure(
                "import of 100,000 tasks",
                format!("{rate:.0}/s"),
                "≥ 20000/s".to_owned(),
                rate >= 20_000.0,
                &format!("{:.1} s, one atomic commit", elapsed.as_secs_f64()),
            );
            add_peak_memory(report, "import", peak);
        }
    }
    let lists: [(&str, &[&str]); 5] = [
        ("by role", &["--role-filter", "test-leader"]),
        (
            "by a role without tasks",
            &["--role-filter", "devops-leader"],
        ),
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
        for _ in 0..env.repetitions(50) {
            small.push(
                run_timed(env.polis_command(&env.path_of("small"), &args))?.as_secs_f64() * 1e3,
            );
            large.push(
                run_timed(env.polis_command(&env.path_of("large"), &args))?.as_secs_f64() * 1e3,
            );
        }
        for _ in 0..3 {
            peak =
                peak.max(run_with_peak_memory(env.polis_command(&env.path_of("large"), &args))?.1);
        }
        let (small, large) = (median(&mut small), median(&mut large));
        let detail = format!("{large:.2} ms vs {small:.2} ms on 1,000 tasks; peak {peak} KB");
        report.add_at_most(
            &format!("`task list` {what}, 100,000 / 1,000 tasks"),
            large / small,
            10.0,
            &detail,
        );
    }
    let (_, peak) = run_with_peak_memory(
        env.polis_command(&env.path_of("large"), &["task", "list", "--json"]),
    )?;
    add_peak_memory(report, "`task list` of all 100,000", peak);
    Ok(())
}

fn add_peak_memory(report: &mut BenchReport, what: &str, peak_kb: u64) {
    report.add_figure(
        &format!("peak memory, {what}"),
        format!("{} MB", peak_kb / 1_024),
        "< 40 MB".to_owned(),
        peak_kb < 40 * 1_024,
        "high-water mark of the resident set",
    );
}

/// Runs a command. Returns its time and the high-water mark of its resident set in KB.
fn run_with_peak_memory(mut command: Command) -> BenchResult<(Duration, u64)> {
    let started = Instant::now();
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
    let elapsed = started.elapsed();
    if status.success() {
        Ok((elapsed, peak))
    } else {
        Err(format!("{command:?}: {status}").into())
    }
}
