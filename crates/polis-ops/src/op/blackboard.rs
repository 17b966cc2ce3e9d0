//! Operations behind the `blackboard_read` and `blackboard_write` tools: files by path, stored by the board engine.

use std::sync::Arc;
use std::time::Duration;

use polis_core::board::access::Act;
use polis_core::board::{Action, BlackboardPath, BoardName, text};
use polis_core::{AgentId, Caller, Code, Refusal, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text_range::window;
use super::write_board::add;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::Receipt;

/// How a file is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum WriteMode {
    /// It becomes the content.
    Overwrite,
    /// The content is added, on a line of its own.
    Append,
}

/// The parameters of `blackboard_read`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlackboardRead {
    /// The file, relative to the blackboard.
    pub path: String,
    /// Where to begin, in bytes: `nextOffset` of the part before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// About how many bytes to answer; all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

/// The parameters of `blackboard_write`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BlackboardWrite {
    /// The file, relative to the blackboard.
    pub path: String,
    /// The content.
    pub content: String,
    /// How.
    pub mode: WriteMode,
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
    /// How many bytes there are, if only a part is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Where the next part begins; left out at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// Who changed it last.
    pub last_modified_by: String,
    /// When.
    pub last_modified_at: Timestamp,
}

/// A file and its new version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct BlackboardWritten {
    /// Its path.
    pub path: String,
    /// Its version now.
    pub version: u64,
}

/// Returns a file of the blackboard, or a part of it. Fails with `FileNotFound` if it was never written.
pub async fn read_blackboard(
    polis: &Polis,
    caller: &AgentId,
    params: &BlackboardRead,
) -> Result<BlackboardFile, OpError> {
    let path: BlackboardPath = params.path.parse()?;
    let board = BoardName::Blackboard(path.clone());
    polis.board_caller(caller, Act::Read, &board).await?;
    let loaded = polis.load_board(&board).await?;
    if loaded.head.version == 0 {
        return Err(Refusal::new(
            Code::FileNotFound,
            format!("There is no {path} on the blackboard."),
            "check the path; `polis blackboard list` shows what there is",
        )
        .into());
    }
    let part = window(loaded.text, params.offset, params.max_bytes);
    Ok(BlackboardFile {
        path: path.to_string(),
        version: loaded.head.version,
        content: part.text,
        size: part.size,
        next_offset: part.next,
        last_modified_by: loaded.head.by,
        last_modified_at: loaded.head.at,
    })
}

/// Writes a file of the blackboard. Waits for a lock of another writer, which is either a lease or a lock that another
/// program took on the file itself.
pub async fn write_blackboard(
    polis: &Polis,
    caller: &AgentId,
    params: &BlackboardWrite,
) -> Result<BlackboardWritten, OpError> {
    let path: BlackboardPath = params.path.parse()?;
    let board = &BoardName::Blackboard(path.clone());
    let act = match params.mode {
        WriteMode::Overwrite => Act::Write,
        WriteMode::Append => Act::Append,
    };
    let caller = polis.board_caller(caller, act, board).await?;
    text::check(&params.content)?;
    let settings = &polis.settings.boards;
    let wait = Duration::from_millis(settings.lock_wait_ms);
    let mut locked = None;
    for _ in 0..settings.lock_tries.max(1) {
        let Some(held) = polis.store.hold_board(board, wait).await? else {
            continue;
        };
        let written = write(polis, &caller, board, params).await;
        // Release our lock while waiting, so that the lease holder can write.
        drop(held);
        match written {
            Err(OpError::Refused(refusal)) if refusal.code == Code::BoardLocked => {
                polis
                    .clock
                    .sleep(lease_left(polis, board, wait).await?)
                    .await;
                locked = Some(refusal);
            }
            Ok(written) => return Ok(written),
            // Another program created and locked the file in the meantime; the next attempt waits for its lock.
            Err(OpError::Failed(failure)) if failure.code == Code::BoardLocked => {}
            Err(error) => return Err(error),
        }
    }
    let refusal = locked.unwrap_or_else(|| {
        Refusal::new(
            Code::BoardLocked,
            format!("Another program has {path} locked."),
            "retry later; see who has it open",
        )
    });
    Err(refusal.into())
}

/// Returns how long to wait for another writer's lease: until it expires, at most `wait`.
async fn lease_left(polis: &Polis, board: &BoardName, wait: Duration) -> Result<Duration, OpError> {
    let head = polis.board_state(board).await?.head;
    let now = polis.clock.now_millis();
    let left = head.lease_at(now).map_or(0, |lease| lease.until - now);
    Ok(wait.min(Duration::from_millis(left.unsigned_abs())))
}

async fn write(
    polis: &Polis,
    caller: &Caller,
    board: &BoardName,
    params: &BlackboardWrite,
) -> Result<BlackboardWritten, OpError> {
    let path = match board {
        BoardName::Blackboard(path) => path.to_string(),
        _ => params.path.clone(),
    };
    let view = move |version| BlackboardWritten {
        path: path.clone(),
        version,
    };
    if params.mode == WriteMode::Append {
        return add(polis, caller, board, &params.content, true, view).await;
    }
    let decide = || -> Attempt<'_, _> {
        Box::pin(async move {
            let head = polis.board_state(board).await?.head;
            let current = text::Current {
                head: &head,
                text: "",
            };
            let content = params.content.clone();
            let by = polis.by(caller);
            let changes = text::decide_whole(current, content, Action::Written, None, by)?;
            Ok(((), changes))
        })
    };
    let finish = move |(), receipt: &Receipt| view(receipt.board.unwrap_or_default());
    polis.settle(decide, finish).await
}
