//! Live events: one follower of the commit log for all readers of a process, `GET /v1/events` as
//! server-sent events, and webhooks.
//!
//! Who a request comes from is decided before it gets here; what a caller may see is decided by the
//! operations.

mod access;
mod batch;
mod filter;
mod follower;
mod frame;
mod history;
mod hub;
mod pace;
mod ring;
mod sse;
mod stall;
pub mod webhook;

pub use access::{end_of, still_counts};
pub use batch::News;
pub use follower::Follower;
pub use hub::{Hub, HubFigures, HubSettings};
pub use sse::{Refuse, SseSettings, router};
pub use stall::WriteLimit;
pub use webhook::{WebhookSender, WebhookSettings};

/// An event for tests.
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
