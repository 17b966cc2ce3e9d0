//! Live events: the hub (one subscriber to the commit log for all readers of a process), `GET /v1/events` as
//! server-sent events, and webhooks.
//!
//! Authentication happens before a request reaches this module. Visibility is decided by the operations.

mod batch;
mod filter;
mod follower;
mod hub;
mod page_cache;
mod ring;
mod sse;
mod sse_encoding;
mod throttle;
mod token_check;
pub mod webhook;
mod write_timeout;

pub use batch::News;
pub use follower::Follower;
pub use hub::{Hub, HubFigures, HubSettings};
pub use sse::{Refuse, SseSettings, router};
pub use token_check::{end_of, still_counts};
pub use webhook::{WebhookSender, WebhookSettings};
pub use write_timeout::WriteLimit;

/// Creates an event for tests.
#[cfg(test)]
fn sample(seq: u64) -> polis_core::Event {
    polis_core::Event {
        seq,
        at: polis_core::Timestamp::from_millis(1_767_225_600_000),
        actor: "user".to_owned(),
        kind: polis_core::event::kind::TASK_CREATED.to_owned(),
        subject: format!("task/{seq}"),
        data: polis_core::Raw::parse(&format!("{{\"n\":{seq}}}")).unwrap(),
    }
}
