//! Cold start of a single command: `polis task get`, `list` and `update` compared with the `sqlite3` program on the
//! same database file.

use std::path::Path;
use std::process::Command;

use crate::report::Report;
use crate::scene::{Fallible, Scene, median, run};

/// Measures get, list and update.
pub(crate) fn measure(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let board = scene.place("large");
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
        for _ in 0..scene.times(20) {
            ours.extend(block(|| scene.polis(&board, args))?);
            theirs.extend(block(|| sqlite3(&file, sql))?);
        }
        let (ours, theirs) = (median(&mut ours), median(&mut theirs));
        let how = format!("{ours:.2} ms beside {theirs:.2} ms of `sqlite3`, medians");
        report.at_most(
            &format!("cold `{what}` / sqlite3"),
            ours / theirs,
            2.0,
            &how,
        );
    }
    Ok(())
}

/// Returns the times of ten runs in milliseconds, after one warm-up run.
fn block(command: impl Fn() -> Command) -> Fallible<Vec<f64>> {
    run(command())?;
    (0..10)
        .map(|_| Ok(run(command())?.as_secs_f64() * 1e3))
        .collect()
}

fn sqlite3(file: &Path, sql: &str) -> Command {
    let mut command = Command::new("sqlite3");
    command.arg(file).arg(sql);
    command
}
