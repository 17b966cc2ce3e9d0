//! SQL access to generic records (the `records` table): upsert, delete and expiry inside a transaction; reading by
//! name, and by page for a kind or an owner. A small record is read inline on the caller's thread, a large body is
//! not ([`RecordLookup`]).

use polis_core::changeset::Receipt;
use polis_core::record::{RecordKind, RecordName, StoredRecord};
use polis_ops::PortError;
use rusqlite::{Connection, OptionalExtension as _, Row, params};

use super::error::from_sqlite;
use super::read_queries::query_rows;
use crate::prepared_changeset::{RecordUpsert, render_record_body};
use crate::task_row::owner_id_range;

/// Returns a record's revision, or `None` if it does not exist.
pub(super) fn select_record_revision(
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

pub(super) fn upsert_record(
    connection: &Connection,
    upsert: &RecordUpsert,
    receipt: &Receipt,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO records (kind, id, revision, expires_at, body) VALUES (?1, ?2, 1, ?3, ?4) \
             ON CONFLICT (kind, id) DO UPDATE SET revision = revision + 1, expires_at = ?3, body = ?4",
        )?
        .execute(params![
            upsert.name.kind.as_str(),
            upsert.name.id,
            upsert.expires_at,
            render_record_body(&upsert.body, receipt)
        ])
        .map(|_| ())
}

pub(super) fn delete_record(connection: &Connection, name: &RecordName) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM records WHERE kind = ? AND id = ?")?
        .execute(params![name.kind.as_str(), name.id])
        .map(|_| ())
}

/// Deletes the records of a kind that have expired by `until`.
pub(super) fn delete_expired_records(
    connection: &Connection,
    kind: RecordKind,
    until: i64,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("DELETE FROM records WHERE kind = ? AND expires_at <= ?")?
        .execute(params![kind.as_str(), until])
        .map(|_| ())
}

fn read_stored_record(row: &Row<'_>) -> rusqlite::Result<StoredRecord> {
    Ok(StoredRecord {
        id: row.get(0)?,
        revision: row.get::<_, i64>(1)?.unsigned_abs(),
        body: row.get(2)?,
    })
}

/// Maximum size of a body that is read inline, in bytes: 64 KiB take 16 µs.
const MAX_INLINE_BODY_BYTES: i64 = 64 << 10;

/// A record that is small or absent, or the fact that its body is large.
pub(super) enum RecordLookup {
    Small(Option<StoredRecord>),
    Large,
}

/// Reads a record unless its body is large; the size check does not read the body.
pub(super) fn select_small_record(
    connection: &Connection,
    name: &RecordName,
) -> Result<RecordLookup, PortError> {
    let sql = "SELECT id, revision, CASE WHEN octet_length(body) <= ?3 THEN body END FROM records \
               WHERE kind = ?1 AND id = ?2";
    let read = |row: &Row<'_>| match row.get(2)? {
        Some(body) => Ok(RecordLookup::Small(Some(StoredRecord {
            id: row.get(0)?,
            revision: row.get::<_, i64>(1)?.unsigned_abs(),
            body,
        }))),
        None => Ok(RecordLookup::Large),
    };
    let parameters = params![name.kind.as_str(), name.id, MAX_INLINE_BODY_BYTES];
    let found = query_rows(connection, sql, parameters, read)?;
    Ok(found
        .into_iter()
        .next()
        .unwrap_or(RecordLookup::Small(None)))
}

pub(super) fn select_record(
    connection: &Connection,
    name: &RecordName,
) -> Result<Option<StoredRecord>, PortError> {
    let sql = "SELECT id, revision, body FROM records WHERE kind = ? AND id = ?";
    let found = query_rows(
        connection,
        sql,
        params![name.kind.as_str(), name.id],
        read_stored_record,
    )?;
    Ok(found.into_iter().next())
}

pub(super) fn select_record_page(
    connection: &Connection,
    kind: RecordKind,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<StoredRecord>, PortError> {
    let kind = kind.as_str();
    match after {
        None => {
            let sql = "SELECT id, revision, body FROM records WHERE kind = ? ORDER BY id LIMIT ?";
            query_rows(connection, sql, params![kind, limit], read_stored_record)
        }
        Some(after) => {
            let sql = "SELECT id, revision, body FROM records WHERE kind = ? AND id > ? ORDER BY id LIMIT ?";
            query_rows(
                connection,
                sql,
                params![kind, after, limit],
                read_stored_record,
            )
        }
    }
}

/// Returns records of commands of all owners, in the order of the id's part after the owner. The index is on
/// exactly this expression and kind.
pub(super) fn select_commands_of_all_owners(
    connection: &Connection,
    after: &str,
    limit: u32,
) -> Result<Vec<StoredRecord>, PortError> {
    let sql = "SELECT id, revision, body FROM records WHERE kind = 'command' AND substr(id, instr(id, '/') + 1) > ? \
               ORDER BY substr(id, instr(id, '/') + 1), id LIMIT ?";
    query_rows(connection, sql, params![after, limit], read_stored_record)
}

/// Returns the records of a kind whose id is `OWNER/…`.
pub(super) fn select_owner_record_page(
    connection: &Connection,
    kind: RecordKind,
    owner: &str,
    after: Option<&str>,
    limit: u32,
) -> Result<Vec<StoredRecord>, PortError> {
    let sql = "SELECT id, revision, body FROM records WHERE kind = ? AND id > ? AND id < ? ORDER BY id LIMIT ?";
    let (from, end) = owner_id_range(owner, after);
    query_rows(
        connection,
        sql,
        params![kind.as_str(), from, end, limit],
        read_stored_record,
    )
}
