//! Applies changesets inside an SQLite transaction.
//!
//! [`Batch`] holds the open transaction of a group commit. Each changeset is first checked against the
//! revisions it expects and against the boards it writes; on a conflict none of it is applied. Board writes
//! are collected in `BoardBatch` and written when the batch is closed.

use polis_core::board::BoardName;
use polis_core::record::RecordName;
use polis_core::{AgentId, Expect, RecordKey, TaskId, Timestamp};
use polis_ops::port::Outcome;
use polis_ops::{PortError, Receipt};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::board_batch::{BoardBatch, Closed, News};
use super::error::from_sqlite;
use super::mirror::Mirror;
use super::{messages, records, turns};
use crate::prepared::{
    Prepared, Row, TASK_NUMBER, holds, no_numbers_left, turn_added_twice, waits_for_receipt,
};
use crate::row::{TaskKeys, TaskRow, number};

/// An open transaction to which changesets are applied one after another.
#[derive(Debug)]
pub(super) struct Batch<'a> {
    connection: &'a Connection,
    sequence: i64,
    boards: BoardBatch<'a>,
}

impl<'a> Batch<'a> {
    pub(super) fn begin(connection: &'a Connection, mirror: &'a Mirror) -> Result<Self, PortError> {
        Ok(Self {
            connection,
            sequence: number(last_sequence(connection)?)?,
            boards: BoardBatch::new(connection, mirror),
        })
    }

    /// Marks a board whose file the caller has already locked against other programs.
    pub(super) fn with_guarded(mut self, name: Option<&'a BoardName>) -> Self {
        self.boards = self.boards.with_guarded(name);
        self
    }

    /// Reconciles a board's file with the store and logs an external edit if there was one.
    pub(super) fn meet(&mut self, name: &BoardName) -> Result<(), PortError> {
        if let Some(News { event, at }) = self.boards.meet(name)? {
            let subject = event.subject.text(None);
            let by = AgentId::EXTERNAL;
            self.log(at.as_str(), by, event.kind, &subject, &event.data)?;
        }
        Ok(())
    }

    /// Writes the collected board changes; call just before the commit.
    pub(super) fn close(self) -> Result<Closed, PortError> {
        self.boards.close()
    }

    fn log(
        &mut self,
        at: &str,
        actor: &str,
        kind: &str,
        subject: &str,
        data: &str,
    ) -> Result<(), PortError> {
        self.sequence += 1;
        self.connection
            .prepare_cached("INSERT INTO events (seq, at, actor, kind, subject, data) VALUES (?, ?, ?, ?, ?, ?)")
            .and_then(|mut insert| {
                insert.execute(params![self.sequence, at, actor, kind, subject, data])
            })
            .map(|_| ())
            .map_err(from_sqlite)
    }

    /// Applies a changeset, or returns a conflict and applies none of it.
    pub(super) fn apply(&mut self, changes: &Prepared) -> Result<Outcome, PortError> {
        for write in &changes.writes {
            match write {
                Row::Board(write) => self.meet(&write.board)?,
                Row::Lease(write) => self.meet(&write.board)?,
                _ => {}
            }
        }
        if let Some(key) = self.boards.conflict(&changes.writes, &changes.actor)? {
            return Ok(Outcome::Conflict(key));
        }
        if let Some(key) = turn_added_twice(&changes.writes) {
            return Ok(Outcome::Conflict(key));
        }
        let mut found = Vec::with_capacity(changes.writes.len());
        for write in &changes.writes {
            match self.check(write)? {
                Ok(keys) => found.push(keys),
                Err(key) => return Ok(Outcome::Conflict(key)),
            }
        }
        let mut receipt = Receipt::default();
        let mut waiting = false;
        for (write, keys) in changes.writes.iter().zip(found) {
            match write {
                write if waits_for_receipt(write) => waiting = true,
                Row::Read { ids, .. } => {
                    messages::mark_read(self.connection, ids, &changes.at).map_err(from_sqlite)?;
                }
                Row::Board(write) => {
                    let at = Timestamp::from_stored(changes.at.clone());
                    receipt.board = Some(self.boards.change(write, &changes.actor, &at)?);
                }
                Row::Lease(write) => self.boards.lease(write)?,
                other => self
                    .write(other, keys.as_ref(), &mut receipt)
                    .map_err(from_sqlite)?,
            }
        }
        for (kind, subject, data) in &changes.events {
            let subject = subject.text(receipt.created);
            self.log(&changes.at, changes.actor.as_str(), kind, &subject, data)?;
        }
        receipt.sequence = self.sequence.unsigned_abs();
        if waiting {
            for write in changes.writes.iter().filter(|row| waits_for_receipt(row)) {
                self.write(write, None, &mut receipt).map_err(from_sqlite)?;
            }
        }
        Ok(Outcome::Committed(receipt))
    }

    /// Checks whether a write's expectation holds. Returns the index keys of the row it replaces.
    fn check(&self, write: &Row) -> Result<Result<Option<TaskKeys>, RecordKey>, PortError> {
        Ok(match write {
            Row::Task { expect, id, .. } => {
                let keys = task_keys(self.connection, *id)?;
                if holds(*expect, keys.as_ref().map(|k| k.revision)) {
                    Ok(keys)
                } else {
                    Err(RecordKey::Task(*id))
                }
            }
            Row::Agent(put) => {
                let sql = "SELECT revision FROM agents WHERE id = ?";
                if holds(put.expect, revision_of(self.connection, sql, &put.id)?) {
                    Ok(None)
                } else {
                    Err(RecordKey::Agent(put.id.clone()))
                }
            }
            Row::Workspace { expect, id, .. } => {
                let sql = "SELECT revision FROM workspaces WHERE id = ?";
                if holds(*expect, revision_of(self.connection, sql, id)?) {
                    Ok(None)
                } else {
                    Err(RecordKey::Workspace(id.clone()))
                }
            }
            Row::Fence { fence, expected } => {
                let current = number(mark(self.connection, fence.as_str())?)?;
                if current == *expected {
                    Ok(None)
                } else {
                    Err(RecordKey::Fence(*fence))
                }
            }
            Row::Record(put) => self.check_record(put.expect, &put.name)?,
            Row::Delete { expect, name } => self.check_record(*expect, name)?,
            Row::Read { recipient, ids } => {
                match messages::not_unread(self.connection, recipient, ids)? {
                    None => Ok(None),
                    Some(id) => Err(RecordKey::Message(id)),
                }
            }
            Row::Turn(put) if turns::exists(self.connection, put)? => Err(put.key()),
            Row::Turn(_)
            | Row::Create(_)
            | Row::Settle(_)
            | Row::Raise(_)
            | Row::Reserve
            | Row::Comment { .. }
            | Row::Forget { .. }
            | Row::Send { .. }
            | Row::Board(_)
            | Row::Lease(_) => Ok(None),
        })
    }

    fn check_record(
        &self,
        expect: Expect,
        name: &RecordName,
    ) -> Result<Result<Option<TaskKeys>, RecordKey>, PortError> {
        let found = records::revision(self.connection, name)?;
        Ok(if holds(expect, found) {
            Ok(None)
        } else {
            Err(RecordKey::Record(name.clone()))
        })
    }

    fn write(
        &self,
        write: &Row,
        keys: Option<&TaskKeys>,
        receipt: &mut Receipt,
    ) -> rusqlite::Result<()> {
        match write {
            Row::Create(row) => {
                let next = last_task_number(self.connection).map_err(to_sqlite)? + 1;
                let id = i64::try_from(next).unwrap_or(i64::MAX);
                receipt.created = TaskId::new(next);
                insert_task(self.connection, row, id, 0)
            }
            Row::Task {
                row,
                blocker_change,
                ..
            } => match keys {
                None => insert_task(self.connection, row, row.id, *blocker_change),
                Some(keys) if row.same_keys(keys) && *blocker_change == 0 => {
                    update_content(self.connection, row)
                }
                Some(_) => update_task(self.connection, row, *blocker_change),
            },
            Row::Settle(dependents) => settle(self.connection, dependents, receipt),
            Row::Reserve => {
                let next = last_task_number(self.connection).map_err(to_sqlite)? + 1;
                receipt.created = TaskId::new(next);
                raise(self.connection, i64::try_from(next).unwrap_or(i64::MAX))
            }
            Row::Raise(to) => raise(self.connection, *to),
            Row::Comment { task, comment } => add_comment(self.connection, *task, comment, receipt),
            Row::Agent(put) => self
                .connection
                .prepare_cached(
                    "INSERT INTO agents (id, revision, body, run, role) VALUES (?1, 1, ?2, ?3, ?4) \
                     ON CONFLICT (id) DO UPDATE SET revision = revision + 1, body = ?2, run = ?3, role = ?4",
                )?
                .execute(params![put.id.as_str(), put.body, put.run, put.role])
                .map(|_| ()),
            Row::Workspace { id, body, .. } => self
                .connection
                .prepare_cached(
                    "INSERT INTO workspaces (id, revision, body) VALUES (?1, 1, ?2) \
                     ON CONFLICT (id) DO UPDATE SET revision = revision + 1, body = ?2",
                )?
                .execute(params![id.as_str(), body])
                .map(|_| ()),
            Row::Fence { fence, expected } => self
                .connection
                .prepare_cached("INSERT OR REPLACE INTO marks (name, value) VALUES (?, ?)")?
                .execute(params![fence.as_str(), expected + 1])
                .map(|_| ()),
            Row::Record(put) => records::put(self.connection, put, receipt),
            Row::Delete { name, .. } => records::delete(self.connection, name),
            Row::Forget { kind, until } => records::forget(self.connection, *kind, *until),
            Row::Send { message, reply_to } => {
                let id = messages::send(self.connection, message, *reply_to)?;
                receipt.messages.push(id);
                Ok(())
            }
            Row::Turn(put) => turns::append(self.connection, put, receipt),
            // Boards are written when the batch is closed, see `BoardBatch`. Marking messages as read needs
            // the commit time and is done by `apply`.
            Row::Board(_) | Row::Lease(_) | Row::Read { .. } => Ok(()),
        }
    }
}

fn to_sqlite(error: PortError) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}

/// Returns the revision of the record with this id, or `None` if it does not exist.
fn revision_of(connection: &Connection, sql: &str, id: &AgentId) -> Result<Option<i64>, PortError> {
    connection
        .prepare_cached(sql)
        .and_then(|mut select| select.query_row([id.as_str()], |row| row.get(0)).optional())
        .map_err(from_sqlite)
}

fn task_keys(connection: &Connection, id: TaskId) -> Result<Option<TaskKeys>, PortError> {
    connection
        .prepare_cached(
            "SELECT revision, status, owner, owner_role, required_role, task_type, standing, lease_until \
             FROM tasks WHERE id = ?",
        )
        .and_then(|mut select| {
            select
                .query_row([number(id.number()).map_err(to_sqlite)?], |row| {
                    Ok(TaskKeys {
                        revision: row.get(0)?,
                        status: row.get(1)?,
                        owner: row.get(2)?,
                        owner_role: row.get(3)?,
                        required_role: row.get(4)?,
                        task_type: row.get(5)?,
                        standing: row.get(6)?,
                        lease_until: row.get(7)?,
                    })
                })
                .optional()
        })
        .map_err(from_sqlite)
}

fn insert_task(
    connection: &Connection,
    row: &TaskRow,
    id: i64,
    open_blockers: i64,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO tasks (id, revision, version, status, owner, owner_role, required_role, task_type, standing, \
             open_blockers, lease_until, blocked_by, blocks, created_at, updated_at, subject, rest, description) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
        )?
        .execute(params![
            id,
            row.revision,
            row.version,
            row.status,
            row.owner,
            row.owner_role,
            row.required_role,
            row.task_type,
            row.standing,
            open_blockers,
            row.lease_until,
            row.blocked_by,
            row.blocks,
            row.created_at,
            row.updated_at,
            row.subject,
            row.rest,
            row.description
        ])
        .map(|_| ())
}

/// Updates a row whose indexed columns are unchanged, so no index has to be updated.
fn update_content(connection: &Connection, row: &TaskRow) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE tasks SET revision = ?2, version = ?3, blocked_by = ?4, blocks = ?5, updated_at = ?6, \
             subject = ?7, rest = ?8, description = ?9 WHERE id = ?1",
        )?
        .execute(params![
            row.id,
            row.revision,
            row.version,
            row.blocked_by,
            row.blocks,
            row.updated_at,
            row.subject,
            row.rest,
            row.description
        ])
        .map(|_| ())
}

fn update_task(
    connection: &Connection,
    row: &TaskRow,
    blocker_change: i64,
) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "UPDATE tasks SET revision = ?2, version = ?3, status = ?4, owner = ?5, owner_role = ?6, \
             required_role = ?7, task_type = ?8, standing = ?9, open_blockers = open_blockers + ?10, \
             lease_until = ?11, blocked_by = ?12, blocks = ?13, updated_at = ?14, subject = ?15, rest = ?16, \
             description = ?17 WHERE id = ?1",
        )?
        .execute(params![
            row.id,
            row.revision,
            row.version,
            row.status,
            row.owner,
            row.owner_role,
            row.required_role,
            row.task_type,
            row.standing,
            blocker_change,
            row.lease_until,
            row.blocked_by,
            row.blocks,
            row.updated_at,
            row.subject,
            row.rest,
            row.description
        ])
        .map(|_| ())
}

fn raise(connection: &Connection, to: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO marks (name, value) VALUES (?1, ?2) \
             ON CONFLICT (name) DO UPDATE SET value = max(value, ?2)",
        )?
        .execute(params![TASK_NUMBER, to])
        .map(|_| ())
}

fn settle(
    connection: &Connection,
    dependents: &[(TaskId, i64)],
    receipt: &mut Receipt,
) -> rusqlite::Result<()> {
    let mut statement = connection.prepare_cached(
        "UPDATE tasks SET open_blockers = open_blockers - 1 WHERE id = ? RETURNING open_blockers, status",
    )?;
    for (id, column) in dependents {
        let row: Option<(i64, String)> = statement
            .query_row([column], |row| Ok((row.get(0)?, row.get(1)?)))
            .optional()?;
        if let Some((open, status)) = row
            && open == 0
            && status == "pending"
        {
            receipt.unblocked.push(*id);
        }
    }
    Ok(())
}

fn add_comment(
    connection: &Connection,
    task: i64,
    comment: &polis_core::task::NewComment,
    receipt: &mut Receipt,
) -> rusqlite::Result<()> {
    let id: i64 = connection
        .prepare_cached("SELECT coalesce(max(id), 0) + 1 FROM comments WHERE task_id = ?")?
        .query_row([task], |row| row.get(0))?;
    let body = serde_json::to_string(&comment.numbered(id.unsigned_abs()))
        .map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?;
    connection
        .prepare_cached("INSERT INTO comments (task_id, id, body) VALUES (?, ?, ?)")?
        .execute(params![task, id, body])?;
    receipt.comment = Some(id.unsigned_abs());
    Ok(())
}

/// Returns the sequence number of the newest event.
pub(super) fn last_sequence(connection: &Connection) -> Result<u64, PortError> {
    one(connection, "SELECT coalesce(max(seq), 0) FROM events")
}

/// Returns the highest task number assigned so far.
pub(super) fn last_task_number(connection: &Connection) -> Result<u64, PortError> {
    let here = one(connection, "SELECT coalesce(max(id), 0) FROM tasks")?;
    let last = here.max(mark(connection, TASK_NUMBER)?);
    if last >= TaskId::MAX {
        return Err(no_numbers_left());
    }
    Ok(last)
}

fn one(connection: &Connection, sql: &str) -> Result<u64, PortError> {
    let value: i64 = connection
        .prepare_cached(sql)
        .and_then(|mut select| select.query_row([], |row| row.get(0)))
        .map_err(from_sqlite)?;
    Ok(value.unsigned_abs())
}

/// Returns the value of a mark, 0 if it was never set.
pub(super) fn mark(connection: &Connection, name: &str) -> Result<u64, PortError> {
    let value: Option<i64> = connection
        .prepare_cached("SELECT value FROM marks WHERE name = ?")
        .and_then(|mut select| select.query_row([name], |row| row.get(0)).optional())
        .map_err(from_sqlite)?;
    Ok(value.unwrap_or(0).unsigned_abs())
}
