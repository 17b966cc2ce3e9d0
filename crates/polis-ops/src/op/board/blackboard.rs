//! Operations behind the `blackboard_read` and `blackboard_write` tools: files by path, stored by the board
//! engine.

use std::sync::Arc;
use std::time::Duration;

use polis_core::board::access::BoardAccess;
use polis_core::board::{BlackboardPath, BoardName, VersionAction, write_rules};
use polis_core::{Caller, Refusal, RefusalCode, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::OpError;
use crate::loading::board_loading::change_author;
use crate::loading::board_loading::check_board_access;
use crate::loading::board_loading::load_board;
use crate::loading::board_loading::load_board_state;
use crate::op::board::write_board::append_text;
use crate::port::Receipt;
use crate::refusal_tables::OperationRefusal;
use crate::request::{AttemptFuture, Request};
use crate::text_range::text_range;

/// Write mode of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum BlackboardWriteMode {
    /// Replace the content.
    Overwrite,
    /// Append the content on a new line.
    Append,
}

/// Parameters of `blackboard_read`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlackboardReadParams {
    /// The file, relative to the blackboard.
    pub path: String,
    /// Start offset in bytes: `nextOffset` of the previous part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Approximate number of bytes to return; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

/// Parameters of `blackboard_write`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlackboardWriteParams {
    /// The file, relative to the blackboard.
    pub path: String,
    /// The content.
    pub content: String,
    /// Write mode.
    pub mode: BlackboardWriteMode,
}

/// A file of the blackboard.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BlackboardFile {
    /// Its path.
    pub path: String,
    /// Its version.
    pub version: u64,
    /// Its content.
    pub content: Arc<String>,
    /// Total size in bytes, if only a part is returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Offset of the next part; omitted for the last part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// Agent that changed it last.
    pub last_modified_by: String,
    /// When it was last changed.
    pub last_modified_at: Timestamp,
}

/// A file and its new version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BlackboardWriteResult {
    /// Its path.
    pub path: String,
    /// Its new version.
    pub version: u64,
}

/// Returns a file of the blackboard, or a part of it. Fails with `FileNotFound` if it was never written.
pub async fn read_blackboard(
    request: &Request,
    params: &BlackboardReadParams,
) -> Result<BlackboardFile, OpError> {
    let path: BlackboardPath = params.path.parse()?;
    let board = BoardName::Blackboard(path.clone());
    check_board_access(request, BoardAccess::Read, &board).await?;
    let loaded = load_board(&request.app, &board).await?;
    if loaded.head.version == 0 {
        return Err(Refusal::from(OperationRefusal::BlackboardFileNotFound {
            path: path.to_string(),
        })
        .into());
    }
    let part = text_range(loaded.text, params.offset, params.max_bytes);
    Ok(BlackboardFile {
        path: path.to_string(),
        version: loaded.head.version,
        content: part.text,
        size: part.total_size,
        next_offset: part.next_offset,
        last_modified_by: loaded.head.modified_by,
        last_modified_at: loaded.head.modified_at,
    })
}

/// Writes a file of the blackboard. Waits for a lock of another writer, which is either a lease or a lock
/// that another program took on the file itself. Fails with `BoardLocked` after the configured number of
/// attempts.
pub async fn write_blackboard(
    request: &Request,
    params: &BlackboardWriteParams,
) -> Result<BlackboardWriteResult, OpError> {
    let path: BlackboardPath = params.path.parse()?;
    let board = &BoardName::Blackboard(path.clone());
    let act = match params.mode {
        BlackboardWriteMode::Overwrite => BoardAccess::Write,
        BlackboardWriteMode::Append => BoardAccess::Append,
    };
    let caller = check_board_access(request, act, board).await?;
    write_rules::check_board_text(&params.content)?;
    let settings = &request.app.settings.boards;
    let wait = Duration::from_millis(settings.lock_wait_ms);
    let mut locked = None;
    for _ in 0..settings.lock_attempts.max(1) {
        let Some(guard) = request.app.store.lock_board_file(board, wait).await? else {
            continue;
        };
        let result = try_write(request, &caller, board, params).await;
        // Release our lock while waiting, so that the lease holder can write.
        drop(guard);
        match result {
            Err(OpError::Refused(refusal)) if refusal.code == RefusalCode::BOARD_LOCKED => {
                request
                    .app
                    .clock
                    .sleep(remaining_lease(&request.app, board, wait).await?)
                    .await;
                locked = Some(refusal);
            }
            Ok(result) => return Ok(result),
            // Another program created and locked the file in the meantime; the next attempt waits for its
            // lock.
            Err(OpError::Failed(failure)) if failure.code == RefusalCode::BOARD_LOCKED => {}
            Err(error) => return Err(error),
        }
    }
    let refusal = locked.unwrap_or_else(|| {
        Refusal::from(OperationRefusal::BlackboardFileLocked {
            path: path.to_string(),
        })
    });
    Err(refusal.into())
}

/// Returns how long to wait for another writer's lease: until it expires, at most `wait`.
async fn remaining_lease(
    app: &App,
    board: &BoardName,
    wait: Duration,
) -> Result<Duration, OpError> {
    let head = load_board_state(app, board).await?.head;
    let now = app.clock.now_millis();
    let left = head.active_lease(now).map_or(0, |lease| lease.until - now);
    Ok(wait.min(Duration::from_millis(left.unsigned_abs())))
}

async fn try_write(
    request: &Request,
    caller: &Caller,
    board: &BoardName,
    params: &BlackboardWriteParams,
) -> Result<BlackboardWriteResult, OpError> {
    let path = match board {
        BoardName::Blackboard(path) => path.to_string(),
        _ => params.path.clone(),
    };
    let view = move |version| BlackboardWriteResult {
        path: path.clone(),
        version,
    };
    if params.mode == BlackboardWriteMode::Append {
        return append_text(request, caller, board, &params.content, true, view).await;
    }
    let decide = || -> AttemptFuture<'_, _> {
        Box::pin(async move {
            let head = load_board_state(&request.app, board).await?.head;
            let current = write_rules::CurrentBoard {
                head: &head,
                text: "",
            };
            let content = params.content.clone();
            let context = change_author(&request.app, caller);
            let changes = write_rules::decide_replace_text(
                current,
                content,
                VersionAction::Written,
                None,
                context,
            )?;
            Ok(((), changes))
        })
    };
    let finish = move |(), receipt: &Receipt| view(receipt.board.unwrap_or_default());
    request.retry_on_conflict(decide, finish).await
}
