//! Board writes of a changeset: changes of a board's text and of its lease.
//!
//! A store applies them only if the [`BoardHead`](super::board_record::BoardHead) admits them, and reports a
//! conflict otherwise.

use super::board_name::BoardName;
use super::board_record::{BoardLease, VersionAction};
use super::splice::TextSplice;

/// A change of a board's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardChange {
    /// Replaces the whole text.
    Whole(String),
    /// Appends to the text.
    Add {
        /// The text to append.
        text: String,
        /// Whether a line end is inserted first, if the current text does not end with one.
        on_new_line: bool,
    },
    /// Replaces a part. It is decided on one version, so it always has an expected version.
    Splice(TextSplice),
}

impl BoardChange {
    /// Returns the text that it inserts.
    pub fn inserted_text(&self) -> &str {
        match self {
            Self::Whole(text) | Self::Add { text, .. } => text,
            Self::Splice(splice) => &splice.text,
        }
    }
}

/// A write to a board's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardWrite {
    /// Name of the board to write.
    pub board: BoardName,
    /// The version it was decided on; `None` if it applies to any version.
    pub expect: Option<u64>,
    /// How the text changes.
    pub change: BoardChange,
    /// How the history lists the change.
    pub action: VersionAction,
    /// The time that leases are compared with (milliseconds).
    pub now: i64,
    /// Maximum size of the board, in bytes.
    pub max_bytes: u64,
    /// Number of versions that the history keeps.
    pub max_versions: u32,
}

/// A write to a board's lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardLeaseWrite {
    /// Name of the board to lock or unlock.
    pub board: BoardName,
    /// The lease it was decided on, expired or not.
    pub expected: Option<BoardLease>,
    /// The new lease; `None` releases it.
    pub lease: Option<BoardLease>,
}
