//! A board as stores keep it: a head, and a log of changes from which every version is put together.
//!
//! A version is a number: one more with every change. An append adds a row of a few bytes to the log
//! whatever the board's size; a version is what the log says up to it, beginning at the last row
//! that holds a whole text.

use schemars::JsonSchema;
use serde::Serialize;

use super::board_write::{BoardWrite, Change, LeaseWrite};
use super::name::BoardName;
use super::splice::Splice;
use crate::id::AgentId;
use crate::time::Timestamp;

/// Where a board stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BoardHead {
    /// Its name.
    pub name: BoardName,
    /// How often it was changed; 0 if it was only locked so far.
    pub version: u64,
    /// The size of its text.
    pub bytes: u64,
    /// Whether its text ends with a line end, or is empty.
    pub ends_line: bool,
    /// Who changed it last.
    pub by: String,
    /// When.
    pub at: Timestamp,
    /// The newest version that the log holds whole.
    pub base: u64,
    /// How many splices came after it; a reader has to apply them all.
    pub splices: u32,
    /// Who has it locked.
    pub lease: Option<Lease>,
}

/// A lock that ends by itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Lease {
    /// Who holds it.
    pub holder: AgentId,
    /// What gives it back.
    pub token: String,
    /// When it ends (milliseconds).
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

    /// The action as stores keep it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Written => "written",
            Self::Appended => "appended",
            Self::Edited => "edited",
            Self::Restored => "restored",
            Self::External => "external",
        }
    }

    /// The action of this name.
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
    /// What was added to the end.
    Added(String),
    /// What was changed in the middle.
    Spliced(Splice),
}

impl Logged {
    /// How stores name the three.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Whole(_) => "whole",
            Self::Added(_) => "added",
            Self::Spliced(_) => "spliced",
        }
    }

    /// The row's text.
    pub fn text(&self) -> &str {
        match self {
            Self::Whole(text) | Self::Added(text) => text,
            Self::Spliced(splice) => &splice.text,
        }
    }

    /// Where a splice begins and how much it takes out; nothing for the others.
    pub fn place(&self) -> (u64, u64) {
        match self {
            Self::Whole(_) | Self::Added(_) => (0, 0),
            Self::Spliced(splice) => (splice.start as u64, splice.removed as u64),
        }
    }

    /// The row that a store kept.
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

    /// Brings a text one version further. `None` if the row does not fit the text: a damaged log.
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
    /// A board that nobody has written to.
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

    /// The lease that binds others at this moment.
    pub fn lease_at(&self, now: i64) -> Option<&Lease> {
        self.lease.as_ref().filter(|lease| lease.until > now)
    }

    /// Whether a change may be applied: nobody else has the board locked, it is at the version the
    /// change was decided on, and the result is not too large. What does not hold is a conflict, and
    /// the one who decided looks again.
    pub fn admits(&self, write: &BoardWrite, actor: &AgentId) -> bool {
        let free = self
            .lease_at(write.now)
            .is_none_or(|lease| lease.holder == *actor);
        let expected = write.expect.is_none_or(|version| version == self.version);
        // Adding to nothing is not what was decided: a board begins with its template.
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

    /// Applies a change that [`admits`](Self::admits) let through: the new head, and the row of the
    /// log that makes it so.
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
            // A splice says how the text ends if it touches its end; see `text::decide_splice`.
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

    /// Whether a lease may be changed: it is the one that was decided on.
    pub fn admits_lease(&self, write: &LeaseWrite) -> bool {
        self.lease.as_ref().map(|l| (&l.token, l.until))
            == write.was.as_ref().map(|l| (&l.token, l.until))
    }

    /// The oldest version that history still shows.
    pub fn oldest_kept(&self, keep: u32) -> u64 {
        (self.version + 1)
            .saturating_sub(u64::from(keep.max(1)))
            .max(1)
    }
}
