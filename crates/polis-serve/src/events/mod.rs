//! Live events: the hub (one subscriber to the event log for all readers of a process), `GET /v1/events` as
//! server-sent events, and webhooks.
//!
//! MCP subscriptions and the live updates of web pages use the hub too. Requests arrive authenticated; open
//! streams check periodically that access is still valid, and omit events that the reader may not see.
//! Webhooks apply only their filter of kinds.

mod batch;
mod event_filter;
mod follower;
mod hub;
mod page_cache;
mod ring;
mod sse;
mod sse_encoding;
mod throttle;
mod token_check;
pub mod webhook;

pub use batch::EventSlice;
pub use follower::LogFollower;
pub use hub::{Hub, HubMetrics, HubSettings};
pub use sse::{
    RefusalRenderer, SseContent, SseEndReason, SseSettings, SseSource, SseStream, sse_router,
};
pub(crate) use token_check::{is_access_valid, token_expiry};
pub use webhook::{WebhookSender, WebhookSettings};

/// Creates an event for tests.
#[cfg(test)]
fn sample_event(seq: u64) -> polis_core::Event {
    polis_core::Event {
        seq,
        at: polis_core::Timestamp::from_millis(1_767_225_600_000),
        actor: "user".to_owned(),
        kind: polis_core::EventKind::TaskCreated.as_str().to_owned(),
        subject: format!("task/{seq}"),
        data: polis_core::RawJson::parse(&format!("{{\"n\":{seq}}}")).unwrap(),
    }
}
