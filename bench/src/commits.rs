//! Commit throughput of one process on the embedded store: 64 concurrent updaters compared with one (group commit).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use polis_core::task::create::TaskCreate;
use polis_core::task::update::TaskUpdate;
use polis_core::{AgentId, TaskId};
use polis_ops::Polis;
use polis_ops::op;
use polis_store::EmbeddedStore;
use polis_store::embedded::Use;

use crate::ground::ground;
use crate::report::Report;
use crate::scene::{Fallible, Scene, median};

/// Creates the async runtime for the benchmarks: two worker threads.
pub(crate) fn runtime() -> Fallible<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .enable_all()
        .build()?)
}

/// Creates `count` tasks to update.
pub(crate) async fn tasks(polis: &Polis, count: usize) -> Fallible<Vec<TaskId>> {
    let user = AgentId::user();
    let mut ids = Vec::new();
    for n in 0..count {
        let params = TaskCreate {
            subject: format!("Task {n}"),
            description: "Do the thing. ".repeat(10),
            ..TaskCreate::default()
        };
        ids.push(op::create_task(polis, &user, &params).await?.task.id);
    }
    Ok(ids)
}

/// Returns the commits per second of concurrent updaters, one for each of these tasks.
pub(crate) async fn rate(polis: &Polis, ids: &[TaskId], spell: Duration) -> Fallible<f64> {
    let count = Arc::new(AtomicU64::new(0));
    let begun = Instant::now();
    let updaters: Vec<_> = ids
        .iter()
        .map(|&id| {
            let (polis, count) = (polis.clone(), Arc::clone(&count));
            tokio::spawn(async move {
                let user = AgentId::user();
                let mut n = 0_u64;
                while begun.elapsed() < spell {
                    n += 1;
                    let params = TaskUpdate {
                        active_form: Some(format!("step {n}")),
                        ..TaskUpdate::of(id)
                    };
                    op::update_task(&polis, &user, &params).await?;
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
    Ok(count.load(Ordering::Relaxed) as f64 / begun.elapsed().as_secs_f64())
}

/// Measures the embedded store.
pub(crate) fn measure(scene: &Scene, report: &mut Report) -> Fallible<()> {
    let place = scene.board("commits")?;
    let store = EmbeddedStore::open(
        &place.join(".agent-workspace"),
        Use::Long,
        Duration::from_secs(30),
    )?;
    // A store that commits in the caller's thread, as a command does, without handing over to a writer thread.
    let place = scene.board("direct")?;
    let direct = EmbeddedStore::open(
        &place.join(".agent-workspace"),
        Use::Brief,
        Duration::from_secs(30),
    )?;
    runtime()?.block_on(async {
        let polis = ground(Arc::new(store));
        let ids = tasks(&polis, 64).await?;
        let direct = ground(Arc::new(direct));
        let its = tasks(&direct, 1).await?;
        let (mut one, mut many, mut own) = (Vec::new(), Vec::new(), Vec::new());
        for _ in 0..3 {
            one.push(rate(&polis, &ids[..1], scene.spell()).await?);
            many.push(rate(&polis, &ids, scene.spell()).await?);
            own.push(rate(&direct, &its, scene.spell()).await?);
        }
        let (one, many, own) = (median(&mut one), median(&mut many), median(&mut own));
        let how = format!(
            "{many:.0} commits/s beside {one:.0} commits/s of one updater, every commit durable"
        );
        report.at_least(
            "64 concurrent updaters / one, embedded",
            many / one,
            10.0,
            &how,
        );
        let how =
            format!("{many:.0} commits/s beside {own:.0} of one that has no writer thread to wake");
        report.tell(
            "64 concurrent updaters / one in its own thread",
            many / own,
            &how,
        );
        Ok(())
    })
}
