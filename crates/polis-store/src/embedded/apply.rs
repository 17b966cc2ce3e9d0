//! Applies changesets inside an SQLite transaction, with optimistic concurrency control.
//!
//! [`CommitBatch`] applies the changesets of a group commit one after another. Each is first checked against
//! the revisions it expects and against the boards it writes; on a conflict none of it is applied. Boards are
//! changed through `BoardBatch`, which writes their heads and files when the batch is closed.

use polis_core::board::BoardName;
use polis_core::number::saturating_cast;
use polis_core::record::RecordName;
use polis_core::{AgentId, EventKind, RecordKey, TaskId, Timestamp, WritePrecondition};
use polis_ops::port::CommitOutcome;
use polis_ops::{PortError, Receipt};
use rusqlite::{Connection, OptionalExtension as _, params};

use super::board_batch::{BoardBatch, PendingFileEvent, PostCommitFiles};
use super::error::from_sqlite;
use super::mirror::Mirror;
use super::{messages, records, turns};
use crate::prepared_changeset::{
    PreparedChangeset, PreparedWrite, TASK_NUMBER_MARK, find_duplicate_turn,
    matches_expected_revision, needs_receipt, task_numbers_exhausted_error,
};
use crate::task_row::{IndexedTaskColumns, TaskRow, to_i64};

/// An open transaction to which changesets are applied one after another.
#[derive(Debug)]
pub(super) struct CommitBatch<'a> {
    connection: &'a Connection,
    sequence: i64,
    boards: BoardBatch<'a>,
}

impl<'a> CommitBatch<'a> {
    pub(super) fn begin(connection: &'a Connection, mirror: &'a Mirror) -> Result<Self, PortError> {
        Ok(Self {
            connection,
            sequence: to_i64(last_sequence(connection)?)?,
            boards: BoardBatch::new(connection, mirror),
        })
    }

    /// Marks a board whose file the caller has already locked against other programs.
    pub(super) fn with_guarded_board(mut self, name: Option<&'a BoardName>) -> Self {
        self.boards = self.boards.with_guarded_board(name);
        self
    }

    /// Reconciles a board's file with the store and logs an external edit if there was one.
    pub(super) fn reconcile_file(&mut self, name: &BoardName) -> Result<(), PortError> {
        if let Some(PendingFileEvent { event, at }) = self.boards.reconcile_file(name)? {
            let subject = event.subject.to_log_text(None);
            let (actor, data) = (AgentId::EXTERNAL, event.payload.to_json());
            self.append_event(at.as_str(), actor, event.kind(), &subject, &data)?;
        }
        Ok(())
    }

    /// Writes the collected board changes; call just before the commit.
    pub(super) fn close_boards(self) -> Result<PostCommitFiles, PortError> {
        self.boards.close()
    }

    fn append_event(
        &mut self,
        at: &str,
        actor: &str,
        kind: EventKind,
        subject: &str,
        data: &str,
    ) -> Result<(), PortError> {
        self.sequence += 1;
        self.connection
            .prepare_cached("INSERT INTO events (seq, at, actor, kind, subject, data) VALUES (?, ?, ?, ?, ?, ?)")
            .and_then(|mut insert| {
                insert.execute(params![self.sequence, at, actor, kind.as_str(), subject, data])
            })
            .map(|_| ())
            .map_err(from_sqlite)
    }

    /// Applies a changeset, or returns a conflict and applies none of it.
    pub(super) fn apply_changeset(
        &mut self,
        changes: &PreparedChangeset,
    ) -> Result<CommitOutcome, PortError> {
        for write in &changes.writes {
            match write {
                PreparedWrite::ChangeBoard(write) => self.reconcile_file(&write.board)?,
                PreparedWrite::LeaseBoard(write) => self.reconcile_file(&write.board)?,
                _ => {}
            }
        }
        if let Some(key) = self.boards.find_conflict(&changes.writes, &changes.actor)? {
            return Ok(CommitOutcome::Conflict(key));
        }
        if let Some(key) = find_duplicate_turn(&changes.writes) {
            return Ok(CommitOutcome::Conflict(key));
        }
        let mut replaced_keys = Vec::with_capacity(changes.writes.len());
        for write in &changes.writes {
            match self.check_expectation(write)? {
                Ok(keys) => replaced_keys.push(keys),
                Err(key) => return Ok(CommitOutcome::Conflict(key)),
            }
        }
        let mut receipt = Receipt::default();
        let mut has_deferred = false;
        for (write, keys) in changes.writes.iter().zip(replaced_keys) {
            match write {
                write if needs_receipt(write) => has_deferred = true,
                PreparedWrite::MarkMessagesRead { ids, .. } => {
                    messages::mark_messages_read(self.connection, ids, &changes.at)
                        .map_err(from_sqlite)?;
                }
                PreparedWrite::ChangeBoard(write) => {
                    let at = Timestamp::from_stored(changes.at.clone());
                    receipt.board = Some(self.boards.apply_change(write, &changes.actor, &at)?);
                }
                PreparedWrite::LeaseBoard(write) => self.boards.apply_lease(write)?,
                other => self
                    .apply_write(other, keys.as_ref(), &mut receipt)
                    .map_err(from_sqlite)?,
            }
        }
        for (kind, subject, data) in &changes.events {
            let subject = subject.to_log_text(receipt.created);
            self.append_event(&changes.at, changes.actor.as_str(), *kind, &subject, data)?;
        }
        receipt.sequence = self.sequence.unsigned_abs();
        if has_deferred {
            for write in changes.writes.iter().filter(|row| needs_receipt(row)) {
                self.apply_write(write, None, &mut receipt)
                    .map_err(from_sqlite)?;
            }
        }
        Ok(CommitOutcome::Committed(receipt))
    }

    /// Checks whether a write's expectation holds. Returns the indexed columns of the task row it replaces,
    /// if any; or, as the inner error, the key of the record on which the expectation fails.
    fn check_expectation(
        &self,
        write: &PreparedWrite,
    ) -> Result<Result<Option<IndexedTaskColumns>, RecordKey>, PortError> {
        Ok(match write {
            PreparedWrite::PutTask { expect, id, .. } => {
                let keys = select_task_keys(self.connection, *id)?;
                if matches_expected_revision(*expect, keys.as_ref().map(|k| k.revision)) {
                    Ok(keys)
                } else {
                    Err(RecordKey::Task(*id))
                }
            }
            PreparedWrite::PutAgent(upsert) => {
                let sql = "SELECT revision FROM agents WHERE id = ?";
                if matches_expected_revision(
                    upsert.expect,
                    select_revision(self.connection, sql, &upsert.id)?,
                ) {
                    Ok(None)
                } else {
                    Err(RecordKey::Agent(upsert.id.clone()))
                }
            }
            PreparedWrite::PutWorkspace { expect, id, .. } => {
                let sql = "SELECT revision FROM workspaces WHERE id = ?";
                if matches_expected_revision(*expect, select_revision(self.connection, sql, id)?) {
                    Ok(None)
                } else {
                    Err(RecordKey::Workspace(id.clone()))
                }
            }
            PreparedWrite::TouchFence { fence, expected } => {
                let current = to_i64(read_mark(self.connection, fence.as_str())?)?;
                if current == *expected {
                    Ok(None)
                } else {
                    Err(RecordKey::Fence(*fence))
                }
            }
            PreparedWrite::PutRecord(upsert) => {
                self.check_record_expectation(upsert.expect, &upsert.name)?
            }
            PreparedWrite::DeleteRecord { expect, name } => {
                self.check_record_expectation(*expect, name)?
            }
            PreparedWrite::MarkMessagesRead { recipient, ids } => {
                match messages::find_not_unread(self.connection, recipient, ids)? {
                    None => Ok(None),
                    Some(id) => Err(RecordKey::Message(id)),
                }
            }
            PreparedWrite::AppendTurn(turn_insert)
                if turns::turn_exists(self.connection, turn_insert)? =>
            {
                Err(turn_insert.conflict_key())
            }
            PreparedWrite::AppendTurn(_)
            | PreparedWrite::CreateTask(_)
            | PreparedWrite::CloseBlocker(_)
            | PreparedWrite::RaiseTaskNumber(_)
            | PreparedWrite::ReserveTaskNumber
            | PreparedWrite::AddComment { .. }
            | PreparedWrite::DeleteExpiredRecords { .. }
            | PreparedWrite::SendMessage { .. }
            | PreparedWrite::ChangeBoard(_)
            | PreparedWrite::LeaseBoard(_) => Ok(None),
        })
    }

    fn check_record_expectation(
        &self,
        expect: WritePrecondition,
        name: &RecordName,
    ) -> Result<Result<Option<IndexedTaskColumns>, RecordKey>, PortError> {
        let found = records::select_record_revision(self.connection, name)?;
        Ok(if matches_expected_revision(expect, found) {
            Ok(None)
        } else {
            Err(RecordKey::Record(name.clone()))
        })
    }

    fn apply_write(
        &self,
        write: &PreparedWrite,
        keys: Option<&IndexedTaskColumns>,
        receipt: &mut Receipt,
    ) -> rusqlite::Result<()> {
        match write {
            PreparedWrite::CreateTask(row) => {
                let next = last_task_number(self.connection).map_err(wrap_port_error)? + 1;
                let id = saturating_cast::<i64>(next);
                receipt.created = TaskId::new(next);
                insert_task(self.connection, row, id, 0)
            }
            PreparedWrite::PutTask {
                row,
                blocker_change,
                ..
            } => match keys {
                None => insert_task(self.connection, row, row.id, *blocker_change),
                Some(keys) if row.has_same_keys(keys) && *blocker_change == 0 => {
                    update_unindexed_columns(self.connection, row)
                }
                Some(_) => update_task(self.connection, row, *blocker_change),
            },
            PreparedWrite::CloseBlocker(dependents) => close_blocker(self.connection, dependents, receipt),
            PreparedWrite::ReserveTaskNumber => {
                let next = last_task_number(self.connection).map_err(wrap_port_error)? + 1;
                receipt.created = TaskId::new(next);
                raise_task_number(self.connection, saturating_cast::<i64>(next))
            }
            PreparedWrite::RaiseTaskNumber(to) => raise_task_number(self.connection, *to),
            PreparedWrite::AddComment { task, comment } => insert_comment(self.connection, *task, comment, receipt),
            PreparedWrite::PutAgent(upsert) => self
                .connection
                .prepare_cached(
                    "INSERT INTO agents (id, revision, body, run, role) VALUES (?1, 1, ?2, ?3, ?4) \
                     ON CONFLICT (id) DO UPDATE SET revision = revision + 1, body = ?2, run = ?3, role = ?4",
                )?
                .execute(params![upsert.id.as_str(), upsert.body, upsert.run, upsert.role])
                .map(|_| ()),
            PreparedWrite::PutWorkspace { id, body, .. } => self
                .connection
                .prepare_cached(
                    "INSERT INTO workspaces (id, revision, body) VALUES (?1, 1, ?2) \
                     ON CONFLICT (id) DO UPDATE SET revision = revision + 1, body = ?2",
                )?
                .execute(params![id.as_str(), body])
                .map(|_| ()),
            PreparedWrite::TouchFence { fence, expected } => self
                .connection
                .prepare_cached("INSERT OR REPLACE INTO marks (name, value) VALUES (?, ?)")?
                .execute(params![fence.as_str(), expected + 1])
                .map(|_| ()),
            PreparedWrite::PutRecord(upsert) => records::upsert_record(self.connection, upsert, receipt),
            PreparedWrite::DeleteRecord { name, .. } => records::delete_record(self.connection, name),
            PreparedWrite::DeleteExpiredRecords { kind, until } => records::delete_expired_records(self.connection, *kind, *until),
            PreparedWrite::SendMessage { message, reply_to } => {
                let id = messages::insert_message(self.connection, message, *reply_to)?;
                receipt.messages.push(id);
                Ok(())
            }
            PreparedWrite::AppendTurn(turn_insert) => turns::insert_turn(self.connection, turn_insert, receipt),
            // `apply_changeset` changes boards through `BoardBatch`, and marks messages as read because that
            // needs the commit time.
            PreparedWrite::ChangeBoard(_) | PreparedWrite::LeaseBoard(_) | PreparedWrite::MarkMessagesRead { .. } => Ok(()),
        }
    }
}

fn wrap_port_error(error: PortError) -> rusqlite::Error {
    rusqlite::Error::ToSqlConversionFailure(Box::new(error))
}

/// Returns the revision of the record with this id, or `None` if it does not exist.
fn select_revision(
    connection: &Connection,
    sql: &str,
    id: &AgentId,
) -> Result<Option<i64>, PortError> {
    connection
        .prepare_cached(sql)
        .and_then(|mut select| select.query_row([id.as_str()], |row| row.get(0)).optional())
        .map_err(from_sqlite)
}

fn select_task_keys(
    connection: &Connection,
    id: TaskId,
) -> Result<Option<IndexedTaskColumns>, PortError> {
    connection
        .prepare_cached(
            "SELECT revision, status, owner, owner_role, required_role, task_type, priority, standing, lease_until \
             FROM tasks WHERE id = ?",
        )
        .and_then(|mut select| {
            select
                .query_row([to_i64(id.number()).map_err(wrap_port_error)?], |row| {
                    Ok(IndexedTaskColumns {
                        revision: row.get(0)?,
                        status: row.get(1)?,
                        owner: row.get(2)?,
                        owner_role: row.get(3)?,
                        required_role: row.get(4)?,
                        task_type: row.get(5)?,
                        priority: row.get(6)?,
                        standing: row.get(7)?,
                        lease_until: row.get(8)?,
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
            "INSERT INTO tasks (id, revision, version, status, owner, owner_role, required_role, task_type, priority, standing, \
             open_blockers, lease_until, blocked_by, blocks, created_at, updated_at, subject, rest, description) \
             VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
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
            row.priority,
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
fn update_unindexed_columns(connection: &Connection, row: &TaskRow) -> rusqlite::Result<()> {
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
             required_role = ?7, task_type = ?8, priority = ?9, standing = ?10, \
             open_blockers = open_blockers + ?11, lease_until = ?12, blocked_by = ?13, blocks = ?14, \
             updated_at = ?15, subject = ?16, rest = ?17, description = ?18 WHERE id = ?1",
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
            row.priority,
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

fn raise_task_number(connection: &Connection, to: i64) -> rusqlite::Result<()> {
    connection
        .prepare_cached(
            "INSERT INTO marks (name, value) VALUES (?1, ?2) \
             ON CONFLICT (name) DO UPDATE SET value = max(value, ?2)",
        )?
        .execute(params![TASK_NUMBER_MARK, to])
        .map(|_| ())
}

fn close_blocker(
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

fn insert_comment(
    connection: &Connection,
    task: i64,
    comment: &polis_core::task::NewComment,
    receipt: &mut Receipt,
) -> rusqlite::Result<()> {
    let id: i64 = connection
        .prepare_cached("SELECT coalesce(max(id), 0) + 1 FROM comments WHERE task_id = ?")?
        .query_row([task], |row| row.get(0))?;
    let body = serde_json::to_string(&comment.with_id(id.unsigned_abs()))
        .map_err(|e| rusqlite::Error::ToSqlConversionFailure(Box::new(e)))?;
    connection
        .prepare_cached("INSERT INTO comments (task_id, id, body) VALUES (?, ?, ?)")?
        .execute(params![task, id, body])?;
    receipt.comment = Some(id.unsigned_abs());
    Ok(())
}

/// Returns the sequence number of the newest event.
pub(super) fn last_sequence(connection: &Connection) -> Result<u64, PortError> {
    select_number(connection, "SELECT coalesce(max(seq), 0) FROM events")
}

/// Returns the highest task number assigned so far. Fails with `Internal` if there are no numbers left.
pub(super) fn last_task_number(connection: &Connection) -> Result<u64, PortError> {
    let highest = select_number(connection, "SELECT coalesce(max(id), 0) FROM tasks")?;
    let last = highest.max(read_mark(connection, TASK_NUMBER_MARK)?);
    if last >= TaskId::MAX {
        return Err(task_numbers_exhausted_error());
    }
    Ok(last)
}

fn select_number(connection: &Connection, sql: &str) -> Result<u64, PortError> {
    let value: i64 = connection
        .prepare_cached(sql)
        .and_then(|mut select| select.query_row([], |row| row.get(0)))
        .map_err(from_sqlite)?;
    Ok(value.unsigned_abs())
}

/// Returns the value of a mark, 0 if it was never set.
pub(super) fn read_mark(connection: &Connection, name: &str) -> Result<u64, PortError> {
    let value: Option<i64> = connection
        .prepare_cached("SELECT value FROM marks WHERE name = ?")
        .and_then(|mut select| select.query_row([name], |row| row.get(0)).optional())
        .map_err(from_sqlite)?;
    Ok(value.unwrap_or(0).unsigned_abs())
}
