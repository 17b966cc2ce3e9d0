//! Batch planning: determines, without database access, what a batch of changesets writes and which of them
//! conflict.
//!
//! A batch takes two round trips: the first reads the state that its changesets need ([`BatchReadSet`]), the
//! second writes the result. In between, [`BatchPlan`] applies the changesets one after another to that
//! state, so that each sees the effects of the ones before it. Boards, records, messages and turns have plans
//! of their own.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use polis_core::record::RecordName;
use polis_core::{EventKind, RecordKey, TaskId};
use polis_ops::port::CommitOutcome;
use polis_ops::{PortError, Receipt};

use super::board_plan::{BoardPlan, StagedBoards};
use super::messages::{MESSAGE_NUMBER_MARK, MessagePlan};
use super::records::{RecordPlan, RecordSnapshot};
use super::turns::{TurnKey, TurnPlan};
use crate::board_row::BoardHeadRow;
use crate::prepared_changeset::{
    AgentUpsert, PreparedChangeset, PreparedWrite, TASK_NUMBER_MARK, find_duplicate_turn,
    matches_expected_revision, needs_receipt, task_numbers_exhausted_error,
};
use crate::task_row::{TaskRow, clamp_to_i64, to_i64};

/// Mark with the sequence number of the newest event.
pub(super) const LOG_HEAD_MARK: &str = "log-head";

/// The keys of the rows that have to be read before a batch can be planned.
#[derive(Debug, Default)]
pub(super) struct BatchReadSet<'a> {
    /// Tasks whose state is needed.
    pub(super) tasks: BTreeSet<i64>,
    /// Agents whose revisions are needed.
    pub(super) agents: BTreeSet<&'a str>,
    /// Workspaces whose revisions are needed.
    pub(super) workspaces: BTreeSet<&'a str>,
    /// Boards whose heads are needed.
    pub(super) boards: BTreeSet<String>,
    /// Tasks whose last comment number is needed.
    pub(super) comments: BTreeSet<i64>,
    /// Records whose revisions are needed.
    pub(super) records: BTreeSet<&'a RecordName>,
    /// Messages, with their mailboxes, that are expected to be unread.
    pub(super) messages: BTreeSet<(&'a str, i64)>,
    /// Turns that are expected not to exist.
    pub(super) turns: BTreeSet<TurnKey<'a>>,
    /// Whether the batch writes records, messages or turns, so that their statements are needed.
    pub(super) writes_documents: bool,
    /// Whether the highest task number is needed.
    pub(super) last_task: bool,
}

impl<'a> BatchReadSet<'a> {
    pub(super) fn from_batch(batch: impl Iterator<Item = &'a PreparedChangeset>) -> Self {
        let mut needs = Self::default();
        for write in batch.flat_map(|changes| &changes.writes) {
            match write {
                PreparedWrite::CreateTask(_) | PreparedWrite::ReserveTaskNumber => {
                    needs.last_task = true;
                }
                PreparedWrite::PutTask { row, .. } => {
                    needs.tasks.insert(row.id);
                }
                PreparedWrite::CloseBlocker(dependents) => {
                    needs.tasks.extend(dependents.iter().map(|(_, n)| n));
                }
                PreparedWrite::AddComment { task, .. } => {
                    needs.comments.insert(*task);
                }
                PreparedWrite::PutAgent(upsert) => {
                    needs.agents.insert(upsert.id.as_str());
                }
                PreparedWrite::PutWorkspace { id, .. } => {
                    needs.workspaces.insert(id.as_str());
                }
                PreparedWrite::ChangeBoard(write) => {
                    needs.boards.insert(write.board.to_string());
                }
                PreparedWrite::LeaseBoard(write) => {
                    needs.boards.insert(write.board.to_string());
                }
                PreparedWrite::PutRecord(upsert) => {
                    needs.records.insert(&upsert.name);
                    needs.writes_documents = true;
                }
                PreparedWrite::DeleteRecord { name, .. } => {
                    needs.records.insert(name);
                    needs.writes_documents = true;
                }
                PreparedWrite::DeleteExpiredRecords { .. } | PreparedWrite::SendMessage { .. } => {
                    needs.writes_documents = true;
                }
                PreparedWrite::MarkMessagesRead { recipient, ids } => {
                    let message_key = |id: &u64| (recipient.as_str(), clamp_to_i64(*id));
                    needs.messages.extend(ids.iter().map(message_key));
                    needs.writes_documents = true;
                }
                PreparedWrite::AppendTurn(turn_insert) => {
                    needs
                        .turns
                        .insert((turn_insert.member.as_str(), turn_insert.turn));
                    needs.writes_documents = true;
                }
                // Marks are few and always read.
                PreparedWrite::RaiseTaskNumber(_) | PreparedWrite::TouchFence { .. } => {}
            }
        }
        needs
    }
}

/// The part of a task that planning needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct TaskSnapshot {
    pub(super) revision: i64,
    pub(super) open_blockers: i64,
    pub(super) is_pending: bool,
}

/// The rows that were read for a batch, by key: revisions, last comment numbers, recipients of unread
/// messages, existing turns, and values of marks.
#[derive(Debug, Default)]
pub(super) struct BatchReadResult<'a> {
    pub(super) tasks: HashMap<i64, TaskSnapshot>,
    pub(super) agents: HashMap<String, i64>,
    pub(super) workspaces: HashMap<String, i64>,
    pub(super) boards: HashMap<String, BoardHeadRow>,
    pub(super) comments: HashMap<i64, i64>,
    pub(super) records: HashMap<RecordName, RecordSnapshot>,
    pub(super) messages: HashMap<i64, String>,
    pub(super) turns: HashSet<TurnKey<'a>>,
    pub(super) marks: HashMap<String, i64>,
    pub(super) last_task: i64,
}

/// A change of a task.
#[derive(Debug)]
pub(super) struct TaskChange<'a> {
    /// Its new content, unless only the number of open blockers changes.
    pub(super) row: Option<&'a TaskRow>,
    /// Whether it is a new task.
    pub(super) is_new: bool,
    /// Creation time of a new task.
    pub(super) created_at: Option<&'a str>,
    /// Change of the number of open blockers; starts from 0 for a new task.
    pub(super) blocker_change: i64,
}

/// A comment to be added.
#[derive(Debug)]
pub(super) struct CommentChange {
    pub(super) task: i64,
    pub(super) id: i64,
    pub(super) body: String,
}

/// An event to be added.
#[derive(Debug)]
pub(super) struct EventChange<'a> {
    pub(super) seq: i64,
    pub(super) at: &'a str,
    pub(super) actor: &'a str,
    pub(super) kind: EventKind,
    pub(super) subject: String,
    pub(super) data: &'a str,
}

/// A row that only this batch can have written: if it exists, the batch was committed.
#[derive(Debug)]
pub(super) enum CommitWitness {
    /// The last event of the batch.
    Event {
        seq: i64,
        at: String,
        actor: String,
        kind: String,
        subject: String,
        data: String,
    },
    /// The last turn that the batch appends.
    Turn {
        member: String,
        turn: i64,
        body: String,
    },
    /// The last message that the batch sends.
    Message {
        id: i64,
        sender: String,
        recipient: String,
        at: String,
        payload: String,
    },
}

/// The rows that a batch writes, and the state after the changesets applied so far.
#[derive(Debug)]
pub(super) struct BatchPlan<'a> {
    current: BatchReadResult<'a>,
    sequence: i64,
    pub(super) tasks: BTreeMap<i64, TaskChange<'a>>,
    pub(super) comments: Vec<CommentChange>,
    pub(super) agents: BTreeMap<&'a str, (i64, &'a AgentUpsert)>,
    pub(super) workspaces: BTreeMap<&'a str, (i64, &'a str)>,
    pub(super) boards: BoardPlan<'a>,
    pub(super) records: RecordPlan<'a>,
    pub(super) messages: MessagePlan<'a>,
    pub(super) turns: TurnPlan<'a>,
    pub(super) marks: BTreeMap<&'static str, i64>,
    pub(super) events: Vec<EventChange<'a>>,
}

impl<'a> BatchPlan<'a> {
    pub(super) fn new(mut current: BatchReadResult<'a>) -> Self {
        let boards = BoardPlan::new(std::mem::take(&mut current.boards));
        let records = RecordPlan::new(std::mem::take(&mut current.records));
        let messages = MessagePlan::new(std::mem::take(&mut current.messages));
        let turns = TurnPlan::new(std::mem::take(&mut current.turns));
        Self {
            sequence: current.marks.get(LOG_HEAD_MARK).copied().unwrap_or(0),
            current,
            tasks: BTreeMap::new(),
            comments: Vec::new(),
            agents: BTreeMap::new(),
            workspaces: BTreeMap::new(),
            boards,
            records,
            messages,
            turns,
            marks: BTreeMap::new(),
            events: Vec::new(),
        }
    }

    /// Whether there is nothing to write.
    pub(super) fn is_empty(&self) -> bool {
        self.tasks.is_empty()
            && self.comments.is_empty()
            && self.agents.is_empty()
            && self.workspaces.is_empty()
            && self.boards.is_empty()
            && self.records.is_empty()
            && self.messages.is_empty()
            && self.turns.is_empty()
            && self.marks.is_empty()
            && self.events.is_empty()
    }

    /// Returns a row that proves the commit of this batch: its last event, turn or message; `None` if it
    /// writes none of these.
    pub(super) fn commit_witness(&self) -> Option<CommitWitness> {
        let event = self.events.last().map(|event| CommitWitness::Event {
            seq: event.seq,
            at: event.at.to_owned(),
            actor: event.actor.to_owned(),
            kind: event.kind.as_str().to_owned(),
            subject: event.subject.clone(),
            data: event.data.to_owned(),
        });
        let turn = || {
            let ((member, turn), body) = self.turns.last_appended()?;
            Some(CommitWitness::Turn {
                member: member.to_owned(),
                turn,
                body: body.to_owned(),
            })
        };
        let message = || {
            let (id, sent) = self.messages.last_sent()?;
            Some(CommitWitness::Message {
                id,
                sender: sent.from.to_string(),
                recipient: sent.to.to_string(),
                at: sent.created_at.as_str().to_owned(),
                payload: sent.payload.as_str().to_owned(),
            })
        };
        event.or_else(turn).or_else(message)
    }

    /// Applies a changeset, or returns a conflict and applies none of it.
    pub(super) fn apply_changeset(
        &mut self,
        changes: &'a PreparedChangeset,
    ) -> Result<CommitOutcome, PortError> {
        if let Some(key) = find_duplicate_turn(&changes.writes) {
            return Ok(CommitOutcome::Conflict(key));
        }
        let mut staged = StagedBoards::default();
        for write in &changes.writes {
            let conflict = match write {
                PreparedWrite::ChangeBoard(write) => {
                    self.boards.stage_change(&mut staged, write, changes)?
                }
                PreparedWrite::LeaseBoard(write) => self.boards.stage_lease(&mut staged, write)?,
                other => self.find_conflict(other),
            };
            if let Some(key) = conflict {
                return Ok(CommitOutcome::Conflict(key));
            }
        }
        let mut receipt = Receipt {
            board: self.boards.adopt_staged(staged),
            ..Receipt::default()
        };
        let mut has_deferred = false;
        for write in &changes.writes {
            match write {
                write if needs_receipt(write) => has_deferred = true,
                PreparedWrite::MarkMessagesRead { recipient, ids } => {
                    self.messages.plan_mark_read(recipient, ids, &changes.at);
                }
                other => self.apply_write(other, &mut receipt)?,
            }
        }
        for (kind, subject, data) in &changes.events {
            self.sequence += 1;
            self.marks.insert(LOG_HEAD_MARK, self.sequence);
            self.events.push(EventChange {
                seq: self.sequence,
                at: &changes.at,
                actor: changes.actor.as_str(),
                kind: *kind,
                subject: subject.to_log_text(receipt.created),
                data,
            });
        }
        receipt.sequence = self.sequence.unsigned_abs();
        if has_deferred {
            for write in changes.writes.iter().filter(|row| needs_receipt(row)) {
                self.apply_write(write, &mut receipt)?;
            }
        }
        Ok(CommitOutcome::Committed(receipt))
    }

    fn last_task_number(&self) -> u64 {
        self.current
            .last_task
            .max(self.mark_value(TASK_NUMBER_MARK))
            .unsigned_abs()
    }

    fn mark_value(&self, name: &str) -> i64 {
        self.current.marks.get(name).copied().unwrap_or(0)
    }

    fn set_mark(&mut self, name: &'static str, value: i64) {
        self.current.marks.insert(name.to_owned(), value);
        self.marks.insert(name, value);
    }

    /// Returns the key of the record on which a write's expectation fails, if it does.
    fn find_conflict(&self, write: &PreparedWrite) -> Option<RecordKey> {
        match write {
            PreparedWrite::PutTask {
                expect, id, row, ..
            } => {
                let snapshot = self.current.tasks.get(&row.id);
                (!matches_expected_revision(*expect, snapshot.map(|s| s.revision)))
                    .then_some(RecordKey::Task(*id))
            }
            PreparedWrite::PutAgent(upsert) => {
                let revision = self.current.agents.get(upsert.id.as_str()).copied();
                (!matches_expected_revision(upsert.expect, revision))
                    .then(|| RecordKey::Agent(upsert.id.clone()))
            }
            PreparedWrite::PutWorkspace { expect, id, .. } => {
                let revision = self.current.workspaces.get(id.as_str()).copied();
                (!matches_expected_revision(*expect, revision))
                    .then(|| RecordKey::Workspace(id.clone()))
            }
            PreparedWrite::TouchFence { fence, expected } => {
                (self.mark_value(fence.as_str()) != *expected).then_some(RecordKey::Fence(*fence))
            }
            PreparedWrite::PutRecord(upsert) => {
                self.records.find_conflict(upsert.expect, &upsert.name)
            }
            PreparedWrite::DeleteRecord { expect, name } => {
                self.records.find_conflict(*expect, name)
            }
            PreparedWrite::MarkMessagesRead { recipient, ids } => {
                self.messages.find_conflict(recipient, ids)
            }
            PreparedWrite::AppendTurn(turn_insert) => self.turns.find_conflict(turn_insert),
            PreparedWrite::CreateTask(_)
            | PreparedWrite::CloseBlocker(_)
            | PreparedWrite::RaiseTaskNumber(_)
            | PreparedWrite::ReserveTaskNumber
            | PreparedWrite::AddComment { .. }
            | PreparedWrite::DeleteExpiredRecords { .. }
            | PreparedWrite::SendMessage { .. }
            | PreparedWrite::ChangeBoard(_)
            | PreparedWrite::LeaseBoard(_) => None,
        }
    }

    fn apply_write(
        &mut self,
        write: &'a PreparedWrite,
        receipt: &mut Receipt,
    ) -> Result<(), PortError> {
        match write {
            PreparedWrite::CreateTask(row) => {
                let next = self.last_task_number() + 1;
                receipt.created = Some(TaskId::new(next).ok_or_else(task_numbers_exhausted_error)?);
                self.put_task(to_i64(next)?, row, 0);
            }
            PreparedWrite::PutTask {
                row,
                blocker_change,
                ..
            } => self.put_task(row.id, row, *blocker_change),
            PreparedWrite::CloseBlocker(dependents) => {
                for (id, n) in dependents {
                    if self.close_blocker(*n) {
                        receipt.unblocked.push(*id);
                    }
                }
            }
            PreparedWrite::ReserveTaskNumber => {
                let next = self.last_task_number() + 1;
                receipt.created = Some(TaskId::new(next).ok_or_else(task_numbers_exhausted_error)?);
                self.set_mark(TASK_NUMBER_MARK, to_i64(next)?);
            }
            PreparedWrite::RaiseTaskNumber(to) => {
                let raised = self.mark_value(TASK_NUMBER_MARK).max(*to);
                self.set_mark(TASK_NUMBER_MARK, raised);
            }
            PreparedWrite::AddComment { task, comment } => {
                let last = self.current.comments.entry(*task).or_default();
                *last += 1;
                let id = *last;
                let body = serde_json::to_string(&comment.with_id(id.unsigned_abs()))
                    .map_err(|e| PortError::internal("Writing a comment", e))?;
                self.comments.push(CommentChange {
                    task: *task,
                    id,
                    body,
                });
                receipt.comment = Some(id.unsigned_abs());
            }
            PreparedWrite::PutAgent(upsert) => {
                let id = upsert.id.as_str();
                let revision = self.current.agents.get(id).map_or(1, |r| r + 1);
                self.current.agents.insert(id.to_owned(), revision);
                self.agents.insert(id, (revision, upsert));
            }
            PreparedWrite::PutWorkspace { id, body, .. } => {
                let revision = self
                    .current
                    .workspaces
                    .get(id.as_str())
                    .map_or(1, |r| r + 1);
                self.current.workspaces.insert(id.to_string(), revision);
                self.workspaces.insert(id.as_str(), (revision, body));
            }
            PreparedWrite::TouchFence { fence, expected } => {
                self.set_mark(fence.as_str(), expected + 1);
            }
            PreparedWrite::PutRecord(upsert) => self.records.plan_upsert(upsert, receipt),
            PreparedWrite::DeleteRecord { name, .. } => self.records.plan_delete(name),
            PreparedWrite::DeleteExpiredRecords { kind, until } => {
                self.records.plan_delete_expired(*kind, *until);
            }
            PreparedWrite::SendMessage { message, reply_to } => {
                let id = self.mark_value(MESSAGE_NUMBER_MARK) + 1;
                self.set_mark(MESSAGE_NUMBER_MARK, id);
                self.messages.plan_send(id, message, *reply_to);
                receipt.messages.push(id.unsigned_abs());
            }
            PreparedWrite::AppendTurn(turn_insert) => self.turns.plan_append(turn_insert, receipt),
            // `apply_changeset` stages and adopts board changes, and marks messages as read because that
            // needs the commit time.
            PreparedWrite::ChangeBoard(_)
            | PreparedWrite::LeaseBoard(_)
            | PreparedWrite::MarkMessagesRead { .. } => {}
        }
        Ok(())
    }

    fn put_task(&mut self, id: i64, row: &'a TaskRow, blocker_change: i64) {
        let before = self.current.tasks.get(&id).copied();
        self.current.last_task = self.current.last_task.max(id);
        self.current.tasks.insert(
            id,
            TaskSnapshot {
                revision: row.revision,
                open_blockers: before.map_or(0, |b| b.open_blockers) + blocker_change,
                is_pending: row.status == "pending",
            },
        );
        let change = self.tasks.entry(id).or_insert(TaskChange {
            row: None,
            is_new: before.is_none(),
            created_at: row.created_at.as_deref(),
            blocker_change: 0,
        });
        change.row = Some(row);
        change.blocker_change += blocker_change;
    }

    /// Decrements a task's open blockers. Returns whether a pending task has none left.
    fn close_blocker(&mut self, id: i64) -> bool {
        let Some(snapshot) = self.current.tasks.get_mut(&id) else {
            return false;
        };
        snapshot.open_blockers -= 1;
        let change = self.tasks.entry(id).or_insert(TaskChange {
            row: None,
            is_new: false,
            created_at: None,
            blocker_change: 0,
        });
        change.blocker_change -= 1;
        snapshot.open_blockers == 0 && snapshot.is_pending
    }
}
