//! Read queries for boards in PostgreSQL: heads, texts and versions.

use std::sync::Arc;

use polis_core::Timestamp;
use polis_core::board::{BoardHead, BoardName, VersionEntry};
use polis_ops::PortError;
use polis_ops::port::{BoardState, BoardText};
use tokio_postgres::{Error, Row};

use super::error::damaged_row_error;
use super::pool::ReadPool;
use super::read_queries::{read_column, read_mark};
use crate::board_row::{
    BOARD_HEAD_COLUMNS, BOARD_VERSION_COLUMNS, BoardHeadRow, SELECT_VERSION_LOG_ROWS,
    STORE_CREATED_MARK, VersionLogRow, assemble_version_text, build_version_entry,
};
use crate::task_row::{clamp_to_i64, to_i64};

/// Reads a board's head, in the order of [`BOARD_HEAD_COLUMNS`].
pub(super) fn read_head_row(row: &Row) -> Result<BoardHeadRow, Error> {
    Ok(BoardHeadRow {
        name: row.try_get(0)?,
        version: row.try_get(1)?,
        bytes: row.try_get(2)?,
        ends_line: row.try_get(3)?,
        changed_by: row.try_get(4)?,
        changed_at: row.try_get(5)?,
        base: row.try_get(6)?,
        splices: row.try_get(7)?,
        floor: row.try_get(8)?,
        mtime_nanos: row.try_get(9)?,
        lease_holder: row.try_get(10)?,
        lease_token: row.try_get(11)?,
        lease_until: row.try_get(12)?,
    })
}

fn parse_head(row: &Row) -> Result<BoardHead, PortError> {
    read_head_row(row)
        .map_err(|e| damaged_row_error().with_source(e))?
        .into_head()
}

pub(super) async fn select_board(
    pool: &ReadPool,
    name: &BoardName,
) -> Result<Option<BoardState>, PortError> {
    let sql = format!("SELECT {BOARD_HEAD_COLUMNS} FROM boards WHERE name = $1");
    let rows = pool.query(&sql, &[&name.to_string()]).await?;
    rows.first()
        .map(|row| {
            Ok(BoardState {
                head: parse_head(row)?,
                file_change: None,
            })
        })
        .transpose()
}

pub(super) async fn select_boards(pool: &ReadPool) -> Result<Vec<BoardHead>, PortError> {
    let sql = format!("SELECT {BOARD_HEAD_COLUMNS} FROM boards ORDER BY name");
    let rows = pool.query(&sql, &[]).await?;
    rows.iter().map(parse_head).collect()
}

pub(super) async fn select_version_text(
    pool: &ReadPool,
    name: &BoardName,
    version: u64,
) -> Result<Option<BoardText>, PortError> {
    let rows = pool
        .query(
            SELECT_VERSION_LOG_ROWS,
            &[&name.to_string(), &clamp_to_i64(version)],
        )
        .await?;
    let rows = rows.iter().map(|row| {
        Ok(VersionLogRow {
            kind: read_column(row, 0)?,
            start: read_column(row, 1)?,
            removed: read_column(row, 2)?,
            text: read_column(row, 3)?,
            version: read_column(row, 4)?,
        })
    });
    let text = assemble_version_text(name, version, rows)?;
    Ok(text.map(|text| BoardText {
        version,
        text: Arc::new(text),
    }))
}

pub(super) async fn select_versions(
    pool: &ReadPool,
    name: &BoardName,
    limit: u32,
) -> Result<Vec<VersionEntry>, PortError> {
    let sql = format!(
        "SELECT {BOARD_VERSION_COLUMNS} FROM board_log WHERE board = $1 ORDER BY version DESC LIMIT $2"
    );
    let rows = pool
        .query(&sql, &[&name.to_string(), &i64::from(limit)])
        .await?;
    rows.iter()
        .map(|row| {
            Ok(build_version_entry(
                read_column(row, 0)?,
                read_column(row, 1)?,
                read_column(row, 2)?,
                read_column(row, 3)?,
                read_column(row, 4)?,
            ))
        })
        .collect()
}

pub(super) async fn read_created_at(pool: &ReadPool) -> Result<Timestamp, PortError> {
    let millis = read_mark(pool, STORE_CREATED_MARK).await?;
    Ok(Timestamp::from_millis(to_i64(millis)?))
}
