//! Operation behind the `whiteboard_lock` tool: acquires, renews and releases the lease of a board.

use polis_core::board::access::Act;
use polis_core::board::{BoardName, Lease, lease};
use polis_core::{AgentId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::polis::{Attempt, Polis};

/// The parameters of taking or renewing a lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BoardLock {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// How long the lock lasts, in milliseconds; 5 seconds if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ttl_ms: Option<u64>,
    /// The lock to renew; without it a new one is taken, or the caller's own prolonged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// The parameters of giving a lock back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BoardUnlock {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// What the lock was taken with. Only the person may leave it out, to end somebody's lock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub token: Option<String>,
}

/// A lock.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoardLocked {
    /// What gives it back.
    pub token: String,
    /// Who holds it.
    pub holder: AgentId,
    /// When it ends.
    pub expires_at: Timestamp,
}

/// A lock was given back.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BoardReleased {
    /// Always true.
    pub released: bool,
}

impl From<Lease> for BoardLocked {
    fn from(lease: Lease) -> Self {
        Self {
            token: lease.token,
            holder: lease.holder,
            expires_at: Timestamp::from_millis(lease.until),
        }
    }
}

/// Acquires the lock of a board, or renews it for its holder.
pub async fn lock_board(
    polis: &Polis,
    caller: &AgentId,
    params: &BoardLock,
) -> Result<BoardLocked, OpError> {
    let board = &params.board;
    let caller = &polis.board_caller(caller, Act::Append, board).await?;
    let ttl = params.ttl_ms.unwrap_or(lease::DEFAULT_MS);
    let decide = || -> Attempt<'_, _> {
        Box::pin(async move {
            let head = polis.board_state(board).await?.head;
            let now = polis.clock.now_millis();
            Ok(match &params.token {
                Some(token) => lease::renew(&head, caller, token, ttl, now)?,
                None => lease::acquire(&head, caller, ttl, polis.chance.token(), now)?,
            })
        })
    };
    polis.settle(decide, |lease, _| lease.into()).await
}

/// Releases the lock of a board.
pub async fn unlock_board(
    polis: &Polis,
    caller: &AgentId,
    params: &BoardUnlock,
) -> Result<BoardReleased, OpError> {
    let board = &params.board;
    let caller = &polis.board_caller(caller, Act::Append, board).await?;
    let decide = || -> Attempt<'_, _> {
        Box::pin(async move {
            let head = polis.board_state(board).await?.head;
            let now = polis.clock.now_millis();
            Ok(match &params.token {
                Some(token) => lease::release(&head, caller, token, now)?,
                None => lease::end(&head, caller, now)?,
            })
        })
    };
    polis
        .settle(decide, |(), _| BoardReleased { released: true })
        .await
}
