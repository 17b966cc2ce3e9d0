//! Operations behind the `whiteboard_write` and `whiteboard_append` tools: replacing a board's text, with
//! optimistic concurrency and three-way merge, and appending an entry.

use std::sync::Arc;

use polis_core::board::access::BoardAccess;
use polis_core::board::merge::{MergeResult, three_way_merge};
use polis_core::board::write_rules::{self, BoardWriteContext};
use polis_core::board::{BoardName, VersionAction};
use polis_core::{Caller, Changeset, Refusal, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::OpError;
use crate::loading::board_loading::LoadedBoard;
use crate::loading::board_loading::change_author;
use crate::loading::board_loading::check_board_access;
use crate::loading::board_loading::find_version_text;
use crate::loading::board_loading::load_board;
use crate::loading::board_loading::load_board_state;
use crate::port::Receipt;
use crate::refusal_tables::OperationRefusal;
use crate::request::{AttemptFuture, Request};

/// Parameters of `whiteboard_write`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BoardWriteParams {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// Its new text.
    pub content: String,
    /// The version you read; refused if the board has changed since. Required if the board has text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
    /// Merge with changes made since expectedVersion, if they do not overlap.
    #[serde(default)]
    pub merge: bool,
    /// Whether to replace any text without a version check. Not a parameter of the tool: a model that may
    /// skip the check does.
    #[serde(skip)]
    pub force: bool,
}

/// Parameters of `whiteboard_append`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BoardAppendParams {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The entry; author and time are added.
    pub content: String,
}

/// A board and its new version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoardChangeResult {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// Its new version.
    pub version: u64,
    /// Whether the text was merged with changes of others.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub merged: bool,
}

/// Replaces a board's whole text. Fails with `VersionConflict` if the board has another version than the
/// expected one and the text is not to be merged, or cannot be.
pub async fn write_board(
    request: &Request,
    params: &BoardWriteParams,
) -> Result<BoardChangeResult, OpError> {
    let board = &params.board;
    let caller = &check_board_access(request, BoardAccess::Write, board).await?;
    write_rules::check_board_text(&params.content)?;
    let decide = || -> AttemptFuture<'_, _> {
        Box::pin(async move {
            let context = change_author(&request.app, caller);
            match params.expected_version {
                None => {
                    let head = load_board_state(&request.app, board).await?.head;
                    let content = params.content.clone();
                    let changes = write_rules::decide_unversioned_replace(
                        &head,
                        content,
                        params.force,
                        context,
                    )?;
                    Ok((false, changes))
                }
                Some(expected) => {
                    let loaded = load_board(&request.app, board).await?;
                    decide_replace(
                        &request.app,
                        &loaded,
                        expected,
                        &params.content,
                        params.merge,
                        context,
                    )
                    .await
                }
            }
        })
    };
    let board = board.clone();
    let view = move |merged, receipt: &Receipt| BoardChangeResult {
        board: board.clone(),
        version: receipt.board.unwrap_or_default(),
        merged,
    };
    request.retry_on_conflict(decide, view).await
}

/// Returns the changeset that replaces the text of a board whose version `expected` the caller has read, and
/// whether a merge was necessary. Fails with `VersionConflict` if the board has changed since and `may_merge`
/// is false, or both changed the same lines.
pub(crate) async fn decide_replace(
    app: &App,
    loaded: &LoadedBoard,
    expected: u64,
    content: &str,
    may_merge: bool,
    context: BoardWriteContext<'_>,
) -> Result<(bool, Changeset), OpError> {
    let current = loaded.current();
    let version = loaded.head.version;
    if version == expected {
        let content = content.to_owned();
        let changes = write_rules::decide_replace_text(
            current,
            content,
            VersionAction::Written,
            Some(version),
            context,
        )?;
        return Ok((false, changes));
    }
    let base = find_version_text(app, &loaded.head.name, expected).await?;
    let Some(base) = base.filter(|_| expected < version) else {
        return Err(write_rules::version_conflict(current, expected, None).into());
    };
    if !may_merge {
        return Err(write_rules::version_conflict(current, expected, Some(&base)).into());
    }
    match three_way_merge(&base, &loaded.text, content) {
        MergeResult::Clean(merged) => {
            let changes = write_rules::decide_replace_text(
                current,
                merged,
                VersionAction::Written,
                Some(version),
                context,
            )?;
            Ok((true, changes))
        }
        MergeResult::Conflict(conflict_text) => {
            Err(write_rules::merge_conflict(current, expected, &base, conflict_text).into())
        }
    }
}

/// Appends an entry to a board.
///
/// Commits first and reads the board only after a conflict: an append is valid for any version, so usually
/// nothing has to be read, regardless of the board's size. Fails with `permission_denied` if the caller may
/// not append to the board, with `invalid_input` if the entry is empty, with `invalid_section` if it begins
/// sections of its own and the caller may not write the board, with `board_too_large`, and with
/// `board_locked` while another agent holds the lock of the board.
pub async fn append_board(
    request: &Request,
    params: &BoardAppendParams,
) -> Result<BoardChangeResult, OpError> {
    let board = &params.board;
    let caller = check_board_access(request, BoardAccess::Append, board).await?;
    if params.content.trim().is_empty() {
        return Err(Refusal::from(OperationRefusal::NothingToAppend).into());
    }
    if let Err(refusal) = write_rules::check_entry_headings(&params.content) {
        match check_board_access(request, BoardAccess::Write, board).await {
            Err(OpError::Refused(_)) => return Err(refusal.into()),
            may_write => may_write?,
        };
    }
    let context = change_author(&request.app, &caller);
    let at = Timestamp::from_millis(context.now);
    let entry = write_rules::format_entry(
        &params.content,
        &caller,
        &at,
        request.app.settings.boards.language,
    );
    let name = board.clone();
    let view = move |version| BoardChangeResult {
        board: name.clone(),
        version,
        merged: false,
    };
    append_text(request, &caller, board, &entry, false, view).await
}

/// Appends a text to a board; a board that was never written starts with its template. `view` builds the
/// response from the new version. Fails with `invalid_text` or `board_too_large` if the board cannot hold the
/// text, and with `board_locked` while another agent holds the lock of the board.
pub(crate) async fn append_text<V: Serialize>(
    request: &Request,
    caller: &Caller,
    board: &BoardName,
    added: &str,
    on_new_line: bool,
    view: impl Fn(u64) -> V + Send + Sync + 'static,
) -> Result<V, OpError> {
    let finish = Arc::new(move |(), receipt: &Receipt| view(receipt.board.unwrap_or_default()));
    let until = request.app.retry_deadline();
    loop {
        let context = change_author(&request.app, caller);
        let changes =
            write_rules::decide_append_text(board, added.to_owned(), on_new_line, context)?;
        if let Some(answer) = request.commit(changes, (), &finish).await? {
            return Ok(answer);
        }
        let loaded = load_board(&request.app, board).await?;
        write_rules::check_append(&loaded.head, added, on_new_line, context)?;
        if loaded.head.version == 0 {
            let appended_text = format!("{}{added}", loaded.text);
            let changes = write_rules::decide_replace_text(
                loaded.current(),
                appended_text,
                VersionAction::Appended,
                Some(0),
                context,
            )?;
            if let Some(answer) = request.commit(changes, (), &finish).await? {
                return Ok(answer);
            }
        }
        request.app.check_deadline(until)?;
    }
}
