//! Commit throughput on PostgreSQL, compared with `pgbench` executing the bare statements of one commit. Left
//! out if `POLIS_BENCH_PG_URL` is not set.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use polis_store::PostgresStore;

use crate::bench_env::{BenchEnv, BenchResult, median};
use crate::commits::{commit_rate, create_tasks, new_runtime};
use crate::polis_setup::new_app;
use crate::report::BenchReport;

/// Number of pgbench clients, and of polis updaters.
const CLIENT_COUNT: usize = 64;

/// Measures updates of 64 different tasks.
#[expect(
    clippy::disallowed_methods,
    reason = "bench/run passes the server in the environment"
)]
pub(crate) fn measure(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let Ok(url) = std::env::var("POLIS_BENCH_PG_URL") else {
        eprintln!("- PostgreSQL is left out: start the benchmarks with bench/run");
        return Ok(());
    };
    let programs = std::env::var("POLIS_BENCH_PG_BIN")?;
    let script = env.path_of("commit.sql");
    // The minimum work of committing one update: the task and its event, durably. Each client has its own
    // task. The event's number comes from a sequence, which is cheaper than the gap-free order of polis.
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
    new_runtime()?.block_on(async {
        let store = PostgresStore::connect(&url, Duration::from_secs(30)).await?;
        let app = new_app(Arc::new(store));
        let ids = create_tasks(&app, CLIENT_COUNT).await?;
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
            ours.push(commit_rate(&app, &ids, env.throughput_duration()).await?);
            theirs.push(run_pgbench(&programs, &url, &script, env.throughput_duration())?);
        }
        let (ours, theirs) = (median(&mut ours), median(&mut theirs));
        let detail = format!("{ours:.0} commits/s, grouped, vs {theirs:.0} of `pgbench -c {CLIENT_COUNT}`, a transaction each");
        report.add_at_least(
            "64 updaters on PostgreSQL / pgbench",
            ours / theirs,
            0.8,
            &detail,
        );
        Ok(())
    })
}

fn run_pgbench(
    programs: &str,
    url: &str,
    script: &std::path::Path,
    duration: Duration,
) -> BenchResult<f64> {
    let output = Command::new(format!("{programs}/pgbench"))
        .args([
            "-n",
            "-M",
            "prepared",
            "-c",
            &CLIENT_COUNT.to_string(),
            "-j",
            "2",
        ])
        .args(["-T", &duration.as_secs().max(1).to_string(), "-f"])
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
