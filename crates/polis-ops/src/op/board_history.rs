//! Operations on older versions of a board: list, show, diff and restore.

use std::sync::Arc;

use polis_core::AgentId;
use polis_core::board::access::Act;
use polis_core::board::unified_diff;
use polis_core::board::{Action, BoardName, VersionEntry, text};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text_range::window;
use super::write_board::BoardChanged;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::Receipt;

/// Maximum size of a returned diff, in bytes.
const MAX_DIFF: usize = 16 << 20;

/// A board, named.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfBoard {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
}

/// The parameters of bringing a version back.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VersionRestore {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The version.
    pub version: u64,
    /// The version you read; refused if the board has changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
}

/// The parameters of listing a board's versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardHistory {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// Only the newest so many; all that are kept if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// The parameters of showing a version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct VersionShow {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The version.
    pub version: u64,
    /// Where to begin, in bytes: `nextOffset` of the part before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// About how many bytes to answer; all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

/// Two versions of a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardDiff {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
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
#[serde(rename_all = "camelCase")]
pub struct VersionText {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The version.
    pub version: u64,
    /// Its text.
    pub content: Arc<String>,
    /// How many bytes there are, if only a part is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Where the next part begins; left out at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}

/// What changed between two versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VersionDiff {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The older version.
    pub from: u64,
    /// The newer version.
    pub to: u64,
    /// A unified diff; empty if nothing changed.
    pub diff: String,
}

/// Lists a board's versions, newest first.
pub async fn board_history(
    polis: &Polis,
    caller: &AgentId,
    params: &BoardHistory,
) -> Result<BoardVersions, OpError> {
    let board = &params.board;
    polis.board_caller(caller, Act::Read, board).await?;
    // Checks the board's file, so that changes made directly in the file are in the list.
    polis.board_state(board).await?;
    let kept = polis.settings.boards.max_versions;
    let limit = params.limit.map_or(kept, |most| most.clamp(1, kept.max(1)));
    let versions = polis.store.board_versions(board, limit).await?;
    Ok(BoardVersions { versions })
}

/// Returns the text of a version, or a part of it.
pub async fn show_version(
    polis: &Polis,
    caller: &AgentId,
    params: &VersionShow,
) -> Result<VersionText, OpError> {
    polis.board_caller(caller, Act::Read, &params.board).await?;
    let text = polis.text_of(&params.board, params.version).await?;
    let part = window(text, params.offset, params.max_bytes);
    Ok(VersionText {
        board: params.board.clone(),
        version: params.version,
        content: part.text,
        size: part.size,
        next_offset: part.next,
    })
}

/// Returns a unified diff of two versions.
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

/// Restores an older version as a new version, so no version is lost.
pub async fn restore_board(
    polis: &Polis,
    caller: &AgentId,
    params: &VersionRestore,
) -> Result<BoardChanged, OpError> {
    let board = &params.board;
    let caller = &polis.board_caller(caller, Act::Write, board).await?;
    let decide = || -> Attempt<'_, _> {
        Box::pin(async move {
            let head = polis.board_state(board).await?.head;
            if let Some(expected) = params.expected_version.filter(|had| *had != head.version) {
                return Err(read_another(polis, board, expected).await?);
            }
            let old = polis.text_of(board, params.version).await?;
            let current = text::Current {
                head: &head,
                text: "",
            };
            let (by, expect) = (polis.by(caller), params.expected_version);
            let old = old.as_ref().clone();
            let changes = text::decide_whole(current, old, Action::Restored, expect, by)?;
            Ok(((), changes))
        })
    };
    let board = board.clone();
    let view = move |(), receipt: &Receipt| BoardChanged {
        board: board.clone(),
        version: receipt.board.unwrap_or_default(),
        merged: false,
    };
    polis.settle(decide, view).await
}

/// Returns the conflict for a caller that has read a version other than the current one, in the same form as for a
/// write.
async fn read_another(polis: &Polis, board: &BoardName, expected: u64) -> Result<OpError, OpError> {
    let loaded = polis.load_board(board).await?;
    let had = polis.text_had(board, expected).await?;
    let had = had.filter(|_| expected < loaded.head.version);
    let had = had.as_ref().map(|text| text.as_str());
    Ok(text::conflict(loaded.current(), expected, had).into())
}
