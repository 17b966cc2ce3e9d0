//! Columns of a board's head and of its version log, and their conversion; shared by the SQLite store and the
//! PostgreSQL store.
//!
//! A board's head is one row: version, size, last change, lease. Its log (`board_log`) stores each version as
//! a whole text, an appended text or a splice (see `polis_core::board::board_record`). [`assemble_version_text`]
//! rebuilds the text of a version from these rows.

use polis_core::Timestamp;
use polis_core::board::{
    BoardHead, BoardLease, BoardLogRow, BoardName, VersionAction, VersionEntry,
};
use polis_core::number::saturating_cast;
use polis_ops::PortError;

use crate::store_failure::StoreFailure;
use crate::task_row::to_i64;

/// The columns of a board's head, in order.
pub(crate) const BOARD_HEAD_COLUMNS: &str = "name, version, bytes, ends_line, changed_by, changed_at, base, splices, floor, \
     stamp, lease_holder, lease_token, lease_until";

/// The columns of a version in a board's history, in order.
pub(crate) const BOARD_VERSION_COLUMNS: &str = "version, changed_by, changed_at, bytes, action";

/// Selects, in order, the log rows from which version `$2` of board `$1` is assembled.
pub(crate) const SELECT_VERSION_LOG_ROWS: &str = "SELECT kind, start, removed, text, version FROM board_log \
     WHERE board = $1 AND version <= $2 AND version >= (SELECT max(version) FROM board_log \
     WHERE board = $1 AND kind = 'whole' AND version <= $2) ORDER BY version";

/// Name of the mark that stores when the store was created.
pub(crate) const STORE_CREATED_MARK: &str = "began-at";

/// The columns of a board's head.
#[derive(Debug, Clone)]
pub(crate) struct BoardHeadRow {
    pub(crate) name: String,
    pub(crate) version: i64,
    pub(crate) bytes: i64,
    pub(crate) ends_line: i64,
    pub(crate) changed_by: String,
    pub(crate) changed_at: String,
    pub(crate) base: i64,
    pub(crate) splices: i64,
    pub(crate) floor: i64,
    pub(crate) mtime_nanos: i64,
    pub(crate) lease_holder: Option<String>,
    pub(crate) lease_token: Option<String>,
    pub(crate) lease_until: Option<i64>,
}

impl BoardHeadRow {
    /// Creates the row of a head; `floor` and `stamp` are private to the store.
    pub(crate) fn from_head(head: &BoardHead, floor: i64, stamp: i64) -> Result<Self, PortError> {
        let lease = head.lease.as_ref();
        Ok(Self {
            name: head.name.to_string(),
            version: to_i64(head.version)?,
            bytes: to_i64(head.bytes)?,
            ends_line: i64::from(head.ends_line),
            changed_by: head.modified_by.clone(),
            changed_at: head.modified_at.as_str().to_owned(),
            base: to_i64(head.base_version)?,
            splices: i64::from(head.splices),
            floor,
            mtime_nanos: stamp,
            lease_holder: lease.map(|l| l.holder.to_string()),
            lease_token: lease.map(|l| l.token.clone()),
            lease_until: lease.map(|l| l.until),
        })
    }

    /// Converts the row into a board head.
    pub(crate) fn into_head(self) -> Result<BoardHead, PortError> {
        let name =
            BoardName::from_stored(&self.name).ok_or_else(|| damaged_board_error(&self.name))?;
        let lease = match (self.lease_holder, self.lease_token, self.lease_until) {
            (Some(holder), Some(token), Some(until)) => Some(BoardLease {
                holder: holder
                    .parse()
                    .map_err(|_| damaged_board_error(&self.name))?,
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
            modified_by: self.changed_by,
            modified_at: Timestamp::from_stored(self.changed_at),
            base_version: self.base.unsigned_abs(),
            splices: saturating_cast::<u32>(self.splices),
            lease,
        })
    }
}

/// Builds an entry of a board's history from its columns.
pub(crate) fn build_version_entry(
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
        action: VersionAction::from_name(action).unwrap_or(VersionAction::Written),
    }
}

/// A row of a board's log.
pub(crate) struct VersionLogRow {
    pub(crate) kind: String,
    pub(crate) start: i64,
    pub(crate) removed: i64,
    pub(crate) text: String,
    pub(crate) version: i64,
}

/// Assembles a version from the rows of [`SELECT_VERSION_LOG_ROWS`]. Returns `None` if the log does not
/// contain it; fails with `StoreCorrupt` if its rows are inconsistent.
pub(crate) fn assemble_version_text(
    board: &BoardName,
    version: u64,
    rows: impl IntoIterator<Item = Result<VersionLogRow, PortError>>,
) -> Result<Option<String>, PortError> {
    let mut text = String::new();
    let mut last_version = None;
    for row in rows {
        let row = row?;
        let logged = BoardLogRow::from_stored(
            &row.kind,
            row.start.unsigned_abs(),
            row.removed.unsigned_abs(),
            row.text,
        );
        logged
            .and_then(|logged| logged.apply_to(&mut text))
            .ok_or_else(|| damaged_board_error(&board.to_string()))?;
        last_version = Some(row.version.unsigned_abs());
    }
    Ok(Some(text).filter(|_| last_version == Some(version)))
}

/// Returns the error for a board whose rows are inconsistent.
pub(crate) fn damaged_board_error(board: &str) -> PortError {
    PortError::from(StoreFailure::BoardLogDamaged {
        board: board.to_string(),
    })
}
