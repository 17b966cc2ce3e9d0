//! Cold start of a single command: `polis task get`, `list` and `update` compared with the `sqlite3` program
//! on the same database file. Needs the project `large`, which the part `scale` creates.

use std::path::Path;
use std::process::Command;

use crate::bench_env::{BenchEnv, BenchResult, median, run_timed};
use crate::report::BenchReport;

/// Measures get, list and update.
pub(crate) fn measure(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let board = env.path_of("large");
    let file = board.join(".agent-workspace/polis.db");
    let pairs: [(&str, &[&str], &str); 3] = [
        (
            "task get",
            &["task", "get", "50000", "--json"],
            "SELECT * FROM tasks WHERE id = 50000",
        ),
        (
            "task list, first 50 of 100,000",
            &["task", "list", "--limit", "50", "--json"],
            "SELECT id, subject, status, owner, blocked_by, required_role, version, task_type FROM tasks ORDER BY id LIMIT 50",
        ),
        (
            "task update",
            &["task", "update", "4", "--description", "measured", "--json"],
            "PRAGMA synchronous = FULL; UPDATE tasks SET version = version + 1 WHERE id = 8",
        ),
    ];
    for (what, args, sql) in pairs {
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        // In blocks, so that each program finds the file in the state it left itself.
        for _ in 0..env.repetitions(20) {
            ours.extend(time_ten_runs(|| env.polis_command(&board, args))?);
            theirs.extend(time_ten_runs(|| sqlite3_command(&file, sql))?);
        }
        let (ours, theirs) = (median(&mut ours), median(&mut theirs));
        let detail = format!("{ours:.2} ms vs {theirs:.2} ms of `sqlite3`, medians");
        report.add_at_most(
            &format!("cold `{what}` / sqlite3"),
            ours / theirs,
            2.0,
            &detail,
        );
    }
    Ok(())
}

/// Returns the times of ten runs in milliseconds, after one warm-up run.
fn time_ten_runs(command: impl Fn() -> Command) -> BenchResult<Vec<f64>> {
    run_timed(command())?;
    (0..10)
        .map(|_| Ok(run_timed(command())?.as_secs_f64() * 1e3))
        .collect()
}

fn sqlite3_command(file: &Path, sql: &str) -> Command {
    let mut command = Command::new("sqlite3");
    command.arg(file).arg(sql);
    command
}
