//! Commit throughput of one process on the embedded store: 64 concurrent updaters compared with one (group
//! commit).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use polis_core::task::create::TaskCreateParams;
use polis_core::task::update::TaskUpdateParams;
use polis_core::{AgentId, TaskId};
use polis_ops::App;
use polis_ops::op;
use polis_store::EmbeddedStore;
use polis_store::embedded::StoreMode;

use crate::bench_env::{BenchEnv, BenchResult, median};
use crate::polis_setup::new_app;
use crate::report::BenchReport;

/// Creates the async runtime for the benchmarks: two worker threads.
pub(crate) fn new_runtime() -> BenchResult<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?)
}

/// Creates `count` tasks to update.
pub(crate) async fn create_tasks(app: &App, count: usize) -> BenchResult<Vec<TaskId>> {
    let user = AgentId::user();
    let mut ids = Vec::new();
    for n in 0..count {
        let params = TaskCreateParams {
            subject: format!("Task {n}"),
            description: "Do the thing. ".repeat(10),
            ..TaskCreateParams::default()
        };
        ids.push(op::create_task(&app.request(&user), &params).await?.task.id);
    }
    Ok(ids)
}

/// Returns the commits per second of concurrent updaters, one for each of these tasks.
pub(crate) async fn commit_rate(app: &App, ids: &[TaskId], spell: Duration) -> BenchResult<f64> {
    let count = Arc::new(AtomicU64::new(0));
    let started = Instant::now();
    let updaters: Vec<_> = ids
        .iter()
        .map(|&id| {
            let (app, count) = (app.clone(), Arc::clone(&count));
            tokio::spawn(async move {
                let user = AgentId::user();
                let mut n = 0_u64;
                while started.elapsed() < spell {
                    n += 1;
                    let params = TaskUpdateParams {
                        active_form: Some(format!("step {n}")),
                        ..TaskUpdateParams::new(id)
                    };
                    op::update_task(&app.request(&user), &params).await?;
                    count.fetch_add(1, Ordering::Relaxed);
                }
                Ok::<(), polis_ops::OpError>(())
            })
        })
        .collect();
    for updater in updaters {
        updater.await??;
    }
    #[expect(clippy::cast_precision_loss, reason = "a count of commits")]
    Ok(count.load(Ordering::Relaxed) as f64 / started.elapsed().as_secs_f64())
}

/// Measures the embedded store.
pub(crate) fn measure(env: &BenchEnv, report: &mut BenchReport) -> BenchResult<()> {
    let directory = env.create_project("commits")?;
    let store = EmbeddedStore::open(
        &directory.join(".agent-workspace"),
        StoreMode::Server,
        Duration::from_secs(30),
    )?;
    // A store that commits in the caller's thread, as a command does, without handing over to a writer
    // thread.
    let directory = env.create_project("direct")?;
    let direct = EmbeddedStore::open(
        &directory.join(".agent-workspace"),
        StoreMode::OneShot,
        Duration::from_secs(30),
    )?;
    new_runtime()?.block_on(async {
        let app = new_app(Arc::new(store));
        let ids = create_tasks(&app, 64).await?;
        let direct = new_app(Arc::new(direct));
        let direct_ids = create_tasks(&direct, 1).await?;
        let (mut one, mut many, mut own) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..3 {
            one.push(commit_rate(&app, &ids[..1], env.throughput_duration()).await?);
            many.push(commit_rate(&app, &ids, env.throughput_duration()).await?);
            own.push(commit_rate(&direct, &direct_ids, env.throughput_duration()).await?);
        }
        let (one, many, own) = (median(&mut one), median(&mut many), median(&mut own));
        let detail = format!(
            "{many:.0} commits/s vs {one:.0} commits/s of one updater, every commit durable"
        );
        report.add_at_least(
            "64 concurrent updaters / one, embedded",
            many / one,
            10.0,
            &detail,
        );
        let detail =
            format!("{many:.0} commits/s vs {own:.0} of one without a writer thread to wake");
        report.add_without_target(
            "64 concurrent updaters / one in its own thread",
            many / own,
            &detail,
        );
        Ok(())
    })
}
