//! Latency of concurrent claims: 8 processes with 50 claims of distinct tasks each, compared with one process
//! alone.

use std::path::Path;

use crate::bench_env::{BenchEnv, BenchResult, median, quantile, run_timed};
use crate::report::BenchReport;

const PROCESS_COUNT: u64 = 8;
const CLAIMS_PER_PROCESS: u64 = 50;

/// Measures the p99 latency of concurrent claims.
pub(crate) fn measure(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let files = env.path_of("claim-files");
    std::fs::create_dir_all(&files)?;
    let count = (PROCESS_COUNT + 1) * CLAIMS_PER_PROCESS;
    for n in 1..=count {
        std::fs::write(
            files.join(format!("{n}.json")),
            format!("{{\"id\":\"{n}\",\"subject\":\"{n}\",\"status\":\"pending\"}}"),
        )?;
    }
    let board = env.create_project("claims")?;
    run_timed(env.polis_command(&board, &["task", "import", &files.display().to_string()]))?;
    let mut alone = claim_latencies(env, &board, 0)?;
    let alone = median(&mut alone);
    let mut concurrent: Vec<f64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (1..=PROCESS_COUNT)
            .map(|worker| {
                let board = &board;
                scope.spawn(move || claim_latencies(env, board, worker).map_err(|e| e.to_string()))
            })
            .collect();
        let mut all = Vec::new();
        for worker in workers {
            all.extend(
                worker
                    .join()
                    .map_err(|_| "a worker panicked".to_owned())??,
            );
        }
        Ok::<_, String>(all)
    })?;
    let (p99, middle) = (quantile(&mut concurrent, 0.99), median(&mut concurrent));
    let detail =
        format!("p99 {p99:.1} ms and median {middle:.1} ms of 8 × 50, vs {alone:.1} ms alone");
    report.add_at_most(
        "p99 of 8 processes claiming / median of one alone",
        p99 / alone,
        20.0,
        &detail,
    );
    Ok(())
}

/// Claims one worker's share of the tasks, each in a new process. Returns the time of each in milliseconds.
fn claim_latencies(env: &BenchEnv, board: &Path, worker: u64) -> BenchResult<Vec<f64>> {
    let name = format!("worker-{worker}");
    let first = worker * CLAIMS_PER_PROCESS + 1;
    (first..first + CLAIMS_PER_PROCESS)
        .map(|id| {
            Ok(run_timed(env.polis_command(
                board,
                &["--as", &name, "task", "claim", &id.to_string(), "--json"],
            ))?
            .as_secs_f64()
                * 1e3)
        })
        .collect()
}
