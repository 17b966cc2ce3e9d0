//! SQL access to conversations: appending turns inside a transaction, and reading them.

use polis_core::changeset::Receipt;
use polis_core::society::MemberKey;
use polis_ops::PortError;
use polis_ops::port::StoredTurn;
use rusqlite::{Connection, Row, params};

use super::error::from_sqlite;
use super::read::rows;
use crate::prepared::{TurnPut, text_of};
use crate::row::bound;

/// Whether this turn number exists.
pub(super) fn exists(connection: &Connection, put: &TurnPut) -> Result<bool, PortError> {
    connection
        .prepare_cached("SELECT 1 FROM turns WHERE member = ? AND turn = ?")
        .and_then(|mut select| select.exists(params![put.member, put.turn]))
        .map_err(from_sqlite)
}

pub(super) fn append(
    connection: &Connection,
    put: &TurnPut,
    receipt: &Receipt,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO turns (member, turn, body) VALUES (?, ?, ?)")?
        .execute(params![put.member, put.turn, text_of(&put.body, receipt)])
        .map(|_| ())
}

fn stored(row: &Row<'_>) -> rusqlite::Result<StoredTurn> {
    Ok(StoredTurn {
        turn: row.get::<_, i64>(0)?.unsigned_abs(),
        body: row.get(1)?,
    })
}

pub(super) fn from(
    connection: &Connection,
    member: &MemberKey,
    from: u64,
    limit: u32,
) -> Result<Vec<StoredTurn>, PortError> {
    let sql = "SELECT turn, body FROM turns WHERE member = ? AND turn >= ? ORDER BY turn LIMIT ?";
    let parameters = params![member.to_string(), bound(from), limit];
    rows(connection, sql, parameters, stored)
}

pub(super) fn last(
    connection: &Connection,
    member: &MemberKey,
    limit: u32,
) -> Result<Vec<StoredTurn>, PortError> {
    let sql = "SELECT turn, body FROM turns WHERE member = ? ORDER BY turn DESC LIMIT ?";
    let mut found = rows(connection, sql, params![member.to_string(), limit], stored)?;
    found.reverse();
    Ok(found)
}
