//! The board part of `plan`: decides what a batch changes on boards.
//!
//! Unlike other writes, one changeset may change the same board several times, and each change sees the ones
//! before it. A changeset's changes are therefore staged while conflicts are checked, and kept if there is
//! none.

use std::collections::{BTreeMap, HashMap};

use polis_core::board::{Action, BoardHead, BoardName, BoardWrite, LeaseWrite, Logged};
use polis_core::{RecordKey, Timestamp};
use polis_ops::PortError;

use crate::board_row::HeadRow;
use crate::prepared::Prepared;
use crate::row::{bound, number};

/// Placeholder for the file mtime; PostgreSQL boards have no files.
const NO_STAMP: i64 = 0;

/// State of a board while a batch is decided.
#[derive(Debug, Clone)]
struct Standing {
    head: BoardHead,
    /// The head as columns.
    row: HeadRow,
    /// The oldest version that history has to contain; 0 if the batch does not change it.
    oldest: u64,
    /// Whether the batch wrote a whole text.
    rewritten: bool,
}

impl Standing {
    fn new(name: &BoardName) -> Result<Self, PortError> {
        let head = BoardHead::new(name.clone());
        Ok(Self {
            row: HeadRow::of(&head, 0, NO_STAMP)?,
            head,
            oldest: 0,
            rewritten: false,
        })
    }

    fn read(row: &HeadRow) -> Result<Self, PortError> {
        Ok(Self {
            head: row.clone().head()?,
            row: row.clone(),
            oldest: 0,
            rewritten: false,
        })
    }

    /// Whether the log may contain rows that no version in history needs.
    ///
    /// The rows that history needs start at the newest whole text that is not newer than the oldest version.
    /// It is searched only when a whole text was written, or when it is the newest whole text: rows may stay
    /// for a few versions longer, and an append never searches the log.
    fn has_superfluous_rows(&self) -> bool {
        let (base, oldest) = (bound(self.head.base), bound(self.oldest));
        if base <= oldest {
            self.row.floor < base
        } else {
            self.rewritten && self.row.floor < oldest
        }
    }
}

/// A row to be added to a board's log.
#[derive(Debug)]
pub(super) struct LogChange<'a> {
    pub(super) board: String,
    pub(super) version: i64,
    pub(super) bytes: i64,
    pub(super) action: Action,
    pub(super) by: &'a str,
    pub(super) at: &'a str,
    pub(super) start: i64,
    pub(super) removed: i64,
    pub(super) logged: Logged,
}

/// Log rows of a board that may be deleted.
#[derive(Debug)]
pub(super) struct Superfluous<'a> {
    pub(super) board: &'a str,
    /// The oldest version in the log.
    pub(super) floor: i64,
    /// The oldest version that history has to contain.
    pub(super) oldest: i64,
}

/// Board changes of one changeset.
#[derive(Debug, Default)]
pub(super) struct Staged<'a> {
    standing: BTreeMap<String, Standing>,
    log: Vec<LogChange<'a>>,
}

/// Board changes of a batch.
#[derive(Debug, Default)]
pub(super) struct BoardPlan<'a> {
    found: HashMap<String, HeadRow>,
    changed: Staged<'a>,
}

impl<'a> BoardPlan<'a> {
    pub(super) fn on(found: HashMap<String, HeadRow>) -> Self {
        Self {
            found,
            changed: Staged::default(),
        }
    }

    /// Whether there is nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        self.changed.standing.is_empty()
    }

    /// Returns the heads of all boards that change.
    pub(super) fn heads(&self) -> impl Iterator<Item = &HeadRow> {
        self.changed.standing.values().map(|board| &board.row)
    }

    /// Returns the rows to add to the logs.
    pub(super) fn log(&self) -> &[LogChange<'a>] {
        &self.changed.log
    }

    /// Returns the rows that may be deleted from the logs.
    pub(super) fn superfluous(&self) -> impl Iterator<Item = Superfluous<'_>> {
        let boards = self.changed.standing.iter();
        boards
            .filter(|(_, board)| board.has_superfluous_rows())
            .map(|(name, board)| Superfluous {
                board: name,
                floor: board.row.floor,
                oldest: bound(board.oldest),
            })
    }

    fn standing(&self, staged: &Staged<'a>, name: &BoardName) -> Result<Standing, PortError> {
        let key = name.to_string();
        let decided = staged.standing.get(&key);
        match decided.or_else(|| self.changed.standing.get(&key)) {
            Some(board) => Ok(board.clone()),
            None => match self.found.get(&key) {
                Some(row) => Standing::read(row),
                None => Standing::new(name),
            },
        }
    }

    /// Stages a change of a board's text, or returns a conflict if the board does not admit it.
    pub(super) fn change(
        &self,
        staged: &mut Staged<'a>,
        write: &BoardWrite,
        changes: &'a Prepared,
    ) -> Result<Option<RecordKey>, PortError> {
        let mut board = self.standing(staged, &write.board)?;
        if !board.head.admits(write, &changes.actor) {
            return Ok(Some(RecordKey::Board(write.board.clone())));
        }
        let by = changes.actor.as_str();
        let at = Timestamp::from_stored(changes.at.clone());
        let logged = board.head.change(write.change.clone(), by, &at);
        board.rewritten |= matches!(logged, Logged::Whole(_));
        board.oldest = board.oldest.max(board.head.oldest_kept(write.keep));
        // A board's first version is 1.
        let floor = board.row.floor.max(1);
        board.row = HeadRow::of(&board.head, floor, NO_STAMP)?;
        let (start, removed) = logged.place();
        staged.log.push(LogChange {
            board: board.row.name.clone(),
            version: number(board.head.version)?,
            bytes: number(board.head.bytes)?,
            action: write.action,
            by,
            at: &changes.at,
            start: number(start)?,
            removed: number(removed)?,
            logged,
        });
        staged.standing.insert(board.row.name.clone(), board);
        Ok(None)
    }

    /// Stages a change of a board's lease, or returns a conflict if the lease is not the expected one.
    pub(super) fn lease(
        &self,
        staged: &mut Staged<'a>,
        write: &LeaseWrite,
    ) -> Result<Option<RecordKey>, PortError> {
        let mut board = self.standing(staged, &write.board)?;
        if !board.head.admits_lease(write) {
            return Ok(Some(RecordKey::Board(write.board.clone())));
        }
        board.head.lease.clone_from(&write.lease);
        board.row = HeadRow::of(&board.head, board.row.floor, NO_STAMP)?;
        staged.standing.insert(board.row.name.clone(), board);
        Ok(None)
    }

    /// Adopts the staged changes of a changeset. Returns the version of the last board that it changed.
    pub(super) fn keep(&mut self, staged: Staged<'a>) -> Option<u64> {
        let last = staged.log.last().map(|row| row.version.unsigned_abs());
        self.changed.standing.extend(staged.standing);
        self.changed.log.extend(staged.log);
        last
    }
}
