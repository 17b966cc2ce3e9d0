//! Columns of a board's head and of its log, shared by both stores.
//!
//! A board's head is one row: version, size, last change, lease. Its log (`board_log`) stores each version as
//! a whole text, an addition or a splice; [`assemble`] rebuilds the text of a version from these rows.

use polis_core::board::{Action, BoardHead, BoardName, Lease, Logged, VersionEntry};
use polis_core::{Code, Timestamp};
use polis_ops::PortError;

use crate::row::number;

/// The columns of a board's head, in order.
pub(crate) const HEAD_COLUMNS: &str = "name, version, bytes, ends_line, changed_by, changed_at, base, splices, floor, \
     stamp, lease_holder, lease_token, lease_until";

/// The columns of a version in a board's history, in order.
pub(crate) const VERSION_COLUMNS: &str = "version, changed_by, changed_at, bytes, action";

/// Selects, in order, the log rows from which version `$2` of board `$1` is assembled.
pub(crate) const ROWS_OF_VERSION: &str = "SELECT kind, start, removed, text, version FROM board_log \
     WHERE board = $1 AND version <= $2 AND version >= (SELECT max(version) FROM board_log \
     WHERE board = $1 AND kind = 'whole' AND version <= $2) ORDER BY version";

/// Name of the mark that stores when the store was created.
pub(crate) const BEGAN_AT: &str = "began-at";

/// The columns of a board's head.
#[derive(Debug, Clone)]
pub(crate) struct HeadRow {
    pub(crate) name: String,
    pub(crate) version: i64,
    pub(crate) bytes: i64,
    pub(crate) ends_line: i64,
    pub(crate) changed_by: String,
    pub(crate) changed_at: String,
    pub(crate) base: i64,
    pub(crate) splices: i64,
    pub(crate) floor: i64,
    pub(crate) stamp: i64,
    pub(crate) lease_holder: Option<String>,
    pub(crate) lease_token: Option<String>,
    pub(crate) lease_until: Option<i64>,
}

impl HeadRow {
    /// Creates the row of a head; `floor` and `stamp` are private to the store.
    pub(crate) fn of(head: &BoardHead, floor: i64, stamp: i64) -> Result<Self, PortError> {
        let lease = head.lease.as_ref();
        Ok(Self {
            name: head.name.to_string(),
            version: number(head.version)?,
            bytes: number(head.bytes)?,
            ends_line: i64::from(head.ends_line),
            changed_by: head.by.clone(),
            changed_at: head.at.as_str().to_owned(),
            base: number(head.base)?,
            splices: i64::from(head.splices),
            floor,
            stamp,
            lease_holder: lease.map(|l| l.holder.to_string()),
            lease_token: lease.map(|l| l.token.clone()),
            lease_until: lease.map(|l| l.until),
        })
    }

    /// Converts the row into a board head.
    pub(crate) fn head(self) -> Result<BoardHead, PortError> {
        let name = BoardName::from_stored(&self.name).ok_or_else(|| damaged(&self.name))?;
        let lease = match (self.lease_holder, self.lease_token, self.lease_until) {
            (Some(holder), Some(token), Some(until)) => Some(Lease {
                holder: holder.parse().map_err(|_| damaged(&self.name))?,
                token,
                until,
            }),
            _ => None,
        };
        Ok(BoardHead {
            name,
            version: self.version.unsigned_abs(),
            bytes: self.bytes.unsigned_abs(),
            ends_line: self.ends_line != 0,
            by: self.changed_by,
            at: Timestamp::from_stored(self.changed_at),
            base: self.base.unsigned_abs(),
            splices: u32::try_from(self.splices).unwrap_or(u32::MAX),
            lease,
        })
    }
}

/// Builds an entry of a board's history from its columns.
pub(crate) fn version_entry(
    version: i64,
    by: String,
    at: String,
    bytes: i64,
    action: &str,
) -> VersionEntry {
    VersionEntry {
        version: version.unsigned_abs(),
        by,
        at: Timestamp::from_stored(at),
        bytes: bytes.unsigned_abs(),
        action: Action::from_name(action).unwrap_or(Action::Written),
    }
}

/// A row of a board's log.
pub(crate) struct LogRow {
    pub(crate) kind: String,
    pub(crate) start: i64,
    pub(crate) removed: i64,
    pub(crate) text: String,
    pub(crate) version: i64,
}

/// Assembles a version from the rows of [`ROWS_OF_VERSION`]. Returns `None` if the log does not contain it.
pub(crate) fn assemble(
    board: &BoardName,
    version: u64,
    rows: impl IntoIterator<Item = Result<LogRow, PortError>>,
) -> Result<Option<String>, PortError> {
    let mut text = String::new();
    let mut reached = None;
    for row in rows {
        let row = row?;
        let logged = Logged::from_stored(
            &row.kind,
            row.start.unsigned_abs(),
            row.removed.unsigned_abs(),
            row.text,
        );
        logged
            .and_then(|logged| logged.apply(&mut text))
            .ok_or_else(|| damaged(&board.to_string()))?;
        reached = Some(row.version.unsigned_abs());
    }
    Ok(Some(text).filter(|_| reached == Some(version)))
}

/// Returns the error for a board whose rows are inconsistent.
pub(crate) fn damaged(board: &str) -> PortError {
    PortError::new(
        Code::StoreCorrupt,
        format!("The log of board {board} is damaged."),
        "restore the store from a backup; `polis doctor` checks it",
    )
}
