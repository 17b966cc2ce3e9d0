//! Latency of concurrent claims: 8 processes with 50 claims of distinct tasks each, compared with one process alone.

use std::path::Path;

use crate::report::Report;
use crate::scene::{Fallible, Scene, at_share, median, run};

const PROCESSES: u64 = 8;
const CLAIMS: u64 = 50;

/// Measures the p99 latency of concurrent claims.
pub(crate) fn measure(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let files = scene.place("claim-files");
    std::fs::create_dir_all(&files)?;
    let count = (PROCESSES + 1) * CLAIMS;
    for n in 1..=count {
        std::fs::write(
            files.join(format!("{n}.json")),
            format!("{{\"id\":\"{n}\",\"subject\":\"{n}\",\"status\":\"pending\"}}"),
        )?;
    }
    let board = scene.board("claims")?;
    run(scene.polis(&board, &["task", "import", &files.display().to_string()]))?;
    let mut alone = claims(scene, &board, 0)?;
    let alone = median(&mut alone);
    let mut crowd: Vec<f64> = std::thread::scope(|scope| {
        let workers: Vec<_> = (1..=PROCESSES)
            .map(|worker| {
                let board = &board;
                scope.spawn(move || claims(scene, board, worker).map_err(|e| e.to_string()))
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
    let (p99, middle) = (at_share(&mut crowd, 0.99), median(&mut crowd));
    let how =
        format!("p99 {p99:.1} ms and median {middle:.1} ms of 8 × 50, beside {alone:.1} ms alone");
    report.at_most(
        "p99 of 8 processes claiming / median of one alone",
        p99 / alone,
        20.0,
        &how,
    );
    Ok(())
}

/// Claims one worker's share of the tasks, each in a new process. Returns the time of each in milliseconds.
fn claims(scene: &Scene, board: &Path, worker: u64) -> Fallible<Vec<f64>> {
    let name = format!("worker-{worker}");
    let first = worker * CLAIMS + 1;
    (first..first + CLAIMS)
        .map(|id| {
            Ok(run(scene.polis(
                board,
                &["--as", &name, "task", "claim", &id.to_string(), "--json"],
            ))?
            .as_secs_f64()
                * 1e3)
        })
        .collect()
}
