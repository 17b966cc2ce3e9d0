//! Log follower: reads new events and turns those that concern members into signals for the scheduler (wake, pause,
//! halt).

use std::sync::Arc;
use std::time::Duration;

use polis_core::event::kind;
use polis_core::society::MemberKey;
use polis_core::{AgentId, Event, RunId};
use polis_ops::port::EventQuery;
use serde::Deserialize;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::Signal;
use crate::driver::Shared;

/// Page size for reading events; the embedded store runs reads of this size inline.
const PAGE: u32 = 100;
/// Maximum duration of one wait for the store; a bound, so that no wait is unlimited.
const WAIT: Duration = Duration::from_secs(30);
/// Pause after a store failure.
const AGAIN: Duration = Duration::from_millis(100);

/// Sends signals to the worker for all events after this position in the log.
pub(super) async fn follow(
    shared: Arc<Shared>,
    mut after: u64,
    tell: mpsc::UnboundedSender<Signal>,
    stop: CancellationToken,
) {
    let store = Arc::clone(&shared.polis.store);
    while !stop.is_cancelled() {
        let query = EventQuery {
            after,
            limit: PAGE,
            ..EventQuery::default()
        };
        let Ok(page) = store.events(&query).await else {
            tokio::time::sleep(AGAIN).await;
            continue;
        };
        let mut mail = false;
        for event in &page {
            after = event.seq;
            if let Some(signal) = meaning(event) {
                mail |= event.kind == kind::MESSAGE_SENT;
                let _ = tell.send(signal);
            }
        }
        if mail {
            let _ = tell.send(Signal::Mail);
        }
        let _ = tell.send(Signal::Seen(after));
        // After a full page there may be more.
        if page.len() >= PAGE as usize {
            continue;
        }
        let waited = tokio::select! {
            () = stop.cancelled() => return,
            waited = store.wait_beyond(after, WAIT) => waited,
        };
        if waited.is_err() {
            tokio::time::sleep(AGAIN).await;
        }
    }
}

/// The fields of an event that identify members.
#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase", default)]
struct About {
    agent: Option<AgentId>,
    to: Option<AgentId>,
    task_id: Option<RunId>,
}

/// Returns the signal for an event; `None` if it does not concern members.
pub(super) fn meaning(event: &Event) -> Option<Signal> {
    if event.kind == kind::MESSAGE_SENT {
        let about: About = event.data.to()?;
        // The human user is not driven.
        let to = about.to.filter(|to| to.as_str() != AgentId::USER)?;
        return Some(Signal::Wake(MemberKey::new(about.task_id?, to)));
    }
    if !event.kind.starts_with("society.") {
        return None;
    }
    let run: RunId = event.subject.strip_prefix("run/")?.parse().ok()?;
    let about: About = event.data.to().unwrap_or_default();
    let member = about.agent.map(|agent| MemberKey::new(run.clone(), agent));
    match (event.kind.as_str(), member) {
        (kind::SOCIETY_PAUSED, Some(key)) => Some(Signal::Pause(key)),
        (kind::SOCIETY_PAUSED, None) => Some(Signal::PauseRun(run)),
        (kind::SOCIETY_DISMISSED, Some(key)) => Some(Signal::Halt(key)),
        (kind::SOCIETY_STOPPED, _) => Some(Signal::HaltRun(run)),
        (kind::SOCIETY_RESUMED | kind::SOCIETY_DECIDED, Some(key)) => Some(Signal::Wake(key)),
        (kind::SOCIETY_RESUMED | kind::SOCIETY_STARTED, _) => Some(Signal::Look(run)),
        (kind::SOCIETY_BUDGET, _) => Some(Signal::News(run)),
        _ => None,
    }
}
