//! SQL statements for the boards that a batch of changesets changes: reads and writes their head rows, adds
//! rows to their version logs, and deletes log rows that no kept version needs (pruning).
//!
//! A statement handles all boards of the batch at once: each parameter is an array with one column of all
//! rows, and `unnest` turns the arrays into rows. What is written is decided in `board_plan`.

use super::board_plan::BoardPlan;
use super::connection::PgParam;
use crate::board_row::BoardHeadRow;

pub(super) const SELECT_BOARDS: &str = "SELECT name, version, bytes, ends_line, changed_by, changed_at, base, splices, floor, \
     stamp, lease_holder, lease_token, lease_until FROM boards WHERE name = ANY($1::text[])";
pub(super) const UPSERT_BOARDS: &str = "INSERT INTO boards (name, version, bytes, ends_line, changed_by, changed_at, base, \
     splices, floor, stamp, lease_holder, lease_token, lease_until) \
     SELECT * FROM unnest($1::text[], $2::bigint[], $3::bigint[], $4::bigint[], $5::text[], $6::text[], $7::bigint[], \
     $8::bigint[], $9::bigint[], $10::bigint[], $11::text[], $12::text[], $13::bigint[]) \
     ON CONFLICT (name) DO UPDATE SET version = excluded.version, bytes = excluded.bytes, \
     ends_line = excluded.ends_line, changed_by = excluded.changed_by, changed_at = excluded.changed_at, \
     base = excluded.base, splices = excluded.splices, floor = excluded.floor, stamp = excluded.stamp, \
     lease_holder = excluded.lease_holder, lease_token = excluded.lease_token, lease_until = excluded.lease_until";
pub(super) const INSERT_BOARD_LOG: &str = "INSERT INTO board_log (board, version, kind, action, changed_by, changed_at, bytes, \
     start, removed, stamp, text) \
     SELECT board, version, kind, action, changed_by, changed_at, bytes, start, removed, 0, text \
     FROM unnest($1::text[], $2::bigint[], $3::text[], $4::text[], $5::text[], $6::text[], $7::bigint[], $8::bigint[], \
     $9::bigint[], $10::text[]) \
     AS n (board, version, kind, action, changed_by, changed_at, bytes, start, removed, text)";
/// Deletes log rows older than the newest whole text that is at or before the oldest version in history.
pub(super) const PRUNE_BOARD_LOG: &str = "WITH cut AS MATERIALIZED (SELECT n.board, n.floor, (SELECT max(l.version) \
     FROM board_log AS l WHERE l.board = n.board AND l.kind = 'whole' AND l.version <= n.oldest) AS keep \
     FROM unnest($1::text[], $2::bigint[], $3::bigint[]) AS n (board, floor, oldest)), \
     gone AS (DELETE FROM board_log USING cut WHERE board_log.board = cut.board \
     AND board_log.version >= cut.floor AND board_log.version < cut.keep) \
     UPDATE boards SET floor = cut.keep FROM cut WHERE boards.name = cut.board AND boards.floor < cut.keep";

/// Head rows of boards, as one array per column.
#[derive(Debug, Default)]
pub(super) struct BoardHeadColumns<'a> {
    name: Vec<&'a str>,
    version: Vec<i64>,
    bytes: Vec<i64>,
    ends_line: Vec<i64>,
    changed_by: Vec<&'a str>,
    changed_at: Vec<&'a str>,
    base: Vec<i64>,
    splices: Vec<i64>,
    floor: Vec<i64>,
    stamp: Vec<i64>,
    lease_holder: Vec<Option<&'a str>>,
    lease_token: Vec<Option<&'a str>>,
    lease_until: Vec<Option<i64>>,
}

impl<'a> BoardHeadColumns<'a> {
    pub(super) fn from_plan(plan: &'a BoardPlan<'_>) -> Self {
        let mut all = Self::default();
        for head in plan.changed_heads() {
            all.push_row(head);
        }
        all
    }

    fn push_row(&mut self, head: &'a BoardHeadRow) {
        self.name.push(&head.name);
        self.version.push(head.version);
        self.bytes.push(head.bytes);
        self.ends_line.push(head.ends_line);
        self.changed_by.push(&head.changed_by);
        self.changed_at.push(&head.changed_at);
        self.base.push(head.base);
        self.splices.push(head.splices);
        self.floor.push(head.floor);
        self.stamp.push(head.mtime_nanos);
        self.lease_holder.push(head.lease_holder.as_deref());
        self.lease_token.push(head.lease_token.as_deref());
        self.lease_until.push(head.lease_until);
    }

    /// Returns the columns in the order of [`crate::board_row::BOARD_HEAD_COLUMNS`].
    pub(super) fn as_params(&self) -> [PgParam<'_>; 13] {
        [
            &self.name,
            &self.version,
            &self.bytes,
            &self.ends_line,
            &self.changed_by,
            &self.changed_at,
            &self.base,
            &self.splices,
            &self.floor,
            &self.stamp,
            &self.lease_holder,
            &self.lease_token,
            &self.lease_until,
        ]
    }
}

/// New log rows of boards.
#[derive(Debug, Default)]
pub(super) struct BoardLogColumns<'a> {
    board: Vec<&'a str>,
    version: Vec<i64>,
    kind: Vec<&'a str>,
    action: Vec<&'a str>,
    changed_by: Vec<&'a str>,
    changed_at: Vec<&'a str>,
    bytes: Vec<i64>,
    start: Vec<i64>,
    removed: Vec<i64>,
    text: Vec<&'a str>,
}

impl<'a> BoardLogColumns<'a> {
    pub(super) fn from_plan(plan: &'a BoardPlan<'_>) -> Self {
        let mut all = Self::default();
        for row in plan.log_inserts() {
            all.board.push(&row.board);
            all.version.push(row.version);
            all.kind.push(row.logged.kind());
            all.action.push(row.action.as_str());
            all.changed_by.push(row.by);
            all.changed_at.push(row.at);
            all.bytes.push(row.bytes);
            all.start.push(row.start);
            all.removed.push(row.removed);
            all.text.push(row.logged.text());
        }
        all
    }

    pub(super) fn as_params(&self) -> [PgParam<'_>; 10] {
        [
            &self.board,
            &self.version,
            &self.kind,
            &self.action,
            &self.changed_by,
            &self.changed_at,
            &self.bytes,
            &self.start,
            &self.removed,
            &self.text,
        ]
    }
}

/// Boards whose logs may be pruned.
#[derive(Debug, Default)]
pub(super) struct PruneColumns<'a> {
    board: Vec<&'a str>,
    floor: Vec<i64>,
    oldest: Vec<i64>,
}

impl<'a> PruneColumns<'a> {
    pub(super) fn from_plan(plan: &'a BoardPlan<'_>) -> Self {
        let mut all = Self::default();
        for cut in plan.prunable_logs() {
            all.board.push(cut.board);
            all.floor.push(cut.floor);
            all.oldest.push(cut.oldest);
        }
        all
    }

    pub(super) fn is_empty(&self) -> bool {
        self.board.is_empty()
    }

    pub(super) fn as_params(&self) -> [PgParam<'_>; 3] {
        [&self.board, &self.floor, &self.oldest]
    }
}
