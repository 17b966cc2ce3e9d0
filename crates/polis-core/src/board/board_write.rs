//! Writes to boards, as part of a changeset: changes of the text and of the lease.
//!
//! A store applies them only if the [`BoardHead`](super::record::BoardHead) admits them, and reports a conflict
//! otherwise.

use super::name::BoardName;
use super::record::{Action, Lease};
use super::splice::Splice;

/// A change of a board's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
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
    Splice(Splice),
}

impl Change {
    /// Returns the text that it inserts.
    pub fn text(&self) -> &str {
        match self {
            Self::Whole(text) | Self::Add { text, .. } => text,
            Self::Splice(splice) => &splice.text,
        }
    }
}

/// A write to a board's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardWrite {
    /// The board.
    pub board: BoardName,
    /// The version it was decided on; `None` if it applies to any version.
    pub expect: Option<u64>,
    /// The change.
    pub change: Change,
    /// Its action in the history.
    pub action: Action,
    /// The time that leases are compared with (milliseconds).
    pub now: i64,
    /// Maximum size of the board, in bytes.
    pub limit: u64,
    /// Number of versions that the history keeps.
    pub keep: u32,
}

/// A write to a board's lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseWrite {
    /// The board.
    pub board: BoardName,
    /// The lease it was decided on, expired or not.
    pub was: Option<Lease>,
    /// The new lease; `None` releases it.
    pub lease: Option<Lease>,
}
