//! The handle on a society that runs in this process: starting it, looking on, and stopping it.
//!
//! What is to be done is in the store and nowhere else; whoever has this handle may drop it at any moment.

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

/// How many steps may wait for somebody who looks on.
const LOOKED_ON: usize = 4_096;
/// How often it is looked again whether everything is settled, where only the store can tell.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// How a process takes part in driving the runs of a store.
#[derive(Debug, Clone)]
pub struct SocietySettings {
    /// This worker's name; no two that work on one store may have the same.
    pub worker: String,
    /// How long a run stays with a worker that is not heard of any more.
    pub lease: Duration,
    /// How many members may be in memory at a time; the others wait their turn.
    pub in_memory: usize,
    /// Only these runs are driven; all if there are none named.
    pub runs: Vec<RunId>,
}

impl SocietySettings {
    /// The usual settings for a worker of this name, which tells its process as well: others of the machine can
    /// then go on with its runs as soon as it is gone.
    pub fn of(worker: impl AsRef<str>) -> Self {
        Self {
            worker: process_identity::with_process(worker.as_ref()),
            lease: Duration::from_secs(10),
            in_memory: 512,
            runs: Vec::new(),
        }
    }
}

/// A society that runs in this process. Dropped, it stops at once.
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
    /// Begins to drive the runs of this store: those that wait for somebody to go on with them, and those that
    /// are started later, by whatever process. Called inside a tokio runtime, which it then works on.
    pub async fn start(
        polis: Polis,
        model: Arc<dyn Model>,
        settings: SocietySettings,
    ) -> Result<Self, OpError> {
        let (progress, _) = broadcast::channel(LOOKED_ON);
        let (quiet, seen) = watch::channel(Quiet::default());
        let (grace, within) = watch::channel(Duration::ZERO);
        let stop = CancellationToken::new();
        // The place in the log first: what happens from then on is heard of.
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

    /// What happens from now on. Who reads too slowly misses the oldest.
    pub fn progress(&self) -> broadcast::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// Resolves when nobody has anything to do: all are idle, or held up until somebody says so (`get_org` tells
    /// which). That is about the runs that were named at the start, whoever drives them; about all if none were.
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

    /// Marks a run as done if nothing is left to do in it, unless an outside agent heads it. Returns whether nothing is
    /// left to do.
    pub async fn finish_if_done(&self, run: &RunId) -> Result<bool, OpError> {
        Ok(finish_if_done(&self.polis, run).await? == RunCheck::Done)
    }

    /// Looks in a task of its own: who waits for [`settled`](Self::settled) beside other things stops polling it while
    /// it does them, and a question to PostgreSQL whose answer nobody takes holds up all others on its connection.
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

    /// Stops: models are not waited for, commands are ended and reported as interrupted at the next start, what
    /// is being committed is finished, as far as this time allows. Leases are given back.
    pub async fn stop(mut self, grace: Duration) {
        let _ = self.grace.send(grace);
        self.stop.cancel();
        if let Some(worker) = self.worker.take() {
            let _ = worker.await;
        }
    }
}
