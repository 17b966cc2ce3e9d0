//! Board records: the head of a board, and the change log that every version is reconstructed from.
//!
//! A version is a number, incremented by every change. An append adds a row of a few bytes to the log,
//! regardless of the board's size. A version's text is reconstructed by applying the rows up to it, starting at
//! the last row that contains a whole text.

use schemars::JsonSchema;
use serde::Serialize;

use super::board_write::{BoardWrite, Change, LeaseWrite};
use super::name::BoardName;
use super::splice::Splice;
use crate::id::AgentId;
use crate::time::Timestamp;

/// Current state of a board, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardHead {
    /// Its name.
    pub name: BoardName,
    /// Number of changes; 0 if it was only locked so far.
    pub version: u64,
    /// Size of its text, in bytes.
    pub bytes: u64,
    /// Whether its text ends with a line end, or is empty.
    pub ends_line: bool,
    /// Author of the last change.
    pub by: String,
    /// Time of the last change.
    pub at: Timestamp,
    /// The newest version that the log contains as a whole text.
    pub base: u64,
    /// Number of splices after it; a reader has to apply them all.
    pub splices: u32,
    /// Its current lock.
    pub lease: Option<Lease>,
}

/// A lock that expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// The holder.
    pub holder: AgentId,
    /// Needed to release or renew it.
    pub token: String,
    /// When it expires (milliseconds).
    pub until: i64,
}

/// What a version was made by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Action {
    /// The whole text was written.
    Written,
    /// Something was added to its end.
    Appended,
    /// A part was changed.
    Edited,
    /// An older version was brought back.
    Restored,
    /// The file was changed by something else than polis.
    External,
}

impl Action {
    const ALL: [Self; 5] = [
        Self::Written,
        Self::Appended,
        Self::Edited,
        Self::Restored,
        Self::External,
    ];

    /// Returns the action's name in a store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Appended => "appended",
            Self::Edited => "edited",
            Self::Restored => "restored",
            Self::External => "external",
        }
    }

    /// Returns the action with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|a| a.as_str() == name)
    }
}

/// A version in a board's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct VersionEntry {
    /// Its number.
    pub version: u64,
    /// Who made it.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// The size of the board's text then.
    pub bytes: u64,
    /// What was done.
    pub action: Action,
}

/// A change as a row of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Logged {
    /// A whole text.
    Whole(String),
    /// Text appended to the end.
    Added(String),
    /// A replaced range.
    Spliced(Splice),
}

impl Logged {
    /// Returns the row kind's name in a store.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Whole(_) => "whole",
            Self::Added(_) => "added",
            Self::Spliced(_) => "spliced",
        }
    }

    /// Returns the row's text.
    pub fn text(&self) -> &str {
        match self {
            Self::Whole(text) | Self::Added(text) => text,
            Self::Spliced(splice) => &splice.text,
        }
    }

    /// Returns the start and the removed length of a splice; zeros for the other kinds.
    pub fn place(&self) -> (u64, u64) {
        match self {
            Self::Whole(_) | Self::Added(_) => (0, 0),
            Self::Spliced(splice) => (splice.start as u64, splice.removed as u64),
        }
    }

    /// Creates a row from stored columns.
    pub fn from_stored(kind: &str, start: u64, removed: u64, text: String) -> Option<Self> {
        match kind {
            "whole" => Some(Self::Whole(text)),
            "added" => Some(Self::Added(text)),
            "spliced" => Some(Self::Spliced(Splice {
                start: usize::try_from(start).ok()?,
                removed: usize::try_from(removed).ok()?,
                text,
            })),
            _ => None,
        }
    }

    /// Applies the row to the text of the previous version. Returns `None` if it does not fit: the log is
    /// corrupt.
    pub fn apply(self, text: &mut String) -> Option<()> {
        match self {
            Self::Whole(whole) => *text = whole,
            Self::Added(added) => text.push_str(&added),
            Self::Spliced(splice) => {
                let end = splice.start.checked_add(splice.removed)?;
                text.get(splice.start..end)?;
                text.replace_range(splice.start..end, &splice.text);
            }
        }
        Some(())
    }
}

impl BoardHead {
    /// Creates the head of a board without any version.
    pub fn new(name: BoardName) -> Self {
        Self {
            name,
            version: 0,
            bytes: 0,
            ends_line: true,
            by: String::new(),
            at: Timestamp::from_millis(0),
            base: 0,
            splices: 0,
            lease: None,
        }
    }

    /// Returns the lease if it has not expired at this time.
    pub fn lease_at(&self, now: i64) -> Option<&Lease> {
        self.lease.as_ref().filter(|lease| lease.until > now)
    }

    /// Returns whether a change may be applied: no other agent holds the lock, the board is at the version the
    /// change was decided on, and the result is not too large. Otherwise it is a conflict, and the operation
    /// decides again.
    pub fn admits(&self, write: &BoardWrite, actor: &AgentId) -> bool {
        let free = self
            .lease_at(write.now)
            .is_none_or(|lease| lease.holder == *actor);
        let expected = write.expect.is_none_or(|version| version == self.version);
        // Only a whole text can be the first version, because a board begins with its template.
        let begun = self.version > 0 || matches!(write.change, Change::Whole(_));
        free && expected && begun && self.size_after(&write.change) <= write.limit
    }

    fn size_after(&self, change: &Change) -> u64 {
        match change {
            Change::Whole(text) => text.len() as u64,
            Change::Add { text, on_new_line } => {
                self.bytes + text.len() as u64 + u64::from(*on_new_line && !self.ends_line)
            }
            Change::Splice(splice) => {
                (self.bytes + splice.text.len() as u64).saturating_sub(splice.removed as u64)
            }
        }
    }

    /// Applies a change that [`admits`](Self::admits) accepted: updates the head and returns the row for the
    /// log.
    pub fn change(&mut self, change: Change, by: &str, at: &Timestamp) -> Logged {
        self.bytes = self.size_after(&change);
        self.version += 1;
        by.clone_into(&mut self.by);
        self.at = at.clone();
        match change {
            Change::Whole(text) => {
                self.ends_line = text.is_empty() || text.ends_with('\n');
                self.base = self.version;
                self.splices = 0;
                Logged::Whole(text)
            }
            Change::Add { text, on_new_line } => {
                let text = if on_new_line && !self.ends_line {
                    format!("\n{text}")
                } else {
                    text
                };
                if !text.is_empty() {
                    self.ends_line = text.ends_with('\n');
                }
                Logged::Added(text)
            }
            // A splice that touches the end of the text determines how it ends; see `text::decide_splice`.
            Change::Splice(splice) => {
                let at_end = splice.start as u64 + splice.text.len() as u64 == self.bytes;
                if at_end && !splice.text.is_empty() {
                    self.ends_line = splice.text.ends_with('\n');
                }
                self.splices += 1;
                Logged::Spliced(splice)
            }
        }
    }

    /// Returns whether the lease may be changed: it is still the one that was decided on.
    pub fn admits_lease(&self, write: &LeaseWrite) -> bool {
        self.lease.as_ref().map(|l| (&l.token, l.until))
            == write.was.as_ref().map(|l| (&l.token, l.until))
    }

    /// Returns the oldest version that the history keeps.
    pub fn oldest_kept(&self, keep: u32) -> u64 {
        (self.version + 1)
            .saturating_sub(u64::from(keep.max(1)))
            .max(1)
    }
}
