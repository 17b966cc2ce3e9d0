//! What a decision about a board asks a store to write.

use super::name::BoardName;
use super::record::{Action, Lease};
use super::splice::Splice;

/// How a board's text changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// It becomes this.
    Whole(String),
    /// This is added to its end.
    Add {
        /// What.
        text: String,
        /// Whether a line end goes before it, if the text so far ends without one.
        on_new_line: bool,
    },
    /// A part is replaced. Decided on one version, so never without an expectation.
    Splice(Splice),
}

impl Change {
    /// What it puts into the text.
    pub fn text(&self) -> &str {
        match self {
            Self::Whole(text) | Self::Add { text, .. } => text,
            Self::Splice(splice) => &splice.text,
        }
    }
}

/// A change of a board's text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardWrite {
    /// The board.
    pub board: BoardName,
    /// The version it was decided on; `None` if any will do.
    pub expect: Option<u64>,
    /// The change.
    pub change: Change,
    /// What it is called in history.
    pub action: Action,
    /// The moment that leases are judged by (milliseconds).
    pub now: i64,
    /// How large the board may become, in bytes.
    pub limit: u64,
    /// How many versions history keeps.
    pub keep: u32,
}

/// A change of a board's lease.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LeaseWrite {
    /// The board.
    pub board: BoardName,
    /// The lease it was decided on, ended or not.
    pub was: Option<Lease>,
    /// The new one; `None` gives it back.
    pub lease: Option<Lease>,
}
