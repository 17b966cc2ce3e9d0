//! SQL access to the board tables: heads, version logs, pruning of old versions, and lookup of a version by
//! the mtime of its file.

use polis_core::board::{Action, BoardHead, BoardName, Logged, VersionEntry};
use polis_core::{Code, Timestamp};
use polis_ops::PortError;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::apply::mark;
use super::error::from_sqlite;
use crate::board_row::{
    BEGAN_AT, HEAD_COLUMNS, HeadRow, LogRow, ROWS_OF_VERSION, VERSION_COLUMNS, assemble,
    version_entry,
};
use crate::row::{bound, number};

fn head_row(row: &Row<'_>) -> rusqlite::Result<HeadRow> {
    Ok(HeadRow {
        name: row.get(0)?,
        version: row.get(1)?,
        bytes: row.get(2)?,
        ends_line: row.get(3)?,
        changed_by: row.get(4)?,
        changed_at: row.get(5)?,
        base: row.get(6)?,
        splices: row.get(7)?,
        floor: row.get(8)?,
        stamp: row.get(9)?,
        lease_holder: row.get(10)?,
        lease_token: row.get(11)?,
        lease_until: row.get(12)?,
    })
}

/// A board's head, plus the columns that only the embedded store uses.
#[derive(Debug, Clone)]
pub(super) struct Kept {
    pub(super) head: BoardHead,
    /// The oldest version in the log.
    pub(super) floor: i64,
    /// The modification time of its file, in nanoseconds.
    pub(super) stamp: i64,
}

impl Kept {
    fn of(row: HeadRow) -> Result<Self, PortError> {
        let (floor, stamp) = (row.floor, row.stamp);
        Ok(Self {
            head: row.head()?,
            floor,
            stamp,
        })
    }
}

pub(super) fn head(connection: &Connection, name: &BoardName) -> Result<Option<Kept>, PortError> {
    let sql = format!("SELECT {HEAD_COLUMNS} FROM boards WHERE name = ?");
    let found = connection
        .prepare_cached(&sql)
        .and_then(|mut select| select.query_row([name.to_string()], head_row).optional())
        .map_err(from_sqlite)?;
    found.map(Kept::of).transpose()
}

pub(super) fn heads(connection: &Connection) -> Result<Vec<BoardHead>, PortError> {
    let sql = format!("SELECT {HEAD_COLUMNS} FROM boards ORDER BY name");
    let found: Vec<HeadRow> = connection
        .prepare_cached(&sql)
        .and_then(|mut select| select.query_map([], head_row)?.collect())
        .map_err(from_sqlite)?;
    found.into_iter().map(HeadRow::head).collect()
}

pub(super) fn put_head(connection: &Connection, kept: &Kept) -> Result<(), PortError> {
    let row = HeadRow::of(&kept.head, kept.floor, kept.stamp)?;
    let sql = format!(
        "INSERT OR REPLACE INTO boards ({HEAD_COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"
    );
    connection
        .prepare_cached(&sql)
        .and_then(|mut put| {
            put.execute(params![
                row.name,
                row.version,
                row.bytes,
                row.ends_line,
                row.changed_by,
                row.changed_at,
                row.base,
                row.splices,
                row.floor,
                row.stamp,
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
    kept: &Kept,
    logged: &Logged,
    action: Action,
) -> Result<(), PortError> {
    let head = &kept.head;
    let (start, removed) = logged.place();
    connection
        .prepare_cached(
            "INSERT INTO board_log (board, version, kind, action, changed_by, changed_at, bytes, start, removed, \
             stamp, text) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )
        .and_then(|mut insert| {
            insert.execute(params![
                head.name.to_string(),
                bound(head.version),
                logged.kind(),
                action.as_str(),
                head.by,
                head.at.as_str(),
                bound(head.bytes),
                bound(start),
                bound(removed),
                kept.stamp,
                logged.text()
            ])
        })
        .map(|_| ())
        .map_err(from_sqlite)
}

/// Deletes log rows that none of the newest `keep` versions is assembled from. The number of rows examined
/// does not depend on the length of the log.
pub(super) fn prune(connection: &Connection, kept: &mut Kept, keep: u32) -> Result<(), PortError> {
    let oldest = bound(kept.head.oldest_kept(keep));
    // Only additions since the last whole text: they are assembled from it, so it is still needed.
    if bound(kept.head.base) == kept.floor {
        return Ok(());
    }
    let name = kept.head.name.to_string();
    let cut: Option<i64> = connection
        .prepare_cached(
            "SELECT max(version) FROM board_log WHERE board = ? AND kind = 'whole' AND version <= ?",
        )
        .and_then(|mut select| select.query_row(params![name, oldest], |row| row.get(0)))
        .map_err(from_sqlite)?;
    let Some(cut) = cut.filter(|cut| *cut > kept.floor) else {
        return Ok(());
    };
    connection
        .prepare_cached("DELETE FROM board_log WHERE board = ? AND version < ?")
        .and_then(|mut delete| delete.execute(params![name, cut]))
        .map_err(from_sqlite)?;
    kept.floor = cut;
    Ok(())
}

/// Returns the text of a version, assembled from the log.
pub(super) fn text(
    connection: &Connection,
    name: &BoardName,
    version: u64,
) -> Result<Option<String>, PortError> {
    let mut select = connection
        .prepare_cached(ROWS_OF_VERSION)
        .map_err(from_sqlite)?;
    let rows = select
        .query_map(params![name.to_string(), bound(version)], |row| {
            Ok(LogRow {
                kind: row.get(0)?,
                start: row.get(1)?,
                removed: row.get(2)?,
                text: row.get(3)?,
                version: row.get(4)?,
            })
        })
        .map_err(from_sqlite)?;
    assemble(name, version, rows.map(|row| row.map_err(from_sqlite)))
}

pub(super) fn versions(
    connection: &Connection,
    name: &BoardName,
    limit: u32,
) -> Result<Vec<VersionEntry>, PortError> {
    let sql = format!(
        "SELECT {VERSION_COLUMNS} FROM board_log WHERE board = ? ORDER BY version DESC LIMIT ?"
    );
    connection
        .prepare_cached(&sql)
        .and_then(|mut select| {
            select
                .query_map(params![name.to_string(), limit], |row| {
                    let action: String = row.get(4)?;
                    Ok(version_entry(
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
pub(super) struct Stamped {
    /// The version whose file was given this mtime.
    pub(super) version: u64,
    /// The size of its text in bytes.
    pub(super) bytes: u64,
}

/// Returns the version whose file was given this modification time.
pub(super) fn stamped(
    connection: &Connection,
    name: &BoardName,
    stamp: i64,
) -> Result<Option<Stamped>, PortError> {
    // Only runs when a file is out of step; the newest rows are the likely match.
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
            found.map(|(version, bytes)| Stamped {
                version: version.unsigned_abs(),
                bytes: bytes.unsigned_abs(),
            })
        })
}

/// Name of the mark for a store whose blackboard files are next to its directory instead of inside it.
pub(super) const BLACKBOARD_BESIDE: &str = "blackboard_beside";

/// Records that the blackboard's files are next to the store's directory, unless the store already has
/// blackboards.
pub(super) fn put_blackboard_beside(connection: &Connection) -> Result<(), PortError> {
    if mark(connection, BLACKBOARD_BESIDE)? > 0 {
        return Ok(());
    }
    connection
        .execute(
            "INSERT OR IGNORE INTO marks (name, value) SELECT ?, 1 \
             WHERE NOT EXISTS (SELECT 1 FROM boards WHERE name LIKE 'blackboard/%')",
            [BLACKBOARD_BESIDE],
        )
        .map(|_| ())
        .map_err(from_sqlite)
}

pub(super) fn began_at(connection: &Connection) -> Result<Timestamp, PortError> {
    let millis = mark(connection, BEGAN_AT)?;
    Ok(Timestamp::from_millis(number(millis)?))
}

/// Returns the error for a file whose content no board can hold.
pub(super) fn unfit(code: Code, message: String) -> PortError {
    PortError::new(
        code,
        message,
        "mend the file, or move it away: a missing file is written again from the store",
    )
}
