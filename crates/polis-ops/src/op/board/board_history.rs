//! Operations on older versions of a board: list, show, diff and restore.

use std::sync::Arc;

use polis_core::board::access::BoardAccess;
use polis_core::board::unified_diff;
use polis_core::board::{BoardName, VersionAction, VersionEntry, write_rules};
use polis_i18n::{UiLanguage, msg};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::OpError;
use crate::loading::board_loading::change_author;
use crate::loading::board_loading::check_board_access;
use crate::loading::board_loading::find_version_text;
use crate::loading::board_loading::load_board;
use crate::loading::board_loading::load_board_state;
use crate::loading::board_loading::load_version_text;
use crate::op::board::write_board::BoardChangeResult;
use crate::port::Receipt;
use crate::request::{AttemptFuture, Request};
use crate::text_range::text_range;

/// Maximum size of a returned diff, in bytes.
const MAX_DIFF_BYTES: usize = 16 << 20;

/// Parameters of operations that need only a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardNameParams {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
}

/// Parameters of `whiteboard_restore`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BoardRestoreParams {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The version.
    pub version: u64,
    /// The version you read; refused if the board has changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
}

/// Parameters of `whiteboard_history`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardHistoryParams {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// Maximum number of versions, newest first; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Parameters of `whiteboard_show`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BoardVersionShowParams {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The version.
    pub version: u64,
    /// Start offset in bytes: `nextOffset` of the previous part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Approximate number of bytes to return; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

/// Parameters of `whiteboard_diff`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct BoardDiffParams {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The older version.
    pub from: u64,
    /// The newer version; default: the current one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub to: Option<u64>,
}

/// The versions of a board, newest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BoardVersionList {
    /// The versions.
    pub versions: Vec<VersionEntry>,
}

/// Text of a version of a board, or a part of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoardVersionText {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The version.
    pub version: u64,
    /// Its text.
    pub content: Arc<String>,
    /// Total size in bytes, if only a part is returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Offset of the next part; omitted for the last part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
}

/// The difference between two versions.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BoardVersionDiff {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The older version.
    pub from: u64,
    /// The newer version.
    pub to: u64,
    /// A unified diff; empty if nothing changed.
    pub diff: String,
}

impl BoardVersionDiff {
    /// Returns the diff for a person: the names of the versions in its first lines are in a language.
    pub fn diff_text(&self, lang: UiLanguage) -> String {
        let mut text = self.diff.clone();
        for (mark, version) in [("---", self.from), ("+++", self.to)] {
            let name = |lang| msg::board_diff_label(lang, &self.board, version);
            let line = format!("{mark} {}\n", name(UiLanguage::En));
            text = text.replacen(&line, &format!("{mark} {}\n", name(lang)), 1);
        }
        text
    }
}

/// Lists a board's versions, newest first. Fails with `permission_denied` if the caller may not read the
/// board.
pub async fn list_board_versions(
    request: &Request,
    params: &BoardHistoryParams,
) -> Result<BoardVersionList, OpError> {
    let board = &params.board;
    check_board_access(request, BoardAccess::Read, board).await?;
    // Checks the board's file, so that changes made directly in the file are in the list.
    load_board_state(&request.app, board).await?;
    let max_versions = request.app.settings.boards.max_versions;
    let limit = params
        .limit
        .map_or(max_versions, |limit| limit.clamp(1, max_versions.max(1)));
    let versions = request.app.store.board_versions(board, limit).await?;
    Ok(BoardVersionList { versions })
}

/// Returns the text of a version, or a part of it. Fails with `VersionNotFound` if the history no longer
/// contains it.
pub async fn show_board_version(
    request: &Request,
    params: &BoardVersionShowParams,
) -> Result<BoardVersionText, OpError> {
    check_board_access(request, BoardAccess::Read, &params.board).await?;
    let text = load_version_text(&request.app, &params.board, params.version).await?;
    let part = text_range(text, params.offset, params.max_bytes);
    Ok(BoardVersionText {
        board: params.board.clone(),
        version: params.version,
        content: part.text,
        size: part.total_size,
        next_offset: part.next_offset,
    })
}

/// Returns a unified diff of two versions. Fails with `VersionNotFound` if the history no longer contains one
/// of them.
pub async fn diff_board(
    request: &Request,
    params: &BoardDiffParams,
) -> Result<BoardVersionDiff, OpError> {
    let board = &params.board;
    check_board_access(request, BoardAccess::Read, board).await?;
    let to = match params.to {
        Some(to) => to,
        None => load_board_state(&request.app, board).await?.head.version,
    };
    let (old, new) = (
        load_version_text(&request.app, board, params.from).await?,
        load_version_text(&request.app, board, to).await?,
    );
    let diff = unified_diff(
        &msg::board_diff_label(UiLanguage::En, board, params.from),
        &msg::board_diff_label(UiLanguage::En, board, to),
        &old,
        &new,
        MAX_DIFF_BYTES,
    );
    Ok(BoardVersionDiff {
        board: board.clone(),
        from: params.from,
        to,
        diff,
    })
}

/// Restores an older version as a new version, so no version is lost. Fails with `VersionConflict` if the
/// caller expects another current version.
pub async fn restore_board(
    request: &Request,
    params: &BoardRestoreParams,
) -> Result<BoardChangeResult, OpError> {
    let board = &params.board;
    let caller = &check_board_access(request, BoardAccess::Write, board).await?;
    let decide = || -> AttemptFuture<'_, _> {
        Box::pin(async move {
            let head = load_board_state(&request.app, board).await?.head;
            if let Some(expected) = params
                .expected_version
                .filter(|expected| *expected != head.version)
            {
                return Err(stale_version_conflict(&request.app, board, expected).await?);
            }
            let old = load_version_text(&request.app, board, params.version).await?;
            let current = write_rules::CurrentBoard {
                head: &head,
                text: "",
            };
            let (context, expect) = (change_author(&request.app, caller), params.expected_version);
            let old = old.as_ref().clone();
            let changes = write_rules::decide_replace_text(
                current,
                old,
                VersionAction::Restored,
                expect,
                context,
            )?;
            Ok(((), changes))
        })
    };
    let board = board.clone();
    let view = move |(), receipt: &Receipt| BoardChangeResult {
        board: board.clone(),
        version: receipt.board.unwrap_or_default(),
        merged: false,
    };
    request.retry_on_conflict(decide, view).await
}

/// Returns the conflict for a caller that has read a version other than the current one, in the same form as
/// for a write.
async fn stale_version_conflict(
    app: &App,
    board: &BoardName,
    expected: u64,
) -> Result<OpError, OpError> {
    let loaded = load_board(app, board).await?;
    let base = find_version_text(app, board, expected).await?;
    let base = base.filter(|_| expected < loaded.head.version);
    let base = base.as_ref().map(|text| text.as_str());
    Ok(write_rules::version_conflict(loaded.current(), expected, base).into())
}
