//! Whether who reads may still read.

use std::time::Duration;

use polis_core::Kind;
use polis_core::record::{RecordKind, RecordName};
use polis_core::token::{Token, TokenStatus};
use polis_ops::{OpError, Polis};
use tokio::time::Instant;

use crate::Identity;

/// Whether the token a stream was opened with still counts. A store that is away is no reason to end it:
/// nothing can be revoked meanwhile.
pub(crate) async fn still_counts(polis: &Polis, identity: &Identity) -> bool {
    match look(polis, identity).await {
        Ok(counts) => counts,
        Err(error) => error.kind() != Kind::Forbidden,
    }
}

async fn look(polis: &Polis, identity: &Identity) -> Result<bool, OpError> {
    polis.caller(&identity.agent).await?;
    if identity.token.is_none() {
        return Ok(true);
    }
    let token = token_of(polis, identity).await?;
    Ok(token.is_some_and(|token| token.status(polis.clock.now_millis()) == TokenStatus::Active))
}

async fn token_of(polis: &Polis, identity: &Identity) -> Result<Option<Token>, OpError> {
    let Some(id) = &identity.token else {
        return Ok(None);
    };
    let name = RecordName::new(RecordKind::Token, id);
    let stored = polis.store.record(&name).await?;
    Ok(stored.and_then(|stored| serde_json::from_str(&stored.body).ok()))
}

/// When that token ends by itself, if it does.
pub(crate) async fn end_of(polis: &Polis, identity: &Identity) -> Option<Instant> {
    let token = token_of(polis, identity).await.ok()??;
    let left = token.expires_at?.millis()? - polis.clock.now_millis();
    let left = Duration::from_millis(left.max(0).unsigned_abs());
    Instant::now().checked_add(left)
}
