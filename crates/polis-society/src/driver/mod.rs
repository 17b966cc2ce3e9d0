//! Carries out what a member's machine wants: reads the store, asks the model, calls tools, commits.
//!
//! A member is driven by one task at a time, from when something happens to it until it sleeps. Whatever goes
//! wrong with the store ends a life, and the next begins from what the store has; what a member was about to do is
//! then decided again. When a member has something to do is decided by the [`worker`](crate::worker).

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

/// How long a store that failed is left alone: at first, and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(20), Duration::from_secs(1));

/// How many lives that came to nothing may follow each other without a pause.
const IN_VAIN: u32 = 3;

/// What all members of this process share.
#[derive(Debug)]
pub(crate) struct Shared {
    pub(crate) polis: Polis,
    pub(crate) model: Arc<dyn Model>,
    pub(crate) worker: String,
    pub(crate) words: Words,
    pub(crate) progress: broadcast::Sender<Progress>,
    boxes: Mutex<HashMap<Selection, Arc<Toolbox>>>,
}

/// Which tools, which of them have to be allowed, and whether there is a workspace.
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

    /// The toolbox of a selection; made once.
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

/// A member that is driven, as its driver and the worker see it.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) key: MemberKey,
    /// Ends what it does at once; nothing of it is told to anybody.
    pub(crate) stop: CancellationToken,
    /// It does not think any more: calls of an answer that it has are carried out to their end.
    pub(crate) pause: CancellationToken,
    /// Something about its place or its budget may have changed.
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

/// Why a life ended.
#[derive(Debug)]
enum End {
    /// Nothing to do until something happens.
    Sleeps,
    /// What is in memory is out of date.
    Again,
    /// It is not wanted any more.
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

/// Whether it is the store itself that failed, not what was asked of it.
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

/// A record that cannot be read.
fn damaged(what: &str) -> OpError {
    Refusal::new(
        Code::StoreCorrupt,
        format!("{what} cannot be read."),
        "run `polis doctor`",
    )
    .into()
}
