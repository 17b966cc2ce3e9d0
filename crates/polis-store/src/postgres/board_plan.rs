//! Plans the board changes of a batch, without database access: conflicts, new heads and log rows, and which
//! log rows may be deleted. This is the board part of `batch_plan`.
//!
//! Conflicts of most other writes are checked against the state before the changeset. A board change is checked
//! against the earlier changes of its own changeset. These are therefore staged while conflicts are checked,
//! and kept if there is none.

use std::collections::{BTreeMap, HashMap};

use polis_core::board::{
    BoardHead, BoardLeaseWrite, BoardLogRow, BoardName, BoardWrite, VersionAction,
};
use polis_core::{RecordKey, Timestamp};
use polis_ops::PortError;

use crate::board_row::BoardHeadRow;
use crate::prepared_changeset::PreparedChangeset;
use crate::task_row::{clamp_to_i64, to_i64};

/// Placeholder for the file mtime; PostgreSQL boards have no files.
const NO_MTIME: i64 = 0;

/// State of a board while a batch is decided.
#[derive(Debug, Clone)]
struct PlannedBoard {
    head: BoardHead,
    /// The head converted to columns.
    row: BoardHeadRow,
    /// The oldest version that history has to contain; 0 if the batch does not change it.
    oldest: u64,
    /// Whether the batch wrote a whole text.
    rewritten: bool,
}

impl PlannedBoard {
    fn new(name: &BoardName) -> Result<Self, PortError> {
        let head = BoardHead::new(name.clone());
        Ok(Self {
            row: BoardHeadRow::from_head(&head, 0, NO_MTIME)?,
            head,
            oldest: 0,
            rewritten: false,
        })
    }

    fn from_row(row: &BoardHeadRow) -> Result<Self, PortError> {
        Ok(Self {
            head: row.clone().into_head()?,
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
    fn has_prunable_rows(&self) -> bool {
        let (base, oldest) = (
            clamp_to_i64(self.head.base_version),
            clamp_to_i64(self.oldest),
        );
        if base <= oldest {
            self.row.floor < base
        } else {
            self.rewritten && self.row.floor < oldest
        }
    }
}

/// A row to be added to a board's log.
#[derive(Debug)]
pub(super) struct BoardLogInsert<'a> {
    pub(super) board: String,
    pub(super) version: i64,
    pub(super) bytes: i64,
    pub(super) action: VersionAction,
    pub(super) by: &'a str,
    pub(super) at: &'a str,
    pub(super) start: i64,
    pub(super) removed: i64,
    pub(super) logged: BoardLogRow,
}

/// The bounds from which [`PRUNE_BOARD_LOG`](super::board_columns::PRUNE_BOARD_LOG) computes the log rows of
/// a board that may be deleted.
#[derive(Debug)]
pub(super) struct PrunableLog<'a> {
    pub(super) board: &'a str,
    /// The oldest version in the log.
    pub(super) floor: i64,
    /// The oldest version that history has to contain.
    pub(super) oldest: i64,
}

/// Board changes of one changeset.
#[derive(Debug, Default)]
pub(super) struct StagedBoards<'a> {
    boards: BTreeMap<String, PlannedBoard>,
    log: Vec<BoardLogInsert<'a>>,
}

/// Board changes of a batch.
#[derive(Debug, Default)]
pub(super) struct BoardPlan<'a> {
    stored_heads: HashMap<String, BoardHeadRow>,
    planned: StagedBoards<'a>,
}

impl<'a> BoardPlan<'a> {
    pub(super) fn new(stored_heads: HashMap<String, BoardHeadRow>) -> Self {
        Self {
            stored_heads,
            planned: StagedBoards::default(),
        }
    }

    /// Whether there is nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        self.planned.boards.is_empty()
    }

    /// Returns the heads of all boards that change.
    pub(super) fn changed_heads(&self) -> impl Iterator<Item = &BoardHeadRow> {
        self.planned.boards.values().map(|board| &board.row)
    }

    /// Returns the rows to add to the logs.
    pub(super) fn log_inserts(&self) -> &[BoardLogInsert<'a>] {
        &self.planned.log
    }

    /// Returns the boards whose logs may contain rows to be deleted.
    pub(super) fn prunable_logs(&self) -> impl Iterator<Item = PrunableLog<'_>> {
        let boards = self.planned.boards.iter();
        boards
            .filter(|(_, board)| board.has_prunable_rows())
            .map(|(name, board)| PrunableLog {
                board: name,
                floor: board.row.floor,
                oldest: clamp_to_i64(board.oldest),
            })
    }

    fn board_state(
        &self,
        staged: &StagedBoards<'a>,
        name: &BoardName,
    ) -> Result<PlannedBoard, PortError> {
        let key = name.to_string();
        let decided = staged.boards.get(&key);
        match decided.or_else(|| self.planned.boards.get(&key)) {
            Some(board) => Ok(board.clone()),
            None => match self.stored_heads.get(&key) {
                Some(row) => PlannedBoard::from_row(row),
                None => PlannedBoard::new(name),
            },
        }
    }

    /// Stages a change of a board's text, or returns a conflict if the board does not admit it.
    pub(super) fn stage_change(
        &self,
        staged: &mut StagedBoards<'a>,
        write: &BoardWrite,
        changes: &'a PreparedChangeset,
    ) -> Result<Option<RecordKey>, PortError> {
        let mut board = self.board_state(staged, &write.board)?;
        if !board.head.admits_write(write, &changes.actor) {
            return Ok(Some(RecordKey::Board(write.board.clone())));
        }
        let actor = changes.actor.as_str();
        let at = Timestamp::from_stored(changes.at.clone());
        let logged = board.head.apply_change(write.change.clone(), actor, &at);
        board.rewritten |= matches!(logged, BoardLogRow::Whole(_));
        board.oldest = board
            .oldest
            .max(board.head.oldest_kept_version(write.max_versions));
        // A board's first version is 1.
        let floor = board.row.floor.max(1);
        board.row = BoardHeadRow::from_head(&board.head, floor, NO_MTIME)?;
        let (start, removed) = logged.splice_range();
        staged.log.push(BoardLogInsert {
            board: board.row.name.clone(),
            version: to_i64(board.head.version)?,
            bytes: to_i64(board.head.bytes)?,
            action: write.action,
            by: actor,
            at: &changes.at,
            start: to_i64(start)?,
            removed: to_i64(removed)?,
            logged,
        });
        staged.boards.insert(board.row.name.clone(), board);
        Ok(None)
    }

    /// Stages a change of a board's lease, or returns a conflict if the lease is not the expected one.
    pub(super) fn stage_lease(
        &self,
        staged: &mut StagedBoards<'a>,
        write: &BoardLeaseWrite,
    ) -> Result<Option<RecordKey>, PortError> {
        let mut board = self.board_state(staged, &write.board)?;
        if !board.head.admits_lease(write) {
            return Ok(Some(RecordKey::Board(write.board.clone())));
        }
        board.head.lease.clone_from(&write.lease);
        board.row = BoardHeadRow::from_head(&board.head, board.row.floor, NO_MTIME)?;
        staged.boards.insert(board.row.name.clone(), board);
        Ok(None)
    }

    /// Adopts the staged changes of a changeset. Returns the version of the last board that it changed.
    pub(super) fn adopt_staged(&mut self, staged: StagedBoards<'a>) -> Option<u64> {
        let last = staged.log.last().map(|row| row.version.unsigned_abs());
        self.planned.boards.extend(staged.boards);
        self.planned.log.extend(staged.log);
        last
    }
}
