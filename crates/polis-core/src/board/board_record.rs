//! Board records: the head of a board (its current version, size, author and lease, without the text), and
//! the change log from which the text of every version is reconstructed.
//!
//! A version is a number, incremented by every change. An append adds a row with only the appended text to
//! the log, regardless of the board's size. A version's text is reconstructed by applying the rows up to it,
//! starting at the last row that contains a whole text. The head decides whether a write is admitted.

use schemars::JsonSchema;
use serde::Serialize;

use super::board_name::BoardName;
use super::board_write::{BoardChange, BoardLeaseWrite, BoardWrite};
use super::splice::TextSplice;
use crate::id::AgentId;
use crate::timestamp::Timestamp;

/// Current state of a board, without its text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardHead {
    /// Name of the board.
    pub name: BoardName,
    /// Number of changes; 0 if it was only locked so far.
    pub version: u64,
    /// Size of its text, in bytes.
    pub bytes: u64,
    /// Whether its text ends with a line end, or is empty.
    pub ends_line: bool,
    /// Author of the last change.
    pub modified_by: String,
    /// Time of the last change.
    pub modified_at: Timestamp,
    /// The newest version that the log contains as a whole text.
    pub base_version: u64,
    /// Number of splices after it; a reader has to apply them all.
    pub splices: u32,
    /// Current lease, expired or not.
    pub lease: Option<BoardLease>,
}

/// A lease on a board: a lock that expires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardLease {
    /// The agent that holds the lock.
    pub holder: AgentId,
    /// Secret needed to release or renew the lease.
    pub token: String,
    /// When it expires (milliseconds).
    pub until: i64,
}

/// Kind of change that made a version.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum VersionAction {
    /// The whole text was written.
    Written,
    /// Text was appended.
    Appended,
    /// A part was changed.
    Edited,
    /// An older version was restored.
    Restored,
    /// The file was changed by a program other than polis.
    External,
}

impl VersionAction {
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
    /// Version number.
    pub version: u64,
    /// Author of the version.
    pub by: String,
    /// When it was written.
    pub at: Timestamp,
    /// Size of the board's text in this version, in bytes.
    pub bytes: u64,
    /// Kind of change.
    pub action: VersionAction,
}

/// A change as a row of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BoardLogRow {
    /// A whole text, which does not depend on earlier rows.
    Whole(String),
    /// Text appended to the end.
    Added(String),
    /// A replaced byte range.
    Spliced(TextSplice),
}

impl BoardLogRow {
    /// Returns the row kind's name in a store.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Whole(_) => "whole",
            Self::Added(_) => "added",
            Self::Spliced(_) => "spliced",
        }
    }

    /// Returns the text that the row stores.
    pub fn text(&self) -> &str {
        match self {
            Self::Whole(text) | Self::Added(text) => text,
            Self::Spliced(splice) => &splice.text,
        }
    }

    /// Returns the start and the removed length of a splice; zeros for the other kinds.
    pub fn splice_range(&self) -> (u64, u64) {
        match self {
            Self::Whole(_) | Self::Added(_) => (0, 0),
            Self::Spliced(splice) => (splice.start as u64, splice.removed as u64),
        }
    }

    /// Creates a row from stored columns. Returns `None` if the kind or a number is invalid.
    pub fn from_stored(kind: &str, start: u64, removed: u64, text: String) -> Option<Self> {
        match kind {
            "whole" => Some(Self::Whole(text)),
            "added" => Some(Self::Added(text)),
            "spliced" => Some(Self::Spliced(TextSplice {
                start: usize::try_from(start).ok()?,
                removed: usize::try_from(removed).ok()?,
                text,
            })),
            _ => None,
        }
    }

    /// Applies the row to the text of the previous version. Returns `None` if it does not fit: the log is
    /// corrupt.
    pub fn apply_to(self, text: &mut String) -> Option<()> {
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
            modified_by: String::new(),
            modified_at: Timestamp::from_millis(0),
            base_version: 0,
            splices: 0,
            lease: None,
        }
    }

    /// Returns the lease if it has not expired at this time.
    pub fn active_lease(&self, now: i64) -> Option<&BoardLease> {
        self.lease.as_ref().filter(|lease| lease.until > now)
    }

    /// Returns whether a change may be applied: no other agent holds the lock, the board is at the version
    /// the change was decided on, and the result is not too large. Otherwise it is a conflict, and the
    /// operation decides again.
    pub fn admits_write(&self, write: &BoardWrite, actor: &AgentId) -> bool {
        let free = self
            .active_lease(write.now)
            .is_none_or(|lease| lease.holder == *actor);
        let expected = write.expect.is_none_or(|version| version == self.version);
        // Only a whole text can be the first version, because a board begins with its template.
        let initialized = self.version > 0 || matches!(write.change, BoardChange::Whole(_));
        free && expected && initialized && self.size_after(&write.change) <= write.max_bytes
    }

    fn size_after(&self, change: &BoardChange) -> u64 {
        match change {
            BoardChange::Whole(text) => text.len() as u64,
            BoardChange::Add { text, on_new_line } => {
                self.bytes + text.len() as u64 + u64::from(*on_new_line && !self.ends_line)
            }
            BoardChange::Splice(splice) => {
                (self.bytes + splice.text.len() as u64).saturating_sub(splice.removed as u64)
            }
        }
    }

    /// Applies a change that [`admits_write`](Self::admits_write) accepted: updates the head and returns the
    /// row for the log.
    pub fn apply_change(
        &mut self,
        change: BoardChange,
        author: &str,
        at: &Timestamp,
    ) -> BoardLogRow {
        self.bytes = self.size_after(&change);
        self.version += 1;
        author.clone_into(&mut self.modified_by);
        self.modified_at = at.clone();
        match change {
            BoardChange::Whole(text) => {
                self.ends_line = text.is_empty() || text.ends_with('\n');
                self.base_version = self.version;
                self.splices = 0;
                BoardLogRow::Whole(text)
            }
            BoardChange::Add { text, on_new_line } => {
                let text = if on_new_line && !self.ends_line {
                    format!("\n{text}")
                } else {
                    text
                };
                if !text.is_empty() {
                    self.ends_line = text.ends_with('\n');
                }
                BoardLogRow::Added(text)
            }
            // A splice that touches the end of the text determines how it ends; see `write_rules::decide_splice_text`.
            BoardChange::Splice(splice) => {
                let at_end = splice.start as u64 + splice.text.len() as u64 == self.bytes;
                if at_end && !splice.text.is_empty() {
                    self.ends_line = splice.text.ends_with('\n');
                }
                self.splices += 1;
                BoardLogRow::Spliced(splice)
            }
        }
    }

    /// Returns whether the lease may be changed: it is still the one that was decided on.
    pub fn admits_lease(&self, write: &BoardLeaseWrite) -> bool {
        self.lease.as_ref().map(|l| (&l.token, l.until))
            == write.expected.as_ref().map(|l| (&l.token, l.until))
    }

    /// Returns the oldest version that the history keeps.
    pub fn oldest_kept_version(&self, keep: u32) -> u64 {
        (self.version + 1)
            .saturating_sub(u64::from(keep.max(1)))
            .max(1)
    }
}
