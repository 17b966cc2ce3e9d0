//! Operation behind the `whiteboard_read` tool: returns a board, one of its sections, or a byte range of either.

use std::sync::Arc;

use polis_core::board::BoardName;
use polis_core::board::access::Act;
use polis_core::board::edit::find;
use polis_core::board::section::{outline, section_digest};
use polis_core::{AgentId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::board_loading::Loaded;
use super::text_range::window;
use crate::error::OpError;
use crate::polis::Polis;
use crate::port::{BoardState, Noticed};

/// The parameters of `whiteboard_read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BoardRead {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// Answer without the text if the board is still at this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_newer_than: Option<u64>,
    /// Only the section under this heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Which of several sections with that heading, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nth: Option<usize>,
    /// Where to begin, in bytes: `nextOffset` of the part before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// About how many bytes to answer; all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

impl BoardRead {
    /// Creates a request for the whole board.
    pub fn of(board: BoardName) -> Self {
        Self {
            board,
            if_newer_than: None,
            section: None,
            nth: None,
            offset: None,
            max_bytes: None,
        }
    }
}

/// A board, or a section of it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoardView {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// Its version; 0 while nobody has written to it, and its text is the template's.
    pub version: u64,
    /// Its text; left out if it is unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Arc<String>>,
    /// Who changed it last.
    pub last_modified_by: Option<String>,
    /// When.
    pub last_modified_at: Option<Timestamp>,
    /// Whether it is still at the version the caller has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<bool>,
    /// The section's heading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// The version of the section alone: what `section` operations can be bound to.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section_version: Option<String>,
    /// How many bytes there are, if only a part is answered.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Where the next part begins; left out at the end.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// Who has it locked.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked_by: Option<String>,
    /// Until when.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked_until: Option<Timestamp>,
    /// What was noticed about its file just now.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<Notice>,
}

/// What may be noticed about a board's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum Notice {
    /// It was changed outside of polis; that change is the current version.
    ChangedOutside,
    /// It was gone, and was written again from the store.
    FileRestored,
}

impl From<Noticed> for Notice {
    fn from(noticed: Noticed) -> Self {
        match noticed {
            Noticed::ChangedOutside => Self::ChangedOutside,
            Noticed::FileRestored => Self::FileRestored,
        }
    }
}

/// Reads a board. The content is omitted if the caller already has the current version (`if_newer_than`).
pub async fn read_board(
    polis: &Polis,
    caller: &AgentId,
    params: &BoardRead,
) -> Result<BoardView, OpError> {
    let board = &params.board;
    polis.board_caller(caller, Act::Read, board).await?;
    let now = polis.clock.now_millis();
    if let Some(seen) = params.if_newer_than {
        let state = polis.board_state(board).await?;
        if state.head.version <= seen {
            let mut view = BoardView::of(&state, now);
            view.unchanged = Some(true);
            return Ok(view);
        }
    }
    let loaded = polis.load_board(board).await?;
    let mut view = BoardView::of(&loaded.state(), now);
    let text = match &params.section {
        None => loaded.text,
        Some(title) => {
            let outline = outline(&loaded.text);
            let section = find(&loaded.text, &outline, title, params.nth)?;
            let body = loaded.text.get(section.heading.end..section.end);
            let body = body.unwrap_or_default().trim_matches(['\n', '\r']);
            view.section_version = Some(section_digest(&loaded.text, section));
            view.section = Some(section.title.clone());
            Arc::new(body.to_owned())
        }
    };
    let part = window(text, params.offset, params.max_bytes);
    view.content = Some(part.text);
    view.size = part.size;
    view.next_offset = part.next;
    Ok(view)
}

impl Loaded {
    fn state(&self) -> BoardState {
        BoardState {
            head: self.head.clone(),
            noticed: self.noticed,
        }
    }
}

impl BoardView {
    fn of(state: &BoardState, now: i64) -> Self {
        let head = &state.head;
        let written = head.version > 0;
        let lease = head.lease_at(now);
        Self {
            board: head.name.clone(),
            version: head.version,
            content: None,
            last_modified_by: written.then(|| head.by.clone()),
            last_modified_at: written.then(|| head.at.clone()),
            unchanged: None,
            section: None,
            section_version: None,
            size: None,
            next_offset: None,
            locked_by: lease.map(|lease| lease.holder.to_string()),
            locked_until: lease.map(|lease| Timestamp::from_millis(lease.until)),
            notice: state.noticed.map(Notice::from),
        }
    }
}
