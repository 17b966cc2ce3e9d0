//! Token check of an open event stream: re-validates the reader's access.
//!
//! Streams stay open for hours. They therefore check periodically whether the agent and the token they
//! were opened with are still valid, and end when the token expires.

use std::time::Duration;

use polis_core::RefusalKind;
use polis_ops::{App, OpError, op};
use tokio::time::Instant;

use crate::CallerIdentity;

/// Returns whether the agent and the token a stream was opened with are still valid. A store that cannot be
/// reached does not end the stream: no token can be revoked during an outage.
pub(crate) async fn is_access_valid(app: &App, identity: &CallerIdentity) -> bool {
    match check_access(app, identity).await {
        Ok(counts) => counts,
        Err(error) => error.kind() != RefusalKind::Forbidden,
    }
}

async fn check_access(app: &App, identity: &CallerIdentity) -> Result<bool, OpError> {
    app.request(&identity.agent).resolve_caller().await?;
    match &identity.token {
        Some(id) => op::is_token_valid(app, id).await,
        None => Ok(true),
    }
}

/// Returns when the token expires; `None` if it has no expiry or the expiry cannot be read.
pub(crate) async fn token_expiry(app: &App, identity: &CallerIdentity) -> Option<Instant> {
    let end = op::token_expiry(app, identity.token.as_deref()?)
        .await
        .ok()??;
    let left = end - app.clock.now_millis();
    let left = Duration::from_millis(left.max(0).unsigned_abs());
    Instant::now().checked_add(left)
}
