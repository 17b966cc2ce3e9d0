//! SQL access to the board tables: heads, version logs, pruning of old versions, and lookup of a version by
//! the mtime of its file.

use polis_core::Timestamp;
use polis_core::board::{BoardHead, BoardLogRow, BoardName, VersionAction, VersionEntry};
use polis_ops::PortError;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::apply::read_mark;
use super::error::from_sqlite;
use crate::board_row::{
    BOARD_HEAD_COLUMNS, BOARD_VERSION_COLUMNS, BoardHeadRow, SELECT_VERSION_LOG_ROWS,
    STORE_CREATED_MARK, VersionLogRow, assemble_version_text, build_version_entry,
};
use crate::task_row::{clamp_to_i64, to_i64};

fn read_head_row(row: &Row<'_>) -> rusqlite::Result<BoardHeadRow> {
    Ok(BoardHeadRow {
        name: row.get(0)?,
        version: row.get(1)?,
        bytes: row.get(2)?,
        ends_line: row.get(3)?,
        changed_by: row.get(4)?,
        changed_at: row.get(5)?,
        base: row.get(6)?,
        splices: row.get(7)?,
        floor: row.get(8)?,
        mtime_nanos: row.get(9)?,
        lease_holder: row.get(10)?,
        lease_token: row.get(11)?,
        lease_until: row.get(12)?,
    })
}

/// A board's head, plus the columns that only the embedded store uses.
#[derive(Debug, Clone)]
pub(super) struct StoredBoard {
    pub(super) head: BoardHead,
    /// The oldest version in the log.
    pub(super) oldest_version: i64,
    /// The modification time of its file, in nanoseconds.
    pub(super) mtime_nanos: i64,
}

impl StoredBoard {
    fn from_row(row: BoardHeadRow) -> Result<Self, PortError> {
        let (floor, stamp) = (row.floor, row.mtime_nanos);
        Ok(Self {
            head: row.into_head()?,
            oldest_version: floor,
            mtime_nanos: stamp,
        })
    }
}

pub(super) fn select_head(
    connection: &Connection,
    name: &BoardName,
) -> Result<Option<StoredBoard>, PortError> {
    let sql = format!("SELECT {BOARD_HEAD_COLUMNS} FROM boards WHERE name = ?");
    let found = connection
        .prepare_cached(&sql)
        .and_then(|mut select| {
            select
                .query_row([name.to_string()], read_head_row)
                .optional()
        })
        .map_err(from_sqlite)?;
    found.map(StoredBoard::from_row).transpose()
}

pub(super) fn select_heads(connection: &Connection) -> Result<Vec<BoardHead>, PortError> {
    let sql = format!("SELECT {BOARD_HEAD_COLUMNS} FROM boards ORDER BY name");
    let found: Vec<BoardHeadRow> = connection
        .prepare_cached(&sql)
        .and_then(|mut select| select.query_map([], read_head_row)?.collect())
        .map_err(from_sqlite)?;
    found.into_iter().map(BoardHeadRow::into_head).collect()
}

pub(super) fn upsert_head(connection: &Connection, board: &StoredBoard) -> Result<(), PortError> {
    let row = BoardHeadRow::from_head(&board.head, board.oldest_version, board.mtime_nanos)?;
    let sql = format!(
        "INSERT OR REPLACE INTO boards ({BOARD_HEAD_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    );
    connection
        .prepare_cached(&sql)
        .and_then(|mut statement| {
            statement.execute(params![
                row.name,
                row.version,
                row.bytes,
                row.ends_line,
                row.changed_by,
                row.changed_at,
                row.base,
                row.splices,
                row.floor,
                row.mtime_nanos,
                row.lease_holder,
                row.lease_token,
                row.lease_until
            ])
        })
        .map(|_| ())
        .map_err(from_sqlite)
}

/// Inserts the log row of the head's current version.
pub(super) fn insert_version(
    connection: &Connection,
    board: &StoredBoard,
    logged: &BoardLogRow,
    action: VersionAction,
) -> Result<(), PortError> {
    let head = &board.head;
    let (start, removed) = logged.splice_range();
    connection
        .prepare_cached(
            "INSERT INTO board_log (board, version, kind, action, changed_by, changed_at, bytes, start, removed, \
             stamp, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .and_then(|mut insert| {
            insert.execute(params![
                head.name.to_string(),
                clamp_to_i64(head.version),
                logged.kind(),
                action.as_str(),
                head.modified_by,
                head.modified_at.as_str(),
                clamp_to_i64(head.bytes),
                clamp_to_i64(start),
                clamp_to_i64(removed),
                board.mtime_nanos,
                logged.text()
            ])
        })
        .map(|_| ())
        .map_err(from_sqlite)
}

/// Deletes log rows that none of the newest `keep` versions is assembled from, and updates the board's floor.
/// The number of rows examined does not depend on the length of the log.
pub(super) fn prune_log(
    connection: &Connection,
    board: &mut StoredBoard,
    keep: u32,
) -> Result<(), PortError> {
    let oldest = clamp_to_i64(board.head.oldest_kept_version(keep));
    // Only additions since the last whole text: they are assembled from it, so it is still needed.
    if clamp_to_i64(board.head.base_version) == board.oldest_version {
        return Ok(());
    }
    let name = board.head.name.to_string();
    let first_kept: Option<i64> = connection
        .prepare_cached(
            "SELECT max(version) FROM board_log WHERE board = ? AND kind = 'whole' AND version <= ?",
        )
        .and_then(|mut select| select.query_row(params![name, oldest], |row| row.get(0)))
        .map_err(from_sqlite)?;
    let Some(first_kept) = first_kept.filter(|first_kept| *first_kept > board.oldest_version)
    else {
        return Ok(());
    };
    connection
        .prepare_cached("DELETE FROM board_log WHERE board = ? AND version < ?")
        .and_then(|mut delete| delete.execute(params![name, first_kept]))
        .map_err(from_sqlite)?;
    board.oldest_version = first_kept;
    Ok(())
}

/// Returns the text of a version, assembled from the log; `None` if the log does not contain it.
pub(super) fn select_version_text(
    connection: &Connection,
    name: &BoardName,
    version: u64,
) -> Result<Option<String>, PortError> {
    let mut select = connection
        .prepare_cached(SELECT_VERSION_LOG_ROWS)
        .map_err(from_sqlite)?;
    let rows = select
        .query_map(params![name.to_string(), clamp_to_i64(version)], |row| {
            Ok(VersionLogRow {
                kind: row.get(0)?,
                start: row.get(1)?,
                removed: row.get(2)?,
                text: row.get(3)?,
                version: row.get(4)?,
            })
        })
        .map_err(from_sqlite)?;
    assemble_version_text(name, version, rows.map(|row| row.map_err(from_sqlite)))
}

pub(super) fn select_versions(
    connection: &Connection,
    name: &BoardName,
    limit: u32,
) -> Result<Vec<VersionEntry>, PortError> {
    let sql = format!(
        "SELECT {BOARD_VERSION_COLUMNS} FROM board_log WHERE board = ? ORDER BY version DESC LIMIT ?"
    );
    connection
        .prepare_cached(&sql)
        .and_then(|mut select| {
            select
                .query_map(params![name.to_string(), limit], |row| {
                    let action: String = row.get(4)?;
                    Ok(build_version_entry(
                        row.get(0)?,
                        row.get(1)?,
                        row.get(2)?,
                        row.get(3)?,
                        &action,
                    ))
                })?
                .collect()
        })
        .map_err(from_sqlite)
}

/// The version that a file's modification time identifies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct VersionByMtime {
    /// The version whose file was given this mtime.
    pub(super) version: u64,
    /// The size of its text in bytes.
    pub(super) bytes: u64,
}

/// Returns the version whose file was given this modification time.
pub(super) fn find_version_by_mtime(
    connection: &Connection,
    name: &BoardName,
    stamp: i64,
) -> Result<Option<VersionByMtime>, PortError> {
    // Only runs when a file is out of sync; the newest rows are the likely match.
    connection
        .prepare_cached(
            "SELECT version, bytes FROM (SELECT version, bytes, stamp FROM board_log WHERE board = ?1 \
             ORDER BY version DESC LIMIT 1000) WHERE stamp = ?2 LIMIT 1",
        )
        .and_then(|mut select| {
            select
                .query_row(params![name.to_string(), stamp], |row| {
                    Ok((row.get::<_, i64>(0)?, row.get::<_, i64>(1)?))
                })
                .optional()
        })
        .map_err(from_sqlite)
        .map(|found| {
            found.map(|(version, bytes)| VersionByMtime {
                version: version.unsigned_abs(),
                bytes: bytes.unsigned_abs(),
            })
        })
}

/// Name of the mark for a store whose blackboard files are next to its directory instead of inside it.
pub(super) const ADJACENT_BLACKBOARD_MARK: &str = "blackboard_beside";

/// Records that the blackboard's files are next to the store's directory, unless the store already has
/// blackboards.
pub(super) fn mark_blackboard_adjacent(connection: &Connection) -> Result<(), PortError> {
    if read_mark(connection, ADJACENT_BLACKBOARD_MARK)? > 0 {
        return Ok(());
    }
    connection
        .execute(
            "INSERT OR IGNORE INTO marks (name, value) SELECT ?, 1 \
             WHERE NOT EXISTS (SELECT 1 FROM boards WHERE name LIKE 'blackboard/%')",
            [ADJACENT_BLACKBOARD_MARK],
        )
        .map(|_| ())
        .map_err(from_sqlite)
}

pub(super) fn read_created_at(connection: &Connection) -> Result<Timestamp, PortError> {
    let millis = read_mark(connection, STORE_CREATED_MARK)?;
    Ok(Timestamp::from_millis(to_i64(millis)?))
}
