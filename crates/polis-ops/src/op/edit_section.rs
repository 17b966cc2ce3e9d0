//! Operation behind the `whiteboard_section` tool: changes one section of a board and leaves every other byte
//! unchanged. Conflicts are detected on the board's version or on the section's digest; a stale edit can be merged
//! (three-way merge).

use polis_core::board::access::Act;
use polis_core::board::edit::{SectionEdit, edit_section as edit, find};
use polis_core::board::merge::{Merged, merge};
use polis_core::board::section::{outline, section_digest};
use polis_core::board::{Action, BoardName, text};
use polis_core::{AgentId, Caller, Changeset, Code, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::board_loading::Loaded;
use super::write_board::BoardChanged;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::Receipt;

/// What to do to a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SectionAct {
    /// Replace what stands under its heading; a missing section is added.
    Set,
    /// Add to what stands under its heading; a missing section is added.
    Append,
    /// Remove it with its heading.
    Delete,
}

/// The parameters of `whiteboard_section`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SectionChange {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The section's heading.
    pub title: String,
    /// What to do.
    pub act: SectionAct,
    /// The text, for `set` and `append`.
    #[serde(default)]
    pub content: String,
    /// Which of several sections with that heading, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nth: Option<usize>,
    /// The version of the board you read; refused if the board has changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
    /// The section's own version, `sectionVersion` of `whiteboard_read`: changes elsewhere on the board are no conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_section: Option<String>,
    /// Merge with what changed since expectedVersion, if that does not overlap.
    #[serde(default)]
    pub merge: bool,
}

/// Sets, appends to or deletes a section.
pub async fn edit_section(
    polis: &Polis,
    caller: &AgentId,
    params: &SectionChange,
) -> Result<BoardChanged, OpError> {
    let board = &params.board;
    let caller = &polis.board_caller(caller, Act::Write, board).await?;
    let decide = || -> Attempt<'_, _> {
        Box::pin(async move {
            let loaded = polis.load_board(board).await?;
            let (merged, changes) = attempt(polis, &loaded, caller, params).await?;
            Ok(((merged, loaded.head.version), changes))
        })
    };
    let board = board.clone();
    let view = move |(merged, before), receipt: &Receipt| BoardChanged {
        board: board.clone(),
        version: receipt.board.unwrap_or(before),
        merged,
    };
    polis.settle(decide, view).await
}

async fn attempt(
    polis: &Polis,
    loaded: &Loaded,
    caller: &Caller,
    params: &SectionChange,
) -> Result<(bool, Changeset), OpError> {
    let by = polis.by(caller);
    let act = match params.act {
        SectionAct::Set => SectionEdit::Set(&params.content),
        SectionAct::Append => SectionEdit::Append(&params.content),
        SectionAct::Delete => SectionEdit::Delete,
    };
    if let Some(expected) = &params.expected_section {
        check_section(loaded, params, expected)?;
    }
    let version = loaded.head.version;
    if let Some(expected) = params.expected_version.filter(|v| *v != version) {
        let had = polis.text_had(&params.board, expected).await?;
        let had = had.filter(|_| expected < version);
        let (Some(had), true) = (&had, params.merge) else {
            return Err(text::conflict(
                loaded.current(),
                expected,
                had.as_deref().map(String::as_str),
            )
            .into());
        };
        let yours = edit(had, &params.title, params.nth, act)?.apply(had);
        return match merge(had, &loaded.text, &yours) {
            Merged::Clean(merged) => {
                let current = loaded.current();
                let changes =
                    text::decide_whole(current, merged, Action::Edited, Some(version), by)?;
                Ok((true, changes))
            }
            Merged::Conflict(marked) => {
                Err(text::merge_conflict(loaded.current(), expected, had, marked).into())
            }
        };
    }
    let splice = edit(&loaded.text, &params.title, params.nth, act)?;
    Ok((false, text::decide_splice(loaded.current(), splice, by)?))
}

/// Expected section version that means "the section does not exist".
const ABSENT: &str = "absent";

/// Fails with a version conflict if the section is not the one that the caller has read.
fn check_section(loaded: &Loaded, params: &SectionChange, expected: &str) -> Result<(), Refusal> {
    let outline = outline(&loaded.text);
    let found = find(&loaded.text, &outline, &params.title, params.nth);
    let digest = match found {
        Ok(section) => section_digest(&loaded.text, section),
        Err(refusal) if refusal.code == Code::SectionNotFound => ABSENT.to_owned(),
        Err(refusal) => return Err(refusal),
    };
    if digest == expected {
        return Ok(());
    }
    let mut refusal = text::conflict(loaded.current(), loaded.head.version, None);
    let now = match digest.as_str() {
        ABSENT => "there is none of that name now".to_owned(),
        digest => format!("it is at {digest} now"),
    };
    refusal.message = format!(
        "Version conflict on board {}: the section is not as you read it ({now}).",
        params.board
    );
    "read the section again with `--section`, apply your change to it and retry"
        .clone_into(&mut refusal.hint);
    Err(refusal)
}
