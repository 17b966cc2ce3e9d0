//! Handle of a society that runs in this process: starts it, subscribes to its progress, waits until it is
//! settled, and stops it.
//!
//! All pending work is in the store and nowhere else, so the handle may be dropped at any moment.

use std::sync::Arc;
use std::time::Duration;

use polis_core::RunId;
use polis_ops::{App, OpError};
use tokio::sync::{broadcast, watch};
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use crate::driver::SocietyState;
use crate::model::LanguageModel;
use crate::process_identity;
use crate::progress_event::ProgressEvent;
use crate::scheduler::{IdleState, RunCheck, Scheduler, check_settled, finish_if_done};

/// Capacity of the progress channel: how many events an observer may lag behind.
const PROGRESS_CHANNEL_CAPACITY: usize = 4_096;
/// How often a caller that waits for a settled [`Society`] checks the store while this process is idle: only
/// the store knows whether other processes have work.
const SETTLED_POLL_INTERVAL: Duration = Duration::from_millis(50);

/// Settings of a process that drives runs of a store.
#[derive(Debug, Clone)]
pub struct WorkerSettings {
    /// Name of this worker; must be unique among all workers of one store.
    pub worker_name: String,
    /// Duration of a lease: after this time without renewal, another worker may take the run.
    pub lease_duration: Duration,
    /// Maximum number of members in memory at a time; the others wait in a queue.
    pub max_members_in_memory: usize,
    /// Drives only these runs; all runs if empty.
    pub runs: Vec<RunId>,
}

impl WorkerSettings {
    /// Returns the default settings for a worker of this name. The name is extended by the process identity,
    /// so that other processes of the machine can take over its runs as soon as it has ended.
    pub fn for_worker(worker: impl AsRef<str>) -> Self {
        Self {
            worker_name: process_identity::with_process_identity(worker.as_ref()),
            lease_duration: Duration::from_secs(10),
            max_members_in_memory: 512,
            runs: Vec::new(),
        }
    }
}

/// A society that runs in this process. It stops at once when dropped.
#[derive(Debug)]
pub struct Society {
    app: App,
    runs: Vec<RunId>,
    progress: broadcast::Sender<ProgressEvent>,
    idle_state: watch::Receiver<IdleState>,
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
    /// Starts driving the runs of this store: those with pending work, and those that are started later by
    /// any process. Must be called inside a tokio runtime, on which it then spawns its tasks. Fails if the
    /// store cannot be read.
    pub async fn start(
        app: App,
        model: Arc<dyn LanguageModel>,
        settings: WorkerSettings,
    ) -> Result<Self, OpError> {
        let (progress, _) = broadcast::channel(PROGRESS_CHANNEL_CAPACITY);
        let (idle_sender, idle_state) = watch::channel(IdleState::default());
        let (grace, grace_receiver) = watch::channel(Duration::ZERO);
        let stop = CancellationToken::new();
        // Read the position in the log first, so that no later event is missed.
        let after = app.store.last_sequence().await?;
        let runs = settings.runs.clone();
        let shared = SocietyState::new(
            app.clone(),
            model,
            settings.worker_name.clone(),
            progress.clone(),
        );
        let mut worker = Scheduler::new(Arc::new(shared), settings, stop.clone(), idle_sender);
        worker.find_runs_with_work().await?;
        Ok(Self {
            app,
            runs,
            progress,
            idle_state,
            grace,
            stop,
            worker: Some(tokio::spawn(worker.run(after, grace_receiver))),
        })
    }

    /// Subscribes to progress events from now on. A subscriber that reads too slowly misses the oldest
    /// events.
    pub fn subscribe_progress(&self) -> broadcast::Receiver<ProgressEvent> {
        self.progress.subscribe()
    }

    /// Resolves when no member has anything to do: all are idle, or blocked until the person acts (`get_org`
    /// shows which). Covers the runs named in the settings, or all runs if none are named, including runs
    /// that other processes drive. Resolves also when the scheduler has ended.
    pub async fn wait_until_settled(&self) {
        let mut idle_state = self.idle_state.clone();
        loop {
            let now = *idle_state.borrow_and_update();
            if now.is_idle && self.is_settled(now).await {
                return;
            }
            tokio::select! {
                changed = idle_state.changed() => {
                    if changed.is_err() {
                        return;
                    }
                }
                () = tokio::time::sleep(SETTLED_POLL_INTERVAL), if now.is_idle => {}
            }
        }
    }

    /// Marks a run as done if nothing is left to do in it, unless an outside agent heads it. Returns whether
    /// nothing is left to do. Fails only if the store does.
    pub async fn finish_if_done(&self, run: &RunId) -> Result<bool, OpError> {
        Ok(finish_if_done(&self.app, run).await? == RunCheck::Done)
    }

    /// Returns whether the log has been followed to its end and no member has work.
    ///
    /// Checks in a separate task. A caller that waits in a `select!` with other work may stop polling while
    /// it does that work, and a PostgreSQL query whose result is not read blocks all other queries on its
    /// connection.
    async fn is_settled(&self, now: IdleState) -> bool {
        let (app, runs) = (self.app.clone(), self.runs.clone());
        let check = tokio::spawn(async move {
            match app.store.last_sequence().await {
                Ok(last) if last <= now.log_position => {}
                Ok(_) | Err(_) => return false,
            }
            matches!(check_settled(&app, &runs).await, Ok(RunCheck::Done))
        });
        check.await.unwrap_or(false)
    }

    /// Stops: pending model requests are cancelled, commands are killed and reported as interrupted at the
    /// next start, and commits in progress are finished, within `grace`. Leases are released.
    pub async fn stop(mut self, grace: Duration) {
        let _ = self.grace.send(grace);
        self.stop.cancel();
        if let Some(worker) = self.worker.take() {
            let _ = worker.await;
        }
    }
}
