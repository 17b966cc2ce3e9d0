//! Operations behind the `whiteboard_write` and `whiteboard_append` tools: replacing a board's text, with optimistic
//! concurrency and three-way merge, and appending an entry.

use std::sync::Arc;

use polis_core::board::access::Act;
use polis_core::board::merge::{Merged, merge};
use polis_core::board::text::{self, By};
use polis_core::board::{Action, BoardName};
use polis_core::{AgentId, Caller, Changeset, Code, Refusal, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::board_loading::Loaded;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::Receipt;

/// The parameters of `whiteboard_write`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BoardOverwrite {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// Its new text.
    pub content: String,
    /// The version you read; refused if the board has changed since. A board that has text needs it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
    /// Merge with what changed since expectedVersion, if that does not overlap.
    #[serde(default)]
    pub merge: bool,
    /// Whether to replace whatever is there, without a version. Not a parameter of the tool: a model that may skip the
    /// check does.
    #[serde(skip)]
    pub force: bool,
}

/// The parameters of `whiteboard_append`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BoardAppend {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The entry; it is signed and dated.
    pub content: String,
}

/// A board and its new version.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoardChanged {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// Its version now.
    pub version: u64,
    /// Whether the caller's text was merged with what others had changed.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub merged: bool,
}

/// Replaces a board's whole text.
pub async fn write_board(
    polis: &Polis,
    caller: &AgentId,
    params: &BoardOverwrite,
) -> Result<BoardChanged, OpError> {
    let board = &params.board;
    let caller = &polis.board_caller(caller, Act::Write, board).await?;
    text::check(&params.content)?;
    let decide = || -> Attempt<'_, _> {
        Box::pin(async move {
            let by = polis.by(caller);
            match params.expected_version {
                None => {
                    let head = polis.board_state(board).await?.head;
                    let content = params.content.clone();
                    let changes = text::decide_unversioned(&head, content, params.force, by)?;
                    Ok((false, changes))
                }
                Some(expected) => {
                    let loaded = polis.load_board(board).await?;
                    replace(polis, &loaded, expected, &params.content, params.merge, by).await
                }
            }
        })
    };
    let board = board.clone();
    let view = move |merged, receipt: &Receipt| BoardChanged {
        board: board.clone(),
        version: receipt.board.unwrap_or_default(),
        merged,
    };
    polis.settle(decide, view).await
}

/// Decides the new text of a board whose version `expected` the caller has read. Returns whether a merge was necessary.
pub(super) async fn replace(
    polis: &Polis,
    loaded: &Loaded,
    expected: u64,
    content: &str,
    may_merge: bool,
    by: By<'_>,
) -> Result<(bool, Changeset), OpError> {
    let current = loaded.current();
    let version = loaded.head.version;
    if version == expected {
        let content = content.to_owned();
        let changes = text::decide_whole(current, content, Action::Written, Some(version), by)?;
        return Ok((false, changes));
    }
    let had = polis.text_had(&loaded.head.name, expected).await?;
    let Some(had) = had.filter(|_| expected < version) else {
        return Err(text::conflict(current, expected, None).into());
    };
    if !may_merge {
        return Err(text::conflict(current, expected, Some(&had)).into());
    }
    match merge(&had, &loaded.text, content) {
        Merged::Clean(merged) => {
            let changes = text::decide_whole(current, merged, Action::Written, Some(version), by)?;
            Ok((true, changes))
        }
        Merged::Conflict(marked) => {
            Err(text::merge_conflict(current, expected, &had, marked).into())
        }
    }
}

/// Appends an entry to a board.
///
/// Commits first and reads the board only after a conflict: an append is valid for any version, so usually nothing has
/// to be read, regardless of the board's size.
pub async fn append_board(
    polis: &Polis,
    caller: &AgentId,
    params: &BoardAppend,
) -> Result<BoardChanged, OpError> {
    let board = &params.board;
    let caller = polis.board_caller(caller, Act::Append, board).await?;
    if params.content.trim().is_empty() {
        return Err(Refusal::new(
            Code::InvalidInput,
            "There is nothing to append.",
            "give --content TEXT",
        )
        .into());
    }
    if let Err(refusal) = text::check_entry(&params.content) {
        match polis.board_caller(&caller.id, Act::Write, board).await {
            Err(OpError::Refused(_)) => return Err(refusal.into()),
            may_write => may_write?,
        };
    }
    let by = polis.by(&caller);
    let at = Timestamp::from_millis(by.now);
    let entry = text::entry(
        &params.content,
        &caller,
        &at,
        polis.settings.boards.language,
    );
    let name = board.clone();
    let view = move |version| BoardChanged {
        board: name.clone(),
        version,
        merged: false,
    };
    add(polis, &caller, board, &entry, false, view).await
}

/// Appends a text to a board; a board that was never written starts with its template. `view` builds the response from
/// the new version.
pub(super) async fn add<V: Serialize>(
    polis: &Polis,
    caller: &Caller,
    board: &BoardName,
    added: &str,
    on_new_line: bool,
    view: impl Fn(u64) -> V + Send + Sync + 'static,
) -> Result<V, OpError> {
    let finish = Arc::new(move |(), receipt: &Receipt| view(receipt.board.unwrap_or_default()));
    let until = polis.deadline();
    loop {
        let by = polis.by(caller);
        let changes = text::decide_add(board, added.to_owned(), on_new_line, by)?;
        if let Some(answer) = polis.commit(changes, (), &finish).await? {
            return Ok(answer);
        }
        let loaded = polis.load_board(board).await?;
        text::refuse_add(&loaded.head, added, on_new_line, by)?;
        if loaded.head.version == 0 {
            let begun = format!("{}{added}", loaded.text);
            let changes =
                text::decide_whole(loaded.current(), begun, Action::Appended, Some(0), by)?;
            if let Some(answer) = polis.commit(changes, (), &finish).await? {
                return Ok(answer);
            }
        }
        polis.may_go_on(until)?;
    }
}
