//! Handle of a society that runs in this process: starts it, subscribes to its progress, waits until it is settled, and
//! stops it.
//!
//! All pending work is in the store and nowhere else, so the handle may be dropped at any moment.

use std::sync::Arc;
use std::time::Duration;

use polis_core::RunId;
use polis_ops::{OpError, Polis};
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::driver::Shared;
use crate::model::Model;
use crate::process_identity;
use crate::progress::Progress;
use crate::worker::{Quiet, RunCheck, Worker, check_settled, finish_if_done};

/// Capacity of the progress channel: how many events an observer may lag behind.
const LOOKED_ON: usize = 4_096;
/// How often [`Society::settled`] checks again while this process is idle: only the store knows whether other processes
/// have work.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Settings of a process that drives runs of a store.
#[derive(Debug, Clone)]
pub struct SocietySettings {
    /// Name of this worker; must be unique among all workers of one store.
    pub worker: String,
    /// Duration of a lease: after this time without renewal, another worker may take the run.
    pub lease: Duration,
    /// Maximum number of members in memory at a time; the others wait in a queue.
    pub in_memory: usize,
    /// Drives only these runs; all runs if empty.
    pub runs: Vec<RunId>,
}

impl SocietySettings {
    /// Returns the default settings for a worker of this name. The name is extended by the process identity, so that
    /// other processes of the machine can take over its runs as soon as it has ended.
    pub fn of(worker: impl AsRef<str>) -> Self {
        Self {
            worker: process_identity::with_process(worker.as_ref()),
            lease: Duration::from_secs(10),
            in_memory: 512,
            runs: Vec::new(),
        }
    }
}

/// A society that runs in this process. It stops at once when dropped.
#[derive(Debug)]
pub struct Society {
    polis: Polis,
    runs: Vec<RunId>,
    progress: broadcast::Sender<Progress>,
    quiet: watch::Receiver<Quiet>,
    grace: watch::Sender<Duration>,
    stop: CancellationToken,
    worker: Option<JoinHandle<()>>,
}

impl Drop for Society {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Society {
    /// Starts driving the runs of this store: those with pending work, and those that are started later by any process.
    /// Must be called inside a tokio runtime, on which it then spawns its tasks.
    pub async fn start(
        polis: Polis,
        model: Arc<dyn Model>,
        settings: SocietySettings,
    ) -> Result<Self, OpError> {
        let (progress, _) = broadcast::channel(LOOKED_ON);
        let (quiet, seen) = watch::channel(Quiet::default());
        let (grace, within) = watch::channel(Duration::ZERO);
        let stop = CancellationToken::new();
        // Read the position in the log first, so that no later event is missed.
        let after = polis.store.last_sequence().await?;
        let runs = settings.runs.clone();
        let shared = Shared::new(
            polis.clone(),
            model,
            settings.worker.clone(),
            progress.clone(),
        );
        let mut worker = Worker::new(Arc::new(shared), settings, stop.clone(), quiet);
        worker.look_around().await?;
        Ok(Self {
            polis,
            runs,
            progress,
            quiet: seen,
            grace,
            stop,
            worker: Some(tokio::spawn(worker.run(after, within))),
        })
    }

    /// Subscribes to progress events from now on. A subscriber that reads too slowly misses the oldest events.
    pub fn progress(&self) -> broadcast::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Resolves when no member has anything to do: all are idle, or blocked until the human user acts (`get_org` shows
    /// which). Covers the runs named in the settings, or all runs if none are named, including runs that other
    /// processes drive.
    pub async fn settled(&self) {
        let mut quiet = self.quiet.clone();
        loop {
            let now = *quiet.borrow_and_update();
            if now.idle && self.is_settled(now).await {
                return;
            }
            tokio::select! {
                changed = quiet.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
                () = tokio::time::sleep(LOOK_AGAIN), if now.idle => {}
            }
        }
    }

    /// Marks a run as done if nothing is left to do in it, unless an outside agent heads it. Returns whether nothing
    /// is left to do.
    pub async fn finish_if_done(&self, run: &RunId) -> Result<bool, OpError> {
        Ok(finish_if_done(&self.polis, run).await? == RunCheck::Done)
    }

    /// Checks in a separate task. A caller that polls [`settled`](Self::settled) in a `select!` with other work may
    /// stop polling it while it does that work, and a PostgreSQL query whose result is not read blocks all other
    /// queries on its connection.
    async fn is_settled(&self, now: Quiet) -> bool {
        let (polis, runs) = (self.polis.clone(), self.runs.clone());
        let looked = tokio::spawn(async move {
            match polis.store.last_sequence().await {
                Ok(last) if last <= now.seen => {}
                Ok(_) | Err(_) => return false,
            }
            matches!(check_settled(&polis, &runs).await, Ok(RunCheck::Done))
        });
        looked.await.unwrap_or(false)
    }

    /// Stops: pending model requests are cancelled, commands are killed and reported as interrupted at the next start,
    /// and commits in progress are finished, within `grace`. Leases are released.
    pub async fn stop(mut self, grace: Duration) {
        let _ = self.grace.send(grace);
        self.stop.cancel();
        if let Some(worker) = self.worker.take() {
            let _ = worker.await;
        }
    }
}
