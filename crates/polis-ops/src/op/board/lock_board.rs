//! Operations behind the `whiteboard_lock` and `whiteboard_unlock` tools: acquire, renew and release the
//! lease of a board.

use polis_core::board::access::BoardAccess;
use polis_core::board::{BoardLease, BoardName, board_lease};
use polis_core::{AgentId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::loading::board_loading::check_board_access;
use crate::loading::board_loading::load_board_state;
use crate::request::{AttemptFuture, Request};

/// Parameters of `whiteboard_lock`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BoardLockParams {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// Duration of the lock in milliseconds; default: 5000, at most 3600000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// Token of the lock to renew; default: acquire a lock, or renew your own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// Parameters of `whiteboard_unlock`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BoardUnlockParams {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// Token of the lock. Only the person may omit it, to break another agent's lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// Lock of a board: its token, holder and expiry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoardLockResult {
    /// Token that renews or releases it.
    pub token: String,
    /// Agent that holds it.
    pub holder: AgentId,
    /// When it expires.
    pub expires_at: Timestamp,
}

/// Result of releasing a lock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BoardUnlockResult {
    /// Always true.
    pub released: bool,
}

impl From<BoardLease> for BoardLockResult {
    fn from(lease: BoardLease) -> Self {
        Self {
            token: lease.token,
            holder: lease.holder,
            expires_at: Timestamp::from_millis(lease.until),
        }
    }
}

/// Acquires the lock of a board, or renews it: the caller's own, or the one with the given token. Fails with
/// `BoardLocked` while another agent holds it, and with `LockLost` if the token is not the current one.
pub async fn lock_board(
    request: &Request,
    params: &BoardLockParams,
) -> Result<BoardLockResult, OpError> {
    let board = &params.board;
    let caller = &check_board_access(request, BoardAccess::Append, board).await?;
    let ttl = params.ttl_ms.unwrap_or(board_lease::DEFAULT_BOARD_LEASE_MS);
    let decide = || -> AttemptFuture<'_, _> {
        Box::pin(async move {
            let head = load_board_state(&request.app, board).await?.head;
            let now = request.app.clock.now_millis();
            Ok(match &params.token {
                Some(token) => board_lease::renew_lease(&head, caller, token, ttl, now)?,
                None => board_lease::acquire_lease(
                    &head,
                    caller,
                    ttl,
                    request.app.random.random_token(),
                    now,
                )?,
            })
        })
    };
    request
        .retry_on_conflict(decide, |lease, _| lease.into())
        .await
}

/// Releases the lock of a board. Without a token, only the person may do that. Fails with
/// `permission_denied` for other callers and for those that may not append to the board, and with
/// `lock_lost` if the token is not the current one.
pub async fn unlock_board(
    request: &Request,
    params: &BoardUnlockParams,
) -> Result<BoardUnlockResult, OpError> {
    let board = &params.board;
    let caller = &check_board_access(request, BoardAccess::Append, board).await?;
    let decide = || -> AttemptFuture<'_, _> {
        Box::pin(async move {
            let head = load_board_state(&request.app, board).await?.head;
            let now = request.app.clock.now_millis();
            Ok(match &params.token {
                Some(token) => board_lease::release_lease(&head, caller, token, now)?,
                None => board_lease::end_lease(&head, caller, now)?,
            })
        })
    };
    request
        .retry_on_conflict(decide, |(), _| BoardUnlockResult { released: true })
        .await
}
