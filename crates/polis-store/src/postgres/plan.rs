//! Decides, without database access, what a batch of changesets writes.
//!
//! A batch takes two round trips: the first reads everything that its changesets expect, the second writes
//! the result. In between, this module applies the changesets one after another to what was read, so that
//! each sees the effects of the ones before it.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};

use polis_core::record::RecordName;
use polis_core::{RecordKey, TaskId};
use polis_ops::port::Outcome;
use polis_ops::{PortError, Receipt};

use super::board_plan::{BoardPlan, Staged};
use super::messages::{MESSAGE_NUMBER, MessagePlan};
use super::records::{RecordPlan, SeenRecord};
use super::turns::{TurnName, TurnPlan};
use crate::board_row::HeadRow;
use crate::prepared::{
    AgentPut, Prepared, Row, TASK_NUMBER, holds, no_numbers_left, turn_added_twice,
    waits_for_receipt,
};
use crate::row::{TaskRow, bound, number};

/// Mark with the sequence number of the newest event.
pub(super) const LOG_HEAD: &str = "log-head";

/// What has to be read before a batch can be decided.
#[derive(Debug, Default)]
pub(super) struct Needs<'a> {
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
    pub(super) turns: BTreeSet<TurnName<'a>>,
    /// Whether the batch writes records, messages or turns, so that their statements are needed.
    pub(super) plain: bool,
    /// Whether the highest task number is needed.
    pub(super) last_task: bool,
}

impl<'a> Needs<'a> {
    pub(super) fn of(batch: impl Iterator<Item = &'a Prepared>) -> Self {
        let mut needs = Self::default();
        for write in batch.flat_map(|changes| &changes.writes) {
            match write {
                Row::Create(_) | Row::Reserve => needs.last_task = true,
                Row::Task { row, .. } => {
                    needs.tasks.insert(row.id);
                }
                Row::Settle(dependents) => needs.tasks.extend(dependents.iter().map(|(_, n)| n)),
                Row::Comment { task, .. } => {
                    needs.comments.insert(*task);
                }
                Row::Agent(put) => {
                    needs.agents.insert(put.id.as_str());
                }
                Row::Workspace { id, .. } => {
                    needs.workspaces.insert(id.as_str());
                }
                Row::Board(write) => {
                    needs.boards.insert(write.board.to_string());
                }
                Row::Lease(write) => {
                    needs.boards.insert(write.board.to_string());
                }
                Row::Record(put) => {
                    needs.records.insert(&put.name);
                    needs.plain = true;
                }
                Row::Delete { name, .. } => {
                    needs.records.insert(name);
                    needs.plain = true;
                }
                Row::Forget { .. } | Row::Send { .. } => needs.plain = true,
                Row::Read { recipient, ids } => {
                    let of = |id: &u64| (recipient.as_str(), bound(*id));
                    needs.messages.extend(ids.iter().map(of));
                    needs.plain = true;
                }
                Row::Turn(put) => {
                    needs.turns.insert((put.member.as_str(), put.turn));
                    needs.plain = true;
                }
                // Marks are few and always read.
                Row::Raise(_) | Row::Fence { .. } => {}
            }
        }
        needs
    }
}

/// The part of a task that the decision needs.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seen {
    pub(super) revision: i64,
    pub(super) open_blockers: i64,
    pub(super) pending: bool,
}

/// The result of the read.
#[derive(Debug, Default)]
pub(super) struct Found<'a> {
    pub(super) tasks: HashMap<i64, Seen>,
    pub(super) agents: HashMap<String, i64>,
    pub(super) workspaces: HashMap<String, i64>,
    pub(super) boards: HashMap<String, HeadRow>,
    pub(super) comments: HashMap<i64, i64>,
    pub(super) records: HashMap<RecordName, SeenRecord>,
    pub(super) messages: HashMap<i64, String>,
    pub(super) turns: HashSet<TurnName<'a>>,
    pub(super) marks: HashMap<String, i64>,
    pub(super) last_task: i64,
}

/// A change of a task.
#[derive(Debug)]
pub(super) struct TaskChange<'a> {
    /// Its new content, unless only the number of open blockers changes.
    pub(super) row: Option<&'a TaskRow>,
    /// Whether it is a new task.
    pub(super) insert: bool,
    /// Creation time of a new task.
    pub(super) created_at: Option<&'a str>,
    /// Change of the number of open blockers; starts from 0 for a new task.
    pub(super) open_blockers: i64,
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
    pub(super) kind: &'a str,
    pub(super) subject: String,
    pub(super) data: &'a str,
}

/// A row that only this batch can have written: if it exists, the batch was committed.
#[derive(Debug)]
pub(super) enum Witness {
    /// The last event of the batch.
    Event {
        seq: i64,
        at: String,
        actor: String,
        kind: String,
        subject: String,
        data: String,
    },
    /// A turn.
    Turn {
        member: String,
        turn: i64,
        body: String,
    },
    /// A message.
    Message {
        id: i64,
        sender: String,
        recipient: String,
        at: String,
        payload: String,
    },
}

/// What a batch writes.
#[derive(Debug)]
pub(super) struct Plan<'a> {
    found: Found<'a>,
    sequence: i64,
    pub(super) tasks: BTreeMap<i64, TaskChange<'a>>,
    pub(super) comments: Vec<CommentChange>,
    pub(super) agents: BTreeMap<&'a str, (i64, &'a AgentPut)>,
    pub(super) workspaces: BTreeMap<&'a str, (i64, &'a str)>,
    pub(super) boards: BoardPlan<'a>,
    pub(super) records: RecordPlan<'a>,
    pub(super) messages: MessagePlan<'a>,
    pub(super) turns: TurnPlan<'a>,
    pub(super) marks: BTreeMap<&'static str, i64>,
    pub(super) events: Vec<EventChange<'a>>,
}

impl<'a> Plan<'a> {
    pub(super) fn on(mut found: Found<'a>) -> Self {
        let boards = BoardPlan::on(std::mem::take(&mut found.boards));
        let records = RecordPlan::on(std::mem::take(&mut found.records));
        let messages = MessagePlan::on(std::mem::take(&mut found.messages));
        let turns = TurnPlan::on(std::mem::take(&mut found.turns));
        Self {
            sequence: found.marks.get(LOG_HEAD).copied().unwrap_or(0),
            found,
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

    /// Returns a row that proves the commit of this batch, if it has one.
    pub(super) fn witness(&self) -> Option<Witness> {
        let event = self.events.last().map(|event| Witness::Event {
            seq: event.seq,
            at: event.at.to_owned(),
            actor: event.actor.to_owned(),
            kind: event.kind.to_owned(),
            subject: event.subject.clone(),
            data: event.data.to_owned(),
        });
        let turn = || {
            let ((member, turn), body) = self.turns.last()?;
            Some(Witness::Turn {
                member: member.to_owned(),
                turn,
                body: body.to_owned(),
            })
        };
        let message = || {
            let (id, sent) = self.messages.last_sent()?;
            Some(Witness::Message {
                id,
                sender: sent.from.to_string(),
                recipient: sent.to.to_string(),
                at: sent.created_at.as_str().to_owned(),
                payload: sent.payload.text().to_owned(),
            })
        };
        event.or_else(turn).or_else(message)
    }

    /// Applies a changeset, or returns a conflict and applies none of it.
    pub(super) fn apply(&mut self, changes: &'a Prepared) -> Result<Outcome, PortError> {
        if let Some(key) = turn_added_twice(&changes.writes) {
            return Ok(Outcome::Conflict(key));
        }
        let mut staged = Staged::default();
        for write in &changes.writes {
            let conflict = match write {
                Row::Board(write) => self.boards.change(&mut staged, write, changes)?,
                Row::Lease(write) => self.boards.lease(&mut staged, write)?,
                other => self.conflict(other),
            };
            if let Some(key) = conflict {
                return Ok(Outcome::Conflict(key));
            }
        }
        let mut receipt = Receipt {
            board: self.boards.keep(staged),
            ..Receipt::default()
        };
        let mut waiting = false;
        for write in &changes.writes {
            match write {
                write if waits_for_receipt(write) => waiting = true,
                Row::Read { recipient, ids } => {
                    self.messages.mark_read(recipient, ids, &changes.at);
                }
                other => self.write(other, &mut receipt)?,
            }
        }
        for (kind, subject, data) in &changes.events {
            self.sequence += 1;
            self.marks.insert(LOG_HEAD, self.sequence);
            self.events.push(EventChange {
                seq: self.sequence,
                at: &changes.at,
                actor: changes.actor.as_str(),
                kind,
                subject: subject.text(receipt.created),
                data,
            });
        }
        receipt.sequence = self.sequence.unsigned_abs();
        if waiting {
            for write in changes.writes.iter().filter(|row| waits_for_receipt(row)) {
                self.write(write, &mut receipt)?;
            }
        }
        Ok(Outcome::Committed(receipt))
    }

    fn last_task_number(&self) -> u64 {
        self.found
            .last_task
            .max(self.mark(TASK_NUMBER))
            .unsigned_abs()
    }

    fn mark(&self, name: &str) -> i64 {
        self.found.marks.get(name).copied().unwrap_or(0)
    }

    fn set_mark(&mut self, name: &'static str, value: i64) {
        self.found.marks.insert(name.to_owned(), value);
        self.marks.insert(name, value);
    }

    /// Returns the record on which a write's expectation fails.
    fn conflict(&self, write: &Row) -> Option<RecordKey> {
        match write {
            Row::Task {
                expect, id, row, ..
            } => {
                let seen = self.found.tasks.get(&row.id);
                (!holds(*expect, seen.map(|s| s.revision))).then_some(RecordKey::Task(*id))
            }
            Row::Agent(put) => {
                let revision = self.found.agents.get(put.id.as_str()).copied();
                (!holds(put.expect, revision)).then(|| RecordKey::Agent(put.id.clone()))
            }
            Row::Workspace { expect, id, .. } => {
                let revision = self.found.workspaces.get(id.as_str()).copied();
                (!holds(*expect, revision)).then(|| RecordKey::Workspace(id.clone()))
            }
            Row::Fence { fence, expected } => {
                (self.mark(fence.as_str()) != *expected).then_some(RecordKey::Fence(*fence))
            }
            Row::Record(put) => self.records.conflict(put.expect, &put.name),
            Row::Delete { expect, name } => self.records.conflict(*expect, name),
            Row::Read { recipient, ids } => self.messages.conflict(recipient, ids),
            Row::Turn(put) => self.turns.conflict(put),
            Row::Create(_)
            | Row::Settle(_)
            | Row::Raise(_)
            | Row::Reserve
            | Row::Comment { .. }
            | Row::Forget { .. }
            | Row::Send { .. }
            | Row::Board(_)
            | Row::Lease(_) => None,
        }
    }

    fn write(&mut self, write: &'a Row, receipt: &mut Receipt) -> Result<(), PortError> {
        match write {
            Row::Create(row) => {
                let next = self.last_task_number() + 1;
                receipt.created = Some(TaskId::new(next).ok_or_else(no_numbers_left)?);
                self.put(number(next)?, row, 0);
            }
            Row::Task {
                row,
                blocker_change,
                ..
            } => self.put(row.id, row, *blocker_change),
            Row::Settle(dependents) => {
                for (id, n) in dependents {
                    if self.settle(*n) {
                        receipt.unblocked.push(*id);
                    }
                }
            }
            Row::Reserve => {
                let next = self.last_task_number() + 1;
                receipt.created = Some(TaskId::new(next).ok_or_else(no_numbers_left)?);
                self.set_mark(TASK_NUMBER, number(next)?);
            }
            Row::Raise(to) => {
                let raised = self.mark(TASK_NUMBER).max(*to);
                self.set_mark(TASK_NUMBER, raised);
            }
            Row::Comment { task, comment } => {
                let last = self.found.comments.entry(*task).or_default();
                *last += 1;
                let id = *last;
                let body = serde_json::to_string(&comment.numbered(id.unsigned_abs()))
                    .map_err(|e| PortError::internal("Writing a comment", e))?;
                self.comments.push(CommentChange {
                    task: *task,
                    id,
                    body,
                });
                receipt.comment = Some(id.unsigned_abs());
            }
            Row::Agent(put) => {
                let id = put.id.as_str();
                let revision = self.found.agents.get(id).map_or(1, |r| r + 1);
                self.found.agents.insert(id.to_owned(), revision);
                self.agents.insert(id, (revision, put));
            }
            Row::Workspace { id, body, .. } => {
                let revision = self.found.workspaces.get(id.as_str()).map_or(1, |r| r + 1);
                self.found.workspaces.insert(id.to_string(), revision);
                self.workspaces.insert(id.as_str(), (revision, body));
            }
            Row::Fence { fence, expected } => self.set_mark(fence.as_str(), expected + 1),
            Row::Record(put) => self.records.put(put, receipt),
            Row::Delete { name, .. } => self.records.delete(name),
            Row::Forget { kind, until } => self.records.forget(*kind, *until),
            Row::Send { message, reply_to } => {
                let id = self.mark(MESSAGE_NUMBER) + 1;
                self.set_mark(MESSAGE_NUMBER, id);
                self.messages.send(id, message, *reply_to);
                receipt.messages.push(id.unsigned_abs());
            }
            Row::Turn(put) => self.turns.append(put, receipt),
            // Boards were staged and kept by `apply`. Marking messages as read needs the commit time and is
            // done there too.
            Row::Board(_) | Row::Lease(_) | Row::Read { .. } => {}
        }
        Ok(())
    }

    fn put(&mut self, id: i64, row: &'a TaskRow, blocker_change: i64) {
        let before = self.found.tasks.get(&id).copied();
        self.found.last_task = self.found.last_task.max(id);
        self.found.tasks.insert(
            id,
            Seen {
                revision: row.revision,
                open_blockers: before.map_or(0, |b| b.open_blockers) + blocker_change,
                pending: row.status == "pending",
            },
        );
        let change = self.tasks.entry(id).or_insert(TaskChange {
            row: None,
            insert: before.is_none(),
            created_at: row.created_at.as_deref(),
            open_blockers: 0,
        });
        change.row = Some(row);
        change.open_blockers += blocker_change;
    }

    /// Decrements a task's open blockers. Returns whether a pending task has none left.
    fn settle(&mut self, id: i64) -> bool {
        let Some(seen) = self.found.tasks.get_mut(&id) else {
            return false;
        };
        seen.open_blockers -= 1;
        let change = self.tasks.entry(id).or_insert(TaskChange {
            row: None,
            insert: false,
            created_at: None,
            open_blockers: 0,
        });
        change.open_blockers -= 1;
        seen.open_blockers == 0 && seen.pending
    }
}
