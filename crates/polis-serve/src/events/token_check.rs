//! Re-validates the access of an open event stream.
//!
//! Streams stay open for hours. They therefore check again and again whether the agent and the token they
//! were opened with are still valid, and end when the token expires.

use std::time::Duration;

use polis_core::Kind;
use polis_ops::{OpError, Polis, op};
use tokio::time::Instant;

use crate::Identity;

/// Returns whether the agent and the token a stream was opened with are still valid. A store that cannot be
/// reached does not end the stream: no token can be revoked during an outage.
pub async fn still_counts(polis: &Polis, identity: &Identity) -> bool {
    match look(polis, identity).await {
        Ok(counts) => counts,
        Err(error) => error.kind() != Kind::Forbidden,
    }
}

async fn look(polis: &Polis, identity: &Identity) -> Result<bool, OpError> {
    polis.caller(&identity.agent).await?;
    match &identity.token {
        Some(id) => op::token_counts(polis, id).await,
        None => Ok(true),
    }
}

/// Returns when the token expires; `None` if it has no expiry or the expiry cannot be read.
pub async fn end_of(polis: &Polis, identity: &Identity) -> Option<Instant> {
    let end = op::token_end(polis, identity.token.as_deref()?)
        .await
        .ok()??;
    let left = end - polis.clock.now_millis();
    let left = Duration::from_millis(left.max(0).unsigned_abs());
    Instant::now().checked_add(left)
}
