//! Driver of a member: performs the effects of its state machine. Reads the store, calls the model, executes tools and
//! commits.
//!
//! A member is driven by one task at a time, from the moment it has work until it sleeps. Any store failure ends the
//! session; the next session starts from the stored state, and the interrupted step is decided again. When a member has
//! work is decided by the [`worker`](crate::worker).

mod carry;
mod commit;
mod joined;
mod place;
mod purse;
mod watch;

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use polis_core::society::MemberKey;
use polis_core::{Code, Refusal};
use polis_ops::tool::Installation;
use polis_ops::{OpError, Polis};
use tokio::sync::broadcast;
use tokio_util::sync::CancellationToken;

use crate::model::Model;
use crate::progress::{Progress, Step};
use crate::toolbox::Toolbox;
use crate::words::Words;
use carry::Life;

/// Backoff after a store failure: initial and maximum.
const AGAIN: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// How many sessions without a commit may follow each other before the backoff applies.
const IN_VAIN: u32 = 3;

/// State shared by all members of this process.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) polis: Polis,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) worker: String,
    pub(crate) words: Words,
    pub(crate) progress: broadcast::Sender<Progress>,
    boxes: Mutex<HashMap<Selection, Arc<Toolbox>>>,
}

/// Cache key of a toolbox: the selected tools, the tools that need approval, and whether the member has a workspace.
type Selection = (Option<Vec<String>>, Vec<String>, bool);

impl Shared {
    pub(crate) fn new(
        polis: Polis,
        model: Arc<dyn Model>,
        worker: String,
        progress: broadcast::Sender<Progress>,
    ) -> Self {
        Self {
            words: Words(polis.settings.boards.language),
            polis,
            model,
            worker,
            progress,
            boxes: Mutex::default(),
        }
    }

    /// Returns the toolbox of a selection from the cache, building it on first use.
    fn toolbox(
        &self,
        tools: Option<&[String]>,
        approve: Vec<String>,
        housed: bool,
    ) -> Arc<Toolbox> {
        let key = (tools.map(<[String]>::to_vec), approve, housed);
        let mut boxes = self.boxes.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(found) = boxes.get(&key) {
            return Arc::clone(found);
        }
        let made = Arc::new(Toolbox::of(
            tools,
            &key.1,
            housed,
            Installation::new(&self.polis.settings),
        ));
        boxes.insert(key, Arc::clone(&made));
        made
    }

    fn tell(&self, member: &MemberKey, step: impl FnOnce() -> Step) {
        if self.progress.receiver_count() > 0 {
            let _ = self.progress.send(Progress {
                member: member.clone(),
                step: step(),
            });
        }
    }
}

/// A member that is driven, shared by its driver and the worker.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) key: MemberKey,
    /// Cancels all its work at once; no result is reported.
    pub(crate) stop: CancellationToken,
    /// Makes no further model requests; the calls of the current response are still executed.
    pub(crate) pause: CancellationToken,
    /// Its position in the team or its budget may have changed.
    pub(crate) news: AtomicBool,
}

impl Seat {
    pub(crate) fn new(key: MemberKey, stop: CancellationToken) -> Self {
        Self {
            key,
            pause: stop.child_token(),
            stop,
            news: AtomicBool::new(false),
        }
    }

    fn has_news(&self) -> bool {
        self.news.swap(false, Ordering::Relaxed)
    }
}

/// Why a session ended.
#[derive(Debug)]
enum End {
    /// Nothing to do until the next event.
    Sleeps,
    /// The state in memory is out of date; reload it.
    Again,
    /// It was cancelled.
    Stopped,
}

/// Drives a member until it sleeps, or is stopped.
pub(crate) async fn drive(shared: Arc<Shared>, seat: Arc<Seat>) {
    let mut pause = AGAIN.0;
    let mut in_vain = 0_u32;
    while !seat.pause.is_cancelled() {
        match Life::begin(&shared, &seat).await {
            Ok(Some(mut life)) => match life.live().await {
                Ok(End::Sleeps | End::Stopped) => return,
                Ok(End::Again) => {
                    in_vain = match life.wrote() {
                        true => 0,
                        false => in_vain + 1,
                    };
                    if in_vain <= IN_VAIN {
                        pause = AGAIN.0;
                        tokio::task::yield_now().await;
                        continue;
                    }
                }
                Err(error) => log(&seat.key, &error),
            },
            Ok(None) => return,
            Err(error) => log(&seat.key, &error),
        }
        tokio::select! {
            () = seat.pause.cancelled() => return,
            () = tokio::time::sleep(pause) => {}
        }
        pause = (pause * 2).min(AGAIN.1);
    }
}

fn log(member: &MemberKey, error: &OpError) {
    tracing::warn!(%member, code = %error.code(), "{error}; it goes on when the store does");
}

/// Returns whether the store itself failed, rather than refused the operation.
pub(crate) fn is_store(error: &OpError) -> bool {
    matches!(error, OpError::Failed(_))
        && matches!(
            error.code(),
            Code::StoreUnavailable
                | Code::StoreBusy
                | Code::CommitUnknown
                | Code::StoreReadOnly
                | Code::StoreFull
                | Code::StoreCorrupt
                | Code::StoreTooNew
        )
}

/// Returns the error for a record that cannot be parsed.
fn damaged(what: &str) -> OpError {
    Refusal::new(
        Code::StoreCorrupt,
        format!("{what} cannot be read."),
        "run `polis doctor`",
    )
    .into()
}
