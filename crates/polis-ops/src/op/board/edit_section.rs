//! Operation behind the `whiteboard_section` tool: changes one section of a board and leaves every other byte
//! unchanged. Conflicts are detected on the board's version or on the section's digest; a stale edit can be
//! merged (three-way merge).

use polis_core::board::access::BoardAccess;
use polis_core::board::merge::{MergeResult, three_way_merge};
use polis_core::board::section::{parse_outline, section_digest};
use polis_core::board::section_edit::{SectionEdit, edit_section as edit, find_section};
use polis_core::board::{BoardName, VersionAction, write_rules};
use polis_core::refusal::BoardRefusal;
use polis_core::{Caller, Changeset, Refusal, RefusalCode};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::OpError;
use crate::loading::board_loading::LoadedBoard;
use crate::loading::board_loading::change_author;
use crate::loading::board_loading::check_board_access;
use crate::loading::board_loading::find_version_text;
use crate::loading::board_loading::load_board;
use crate::op::board::write_board::BoardChangeResult;
use crate::port::Receipt;
use crate::request::{AttemptFuture, Request};

/// An action on a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum SectionAction {
    /// Replace the text under the heading; creates the section if missing.
    Set,
    /// Append to the text under the heading; creates the section if missing.
    Append,
    /// Remove the section with its heading.
    Delete,
}

/// Parameters of `whiteboard_section`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SectionEditParams {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// The section's heading.
    pub title: String,
    /// The action.
    pub act: SectionAction,
    /// The text, for `set` and `append`.
    #[serde(default)]
    pub content: String,
    /// Which of several sections with that heading, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nth: Option<usize>,
    /// The board version you read; refused if the board has changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
    /// `sectionVersion` from `whiteboard_read`; changes elsewhere on the board then do not conflict.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_section: Option<String>,
    /// Merge with changes made since expectedVersion, if they do not overlap.
    #[serde(default)]
    pub merge: bool,
}

/// Sets, appends to or deletes a section. Fails with `VersionConflict` if the board or the section is not the
/// expected version and the edit is not to be merged, or cannot be.
pub async fn edit_section(
    request: &Request,
    params: &SectionEditParams,
) -> Result<BoardChangeResult, OpError> {
    let board = &params.board;
    let caller = &check_board_access(request, BoardAccess::Write, board).await?;
    let decide = || -> AttemptFuture<'_, _> {
        Box::pin(async move {
            let loaded = load_board(&request.app, board).await?;
            let (merged, changes) =
                decide_section_edit(&request.app, &loaded, caller, params).await?;
            Ok(((merged, loaded.head.version), changes))
        })
    };
    let board = board.clone();
    let view = move |(merged, previous_version), receipt: &Receipt| BoardChangeResult {
        board: board.clone(),
        version: receipt.board.unwrap_or(previous_version),
        merged,
    };
    request.retry_on_conflict(decide, view).await
}

async fn decide_section_edit(
    app: &App,
    loaded: &LoadedBoard,
    caller: &Caller,
    params: &SectionEditParams,
) -> Result<(bool, Changeset), OpError> {
    let context = change_author(app, caller);
    let act = match params.act {
        SectionAction::Set => SectionEdit::Set(&params.content),
        SectionAction::Append => SectionEdit::Append(&params.content),
        SectionAction::Delete => SectionEdit::Delete,
    };
    if let Some(expected) = &params.expected_section {
        check_expected_section(loaded, params, expected)?;
    }
    let version = loaded.head.version;
    if let Some(expected) = params.expected_version.filter(|v| *v != version) {
        let base = find_version_text(app, &params.board, expected).await?;
        let base = base.filter(|_| expected < version);
        let (Some(base), true) = (&base, params.merge) else {
            return Err(write_rules::version_conflict(
                loaded.current(),
                expected,
                base.as_deref().map(String::as_str),
            )
            .into());
        };
        let edited = edit(base, &params.title, params.nth, act)?.apply(base);
        return match three_way_merge(base, &loaded.text, &edited) {
            MergeResult::Clean(merged) => {
                let current = loaded.current();
                let changes = write_rules::decide_replace_text(
                    current,
                    merged,
                    VersionAction::Edited,
                    Some(version),
                    context,
                )?;
                Ok((true, changes))
            }
            MergeResult::Conflict(conflict_text) => {
                Err(
                    write_rules::merge_conflict(loaded.current(), expected, base, conflict_text)
                        .into(),
                )
            }
        };
    }
    let splice = edit(&loaded.text, &params.title, params.nth, act)?;
    Ok((
        false,
        write_rules::decide_splice_text(loaded.current(), splice, context)?,
    ))
}

/// Expected section version that means "the section does not exist".
const ABSENT_SECTION: &str = "absent";

/// Fails with a version conflict if the section is not the one that the caller has read.
fn check_expected_section(
    loaded: &LoadedBoard,
    params: &SectionEditParams,
    expected: &str,
) -> Result<(), Refusal> {
    let outline = parse_outline(&loaded.text);
    let found = find_section(&loaded.text, &outline, &params.title, params.nth);
    let digest = match found {
        Ok(section) => section_digest(&loaded.text, section),
        Err(refusal) if refusal.code == RefusalCode::SECTION_NOT_FOUND => ABSENT_SECTION.to_owned(),
        Err(refusal) => return Err(refusal),
    };
    if digest == expected {
        return Ok(());
    }
    let mut refusal = write_rules::version_conflict(loaded.current(), loaded.head.version, None);
    let board = params.board.to_string();
    let changed = match digest.as_str() {
        ABSENT_SECTION => BoardRefusal::SectionRemoved { board },
        _ => BoardRefusal::SectionChanged { board, digest },
    };
    refusal.reason = Refusal::from(changed).reason;
    Err(refusal)
}
