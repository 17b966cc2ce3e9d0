//! Reads a board, one of its sections, or a byte range of either, with its version and lock (`whiteboard_read`,
//! and all other surfaces). The text is omitted if the caller already has this version.
//!
//! The store may first import an external edit of the board's file, or restore the file; the result says so.

use std::sync::Arc;

use polis_core::Timestamp;
use polis_core::board::BoardName;
use polis_core::board::access::BoardAccess;
use polis_core::board::section::{parse_outline, section_digest};
use polis_core::board::section_edit::find_section;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::loading::board_loading::LoadedBoard;
use crate::loading::board_loading::check_board_access;
use crate::loading::board_loading::load_board;
use crate::loading::board_loading::load_board_state;
use crate::port::{BoardFileChange, BoardState};
use crate::request::Request;
use crate::text_range::text_range;

/// Parameters of `whiteboard_read`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct BoardReadParams {
    /// The board: global, top, mid/ROLE or bottom/AGENT.
    pub board: BoardName,
    /// Omit the text if the board is still at this version.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub if_newer_than: Option<u64>,
    /// Only the section under this heading.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Which of several sections with that heading, from 1.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub nth: Option<usize>,
    /// Start offset in bytes: `nextOffset` of the previous part.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
    /// Approximate number of bytes to return; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub max_bytes: Option<u64>,
}

impl BoardReadParams {
    /// Creates a request for the whole board.
    pub fn for_board(board: BoardName) -> Self {
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
    /// Its version; 0 if it was never written, and its text is the template.
    pub version: u64,
    /// Its text; omitted if unchanged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub content: Option<Arc<String>>,
    /// Agent that changed it last.
    pub last_modified_by: Option<String>,
    /// When it was last changed.
    pub last_modified_at: Option<Timestamp>,
    /// Whether it is still at the version the caller has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub unchanged: Option<bool>,
    /// The section's heading.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section: Option<String>,
    /// Version of the section alone, for `expectedSection` of `whiteboard_section`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub section_version: Option<String>,
    /// Total size in bytes, if only a part is returned.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub size: Option<u64>,
    /// Offset of the next part; omitted for the last part.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next_offset: Option<u64>,
    /// Agent that holds its lock.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked_by: Option<String>,
    /// When the lock expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub locked_until: Option<Timestamp>,
    /// A change of its file that was just detected.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<BoardFileNotice>,
}

/// A detected change of a board's file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "kebab-case")]
pub enum BoardFileNotice {
    /// Another program changed the file; its text is the current version.
    #[serde(rename = "changed-outside")]
    ExternalEdit,
    /// The file was missing and was restored from the store.
    FileRestored,
}

impl From<BoardFileChange> for BoardFileNotice {
    fn from(change: BoardFileChange) -> Self {
        match change {
            BoardFileChange::ExternalEdit => Self::ExternalEdit,
            BoardFileChange::FileRestored => Self::FileRestored,
        }
    }
}

/// Reads a board. The content is omitted if the caller already has the current version (`if_newer_than`). Fails
/// with `permission_denied` if the caller may not read the board, and with `section_not_found` or
/// `ambiguous_section` if no section or several match.
pub async fn read_board(request: &Request, params: &BoardReadParams) -> Result<BoardView, OpError> {
    let board = &params.board;
    check_board_access(request, BoardAccess::Read, board).await?;
    let now = request.app.clock.now_millis();
    if let Some(known_version) = params.if_newer_than {
        let state = load_board_state(&request.app, board).await?;
        if state.head.version <= known_version {
            let mut view = BoardView::from_state(&state, now);
            view.unchanged = Some(true);
            return Ok(view);
        }
    }
    let loaded = load_board(&request.app, board).await?;
    let mut view = BoardView::from_state(&loaded.to_board_state(), now);
    let text = match &params.section {
        None => loaded.text,
        Some(title) => {
            let outline = parse_outline(&loaded.text);
            let section = find_section(&loaded.text, &outline, title, params.nth)?;
            let body = loaded.text.get(section.heading.end..section.end);
            let body = body.unwrap_or_default().trim_matches(['\n', '\r']);
            view.section_version = Some(section_digest(&loaded.text, section));
            view.section = Some(section.title.clone());
            Arc::new(body.to_owned())
        }
    };
    let part = text_range(text, params.offset, params.max_bytes);
    view.content = Some(part.text);
    view.size = part.total_size;
    view.next_offset = part.next_offset;
    Ok(view)
}

impl LoadedBoard {
    fn to_board_state(&self) -> BoardState {
        BoardState {
            head: self.head.clone(),
            file_change: self.file_change,
        }
    }
}

impl BoardView {
    fn from_state(state: &BoardState, now: i64) -> Self {
        let head = &state.head;
        let is_written = head.version > 0;
        let lease = head.active_lease(now);
        Self {
            board: head.name.clone(),
            version: head.version,
            content: None,
            last_modified_by: is_written.then(|| head.modified_by.clone()),
            last_modified_at: is_written.then(|| head.modified_at.clone()),
            unchanged: None,
            section: None,
            section_version: None,
            size: None,
            next_offset: None,
            locked_by: lease.map(|lease| lease.holder.to_string()),
            locked_until: lease.map(|lease| Timestamp::from_millis(lease.until)),
            notice: state.file_change.map(BoardFileNotice::from),
        }
    }
}
