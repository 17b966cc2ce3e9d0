//! SQL access to generic records (the `records` table): writing inside a transaction, and reading.

use polis_core::changeset::Receipt;
use polis_core::record::{RecordKind, RecordName, Stored};
use polis_ops::PortError;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::error::from_sqlite;
use super::read::rows;
use crate::prepared::{RecordPut, text_of};
use crate::row::ids_of;

/// Returns a record's revision, or `None` if it does not exist.
pub(super) fn revision(
    connection: &Connection,
    name: &RecordName,
) -> Result<Option<i64>, PortError> {
    connection
        .prepare_cached("SELECT revision FROM records WHERE kind = ? AND id = ?")
        .and_then(|mut select| {
            select
                .query_row(params![name.kind.as_str(), name.id], |row| row.get(0))
                .optional()
        })
        .map_err(from_sqlite)
}

pub(super) fn put(
    connection: &Connection,
    put: &RecordPut,
    receipt: &Receipt,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO records (kind, id, revision, expires_at, body) VALUES (?1, ?2, 1, ?3, ?4) \
             ON CONFLICT (kind, id) DO UPDATE SET revision = revision + 1, expires_at = ?3, body = ?4",
        )?
        .execute(params![
            put.name.kind.as_str(),
            put.name.id,
            put.expires_at,
            text_of(&put.body, receipt)
        ])
        .map(|_| ())
}

pub(super) fn delete(connection: &Connection, name: &RecordName) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM records WHERE kind = ? AND id = ?")?
        .execute(params![name.kind.as_str(), name.id])
        .map(|_| ())
}

/// Deletes the expired records of a kind.
pub(super) fn forget(
    connection: &Connection,
    kind: RecordKind,
    until: i64,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM records WHERE kind = ? AND expires_at <= ?")?
        .execute(params![kind.as_str(), until])
        .map(|_| ())
}

fn stored(row: &Row<'_>) -> rusqlite::Result<Stored> {
    Ok(Stored {
        id: row.get(0)?,
        revision: row.get::<_, i64>(1)?.unsigned_abs(),
        body: row.get(2)?,
    })
}

/// Maximum size of a body that is read inline, in bytes: 64 KiB take 16 µs.
const SMALL: i64 = 64 << 10;

/// A record that is small or absent, or the fact that its body is large.
pub(super) enum Sized {
    Small(Option<Stored>),
    Large,
}

/// Reads a record unless its body is large; the size check does not read the body.
pub(super) fn small(connection: &Connection, name: &RecordName) -> Result<Sized, PortError> {
    let sql = "SELECT id, revision, CASE WHEN octet_length(body) <= ?3 THEN body END FROM records \
               WHERE kind = ?1 AND id = ?2";
    let read = |row: &Row<'_>| match row.get(2)? {
        Some(body) => Ok(Sized::Small(Some(Stored {
            id: row.get(0)?,
            revision: row.get::<_, i64>(1)?.unsigned_abs(),
            body,
        }))),
        None => Ok(Sized::Large),
    };
    let parameters = params![name.kind.as_str(), name.id, SMALL];
    let found = rows(connection, sql, parameters, read)?;
    Ok(found.into_iter().next().unwrap_or(Sized::Small(None)))
}

pub(super) fn one(connection: &Connection, name: &RecordName) -> Result<Option<Stored>, PortError> {
    let sql = "SELECT id, revision, body FROM records WHERE kind = ? AND id = ?";
    let found = rows(
        connection,
        sql,
        params![name.kind.as_str(), name.id],
        stored,
    )?;
    Ok(found.into_iter().next())
}

pub(super) fn page(
    connection: &Connection,
    kind: RecordKind,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<Stored>, PortError> {
    let kind = kind.as_str();
    match after {
        None => {
            let sql = "SELECT id, revision, body FROM records WHERE kind = ? ORDER BY id LIMIT ?";
            rows(connection, sql, params![kind, limit], stored)
        }
        Some(after) => {
            let sql = "SELECT id, revision, body FROM records WHERE kind = ? AND id > ? ORDER BY id LIMIT ?";
            rows(connection, sql, params![kind, after, limit], stored)
        }
    }
}

/// Returns commands of all owners. The index is on exactly this expression and kind.
pub(super) fn commands_of_all(
    connection: &Connection,
    after: &str,
    limit: u32,
) -> Result<Vec<Stored>, PortError> {
    let sql = "SELECT id, revision, body FROM records WHERE kind = 'command' AND substr(id, instr(id, '/') + 1) > ? \
               ORDER BY substr(id, instr(id, '/') + 1), id LIMIT ?";
    rows(connection, sql, params![after, limit], stored)
}

/// Returns the records of a kind whose id is `OWNER/…`.
pub(super) fn page_of(
    connection: &Connection,
    kind: RecordKind,
    owner: &str,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<Stored>, PortError> {
    let sql = "SELECT id, revision, body FROM records WHERE kind = ? AND id > ? AND id < ? ORDER BY id LIMIT ?";
    let (from, end) = ids_of(owner, after);
    rows(
        connection,
        sql,
        params![kind.as_str(), from, end, limit],
        stored,
    )
}
