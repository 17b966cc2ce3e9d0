//! Whether who reads may still read.

use std::time::Duration;

use polis_core::Kind;
use polis_ops::{OpError, Polis, op};
use tokio::time::Instant;

use crate::Identity;

/// Whether the token a stream was opened with still counts. A store that is away is no reason to end it:
/// nothing can be revoked meanwhile.
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

/// When that token ends by itself, if it does.
pub async fn end_of(polis: &Polis, identity: &Identity) -> Option<Instant> {
    let end = op::token_end(polis, identity.token.as_deref()?)
        .await
        .ok()??;
    let left = end - polis.clock.now_millis();
    let left = Duration::from_millis(left.max(0).unsigned_abs());
    Instant::now().checked_add(left)
}
