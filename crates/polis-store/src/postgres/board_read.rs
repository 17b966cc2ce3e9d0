//! Read queries for boards: heads, texts and versions.

use std::sync::Arc;

use polis_core::Timestamp;
use polis_core::board::{BoardHead, BoardName, VersionEntry};
use polis_ops::PortError;
use polis_ops::port::{BoardState, BoardText};
use tokio_postgres::{Error, Row};

use super::error::damaged;
use super::pool::Pool;
use super::read::{column, mark};
use crate::board_row::{
    BEGAN_AT, HEAD_COLUMNS, HeadRow, LogRow, ROWS_OF_VERSION, VERSION_COLUMNS, assemble,
    version_entry,
};
use crate::row::{bound, number};

/// Reads a board's head, in the order of [`HEAD_COLUMNS`].
pub(super) fn head_row(row: &Row) -> Result<HeadRow, Error> {
    Ok(HeadRow {
        name: row.try_get(0)?,
        version: row.try_get(1)?,
        bytes: row.try_get(2)?,
        ends_line: row.try_get(3)?,
        changed_by: row.try_get(4)?,
        changed_at: row.try_get(5)?,
        base: row.try_get(6)?,
        splices: row.try_get(7)?,
        floor: row.try_get(8)?,
        stamp: row.try_get(9)?,
        lease_holder: row.try_get(10)?,
        lease_token: row.try_get(11)?,
        lease_until: row.try_get(12)?,
    })
}

fn head(row: &Row) -> Result<BoardHead, PortError> {
    head_row(row).map_err(|e| damaged().because(e))?.head()
}

pub(super) async fn board(pool: &Pool, name: &BoardName) -> Result<Option<BoardState>, PortError> {
    let sql = format!("SELECT {HEAD_COLUMNS} FROM boards WHERE name = $1");
    let rows = pool.query(&sql, &[&name.to_string()]).await?;
    rows.first()
        .map(|row| {
            Ok(BoardState {
                head: head(row)?,
                noticed: None,
            })
        })
        .transpose()
}

pub(super) async fn boards(pool: &Pool) -> Result<Vec<BoardHead>, PortError> {
    let sql = format!("SELECT {HEAD_COLUMNS} FROM boards ORDER BY name");
    let rows = pool.query(&sql, &[]).await?;
    rows.iter().map(head).collect()
}

pub(super) async fn text(
    pool: &Pool,
    name: &BoardName,
    version: u64,
) -> Result<Option<BoardText>, PortError> {
    let rows = pool
        .query(ROWS_OF_VERSION, &[&name.to_string(), &bound(version)])
        .await?;
    let rows = rows.iter().map(|row| {
        Ok(LogRow {
            kind: column(row, 0)?,
            start: column(row, 1)?,
            removed: column(row, 2)?,
            text: column(row, 3)?,
            version: column(row, 4)?,
        })
    });
    let text = assemble(name, version, rows)?;
    Ok(text.map(|text| BoardText {
        version,
        text: Arc::new(text),
    }))
}

pub(super) async fn versions(
    pool: &Pool,
    name: &BoardName,
    limit: u32,
) -> Result<Vec<VersionEntry>, PortError> {
    let sql = format!(
        "SELECT {VERSION_COLUMNS} FROM board_log WHERE board = $1 ORDER BY version DESC LIMIT $2"
    );
    let rows = pool
        .query(&sql, &[&name.to_string(), &i64::from(limit)])
        .await?;
    rows.iter()
        .map(|row| {
            Ok(version_entry(
                column(row, 0)?,
                column(row, 1)?,
                column(row, 2)?,
                column(row, 3)?,
                column(row, 4)?,
            ))
        })
        .collect()
}

pub(super) async fn began_at(pool: &Pool) -> Result<Timestamp, PortError> {
    let millis = mark(pool, BEGAN_AT).await?;
    Ok(Timestamp::from_millis(number(millis)?))
}
