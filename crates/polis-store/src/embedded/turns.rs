//! SQL access to conversations (the `turns` table): appending turns inside a transaction, and reading them.

use polis_core::changeset::Receipt;
use polis_core::society::MemberKey;
use polis_ops::PortError;
use polis_ops::port::StoredTurn;
use rusqlite::{Connection, Row, params};

use super::error::from_sqlite;
use super::read_queries::query_rows;
use crate::prepared_changeset::{TurnInsert, render_record_body};
use crate::task_row::clamp_to_i64;

/// Whether this turn number exists.
pub(super) fn turn_exists(connection: &Connection, insert: &TurnInsert) -> Result<bool, PortError> {
    connection
        .prepare_cached("SELECT 1 FROM turns WHERE member = ? AND turn = ?")
        .and_then(|mut select| select.exists(params![insert.member, insert.turn]))
        .map_err(from_sqlite)
}

pub(super) fn insert_turn(
    connection: &Connection,
    insert: &TurnInsert,
    receipt: &Receipt,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached("INSERT INTO turns (member, turn, body) VALUES (?, ?, ?)")?
        .execute(params![
            insert.member,
            insert.turn,
            render_record_body(&insert.body, receipt)
        ])
        .map(|_| ())
}

fn read_stored_turn(row: &Row<'_>) -> rusqlite::Result<StoredTurn> {
    Ok(StoredTurn {
        turn: row.get::<_, i64>(0)?.unsigned_abs(),
        body: row.get(1)?,
    })
}

pub(super) fn select_turns_from(
    connection: &Connection,
    member: &MemberKey,
    from: u64,
    limit: u32,
) -> Result<Vec<StoredTurn>, PortError> {
    let sql = "SELECT turn, body FROM turns WHERE member = ? AND turn >= ? ORDER BY turn LIMIT ?";
    let parameters = params![member.to_string(), clamp_to_i64(from), limit];
    query_rows(connection, sql, parameters, read_stored_turn)
}

pub(super) fn select_last_turns(
    connection: &Connection,
    member: &MemberKey,
    limit: u32,
) -> Result<Vec<StoredTurn>, PortError> {
    let sql = "SELECT turn, body FROM turns WHERE member = ? ORDER BY turn DESC LIMIT ?";
    let mut found = query_rows(
        connection,
        sql,
        params![member.to_string(), limit],
        read_stored_turn,
    )?;
    found.reverse();
    Ok(found)
}
