//! Commit throughput on PostgreSQL, compared with `pgbench` executing the bare statements of one commit.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use polis_store::PostgresStore;

use crate::commits::{rate, runtime, tasks};
use crate::ground::ground;
use crate::report::Report;
use crate::scene::{Fallible, Scene, median};

/// Number of pgbench clients, and of polis updaters.
const CLIENTS: usize = 64;

/// Measures updates of 64 different tasks.
#[expect(
    clippy::disallowed_methods,
    reason = "bench/run hands the server over in the environment"
)]
pub(crate) fn measure(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let Ok(url) = std::env::var("POLIS_BENCH_PG_URL") else {
        eprintln!("- PostgreSQL is left out: start the benchmarks with bench/run");
        return Ok(());
    };
    let programs = std::env::var("POLIS_BENCH_PG_BIN")?;
    let script = scene.place("commit.sql");
    // The minimum work of committing one update: the task and its event, durably. Each client has its own task. The
    // event's number comes from a sequence, which is cheaper than the gap-free order of polis.
    std::fs::write(
        &script,
        "BEGIN;\n\
         SELECT revision, rest, description FROM tasks WHERE id = :client_id + 1;\n\
         UPDATE tasks SET revision = revision + 1, version = version + 1, updated_at = '2026-01-01T00:00:00.000Z', \
         rest = '{\"activeForm\":\"step\"}' WHERE id = :client_id + 1;\n\
         INSERT INTO events (seq, at, actor, kind, subject, data) VALUES (nextval('bench_seq'), \
         '2026-01-01T00:00:00.000Z', 'user', 'task.updated', 'task/1', \
         '{\"version\":2,\"changes\":{\"activeForm\":\"step\"}}');\n\
         COMMIT;\n",
    )?;
    runtime()?.block_on(async {
        let store = PostgresStore::connect(&url, Duration::from_secs(30)).await?;
        let polis = ground(Arc::new(store));
        let ids = tasks(&polis, CLIENTS).await?;
        let psql = Command::new(format!("{programs}/psql"))
            .args([
                &url,
                "-qc",
                "CREATE SEQUENCE IF NOT EXISTS bench_seq START 1000000000",
            ])
            .status()?;
        if !psql.success() {
            return Err("psql failed".into());
        }
        let (mut ours, mut theirs) = (Vec::new(), Vec::new());
        for _ in 0..3 {
            ours.push(rate(&polis, &ids, scene.spell()).await?);
            theirs.push(pgbench(&programs, &url, &script, scene.spell())?);
        }
        let (ours, theirs) = (median(&mut ours), median(&mut theirs));
        let how = format!("{ours:.0} commits/s, grouped, beside {theirs:.0} of `pgbench -c {CLIENTS}`, a transaction each");
        report.at_least(
            "64 updaters on PostgreSQL / pgbench",
            ours / theirs,
            0.8,
            &how,
        );
        Ok(())
    })
}

fn pgbench(programs: &str, url: &str, script: &std::path::Path, spell: Duration) -> Fallible<f64> {
    let output = Command::new(format!("{programs}/pgbench"))
        .args([
            "-n",
            "-M",
            "prepared",
            "-c",
            &CLIENTS.to_string(),
            "-j",
            "2",
        ])
        .args(["-T", &spell.as_secs().max(1).to_string(), "-f"])
        .arg(script)
        .arg(url)
        .output()?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = text.lines().find(|line| line.starts_with("tps = "));
    let tps = line
        .and_then(|line| line.split_whitespace().nth(2))
        .and_then(|tps| tps.parse().ok());
    tps.ok_or_else(|| format!("pgbench: {}", String::from_utf8_lossy(&output.stderr)).into())
}
