//! Older versions of a board: listing, showing, comparing, bringing back.

use std::sync::Arc;

use polis_core::AgentId;
use polis_core::board::access::Act;
use polis_core::board::unified_diff;
use polis_core::board::{Action, BoardName, VersionEntry, text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::write_board::BoardChanged;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};

/// The longest diff that is answered, in bytes.
const MAX_DIFF: usize = 16 << 20;

/// A board, named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfBoard {
    /// The board.
    pub board: BoardName,
}

/// A version of a board, named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfVersion {
    /// The board.
    pub board: BoardName,
    /// The version.
    pub version: u64,
}

/// Two versions of a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardDiff {
    /// The board.
    pub board: BoardName,
    /// The older version.
    pub from: u64,
    /// The newer version; the current one if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
}

/// The versions of a board, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BoardVersions {
    /// The versions.
    pub versions: Vec<VersionEntry>,
}

/// A version's text.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VersionText {
    /// The board.
    pub board: BoardName,
    /// The version.
    pub version: u64,
    /// Its text.
    pub content: Arc<String>,
}

/// What changed between two versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VersionDiff {
    /// The board.
    pub board: BoardName,
    /// The older version.
    pub from: u64,
    /// The newer version.
    pub to: u64,
    /// A unified diff; empty if nothing changed.
    pub diff: String,
}

/// Lists a board's versions.
pub async fn board_history(
    polis: &Polis,
    caller: &AgentId,
    params: &OfBoard,
) -> Result<BoardVersions, OpError> {
    let board = &params.board;
    polis.board_caller(caller, Act::Read, board).await?;
    // Looks at the file, so that what was changed there is in the list.
    polis.board_state(board).await?;
    let limit = polis.settings.boards.max_versions;
    let versions = polis.store.board_versions(board, limit).await?;
    Ok(BoardVersions { versions })
}

/// Shows a version.
pub async fn show_version(
    polis: &Polis,
    caller: &AgentId,
    params: &OfVersion,
) -> Result<VersionText, OpError> {
    polis.board_caller(caller, Act::Read, &params.board).await?;
    let content = polis.text_of(&params.board, params.version).await?;
    Ok(VersionText {
        board: params.board.clone(),
        version: params.version,
        content,
    })
}

/// Compares two versions.
pub async fn diff_board(
    polis: &Polis,
    caller: &AgentId,
    params: &BoardDiff,
) -> Result<VersionDiff, OpError> {
    let board = &params.board;
    polis.board_caller(caller, Act::Read, board).await?;
    let to = match params.to {
        Some(to) => to,
        None => polis.board_state(board).await?.head.version,
    };
    let (old, new) = (
        polis.text_of(board, params.from).await?,
        polis.text_of(board, to).await?,
    );
    let diff = unified_diff(
        &format!("{board} (version {})", params.from),
        &format!("{board} (version {to})"),
        &old,
        &new,
        MAX_DIFF,
    );
    Ok(VersionDiff {
        board: board.clone(),
        from: params.from,
        to,
        diff,
    })
}

/// Brings an older version back, as a new version: nothing is lost by it.
pub async fn restore_board(
    polis: &Polis,
    caller: &AgentId,
    params: &OfVersion,
) -> Result<BoardChanged, OpError> {
    let board = &params.board;
    let caller = &polis.board_caller(caller, Act::Write, board).await?;
    let decide = || -> Attempt<'_, _> {
        Box::pin(async move {
            let head = polis.board_state(board).await?.head;
            let old = polis.text_of(board, params.version).await?;
            let current = text::Current {
                head: &head,
                text: "",
            };
            let by = polis.by(caller);
            let old = old.as_ref().clone();
            let changes = text::decide_whole(current, old, Action::Restored, None, by)?;
            Ok(((), changes))
        })
    };
    let ((), receipt) = polis.settle(decide).await?;
    Ok(BoardChanged {
        board: board.clone(),
        version: receipt.board.unwrap_or_default(),
        merged: false,
    })
}
