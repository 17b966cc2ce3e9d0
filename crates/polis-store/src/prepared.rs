//! Changesets converted to rows, shared by both stores.
//!
//! The caller of a commit does the conversion, so that the writer has nothing left to compute.

use std::borrow::Cow;

use polis_core::board::{BoardWrite, LeaseWrite};
use polis_core::changeset::{Fence, Receipt, Write};
use polis_core::message::NewMessage;
use polis_core::record::{RecordBody, RecordKind, RecordName};
use polis_core::task::NewComment;
use polis_core::{AgentId, Changeset, Code, Expect, RecordKey, Subject, TaskId};
use polis_ops::PortError;

use crate::row::{TaskRow, number};

/// Name of the mark with the highest task number that was assigned outside of this store.
pub(crate) const TASK_NUMBER: &str = "task-number";

/// A changeset as rows, ready to be written.
#[derive(Debug)]
pub(crate) struct Prepared {
    pub(crate) at: String,
    pub(crate) actor: AgentId,
    pub(crate) writes: Vec<Row>,
    pub(crate) events: Vec<(&'static str, Subject, String)>,
}

/// A write as rows.
#[derive(Debug)]
pub(crate) enum Row {
    Create(Box<TaskRow>),
    Task {
        expect: Expect,
        id: TaskId,
        row: Box<TaskRow>,
        blocker_change: i64,
    },
    Settle(Vec<(TaskId, i64)>),
    Raise(i64),
    Reserve,
    Comment {
        task: i64,
        comment: NewComment,
    },
    Agent(Box<AgentPut>),
    Workspace {
        expect: Expect,
        id: AgentId,
        body: String,
    },
    Fence {
        fence: Fence,
        expected: i64,
    },
    Board(Box<BoardWrite>),
    Lease(Box<LeaseWrite>),
    Record(Box<RecordPut>),
    Delete {
        expect: Expect,
        name: RecordName,
    },
    Forget {
        kind: RecordKind,
        until: i64,
    },
    Send {
        message: Box<NewMessage>,
        reply_to: Option<i64>,
    },
    Read {
        recipient: AgentId,
        ids: Vec<u64>,
    },
    Turn(Box<TurnPut>),
}

/// The new state of an agent.
#[derive(Debug)]
pub(crate) struct AgentPut {
    pub(crate) expect: Expect,
    pub(crate) id: AgentId,
    /// Empty if the agent was not hired for a run.
    pub(crate) run: String,
    pub(crate) role: String,
    pub(crate) body: String,
}

/// A new turn of a conversation.
#[derive(Debug)]
pub(crate) struct TurnPut {
    pub(crate) member: String,
    pub(crate) turn: i64,
    pub(crate) body: RecordBody,
}

impl TurnPut {
    /// Returns the key that a conflict reports.
    pub(crate) fn key(&self) -> RecordKey {
        RecordKey::Turn {
            member: self.member.clone(),
            turn: self.turn.unsigned_abs(),
        }
    }
}

/// The new state of a record.
#[derive(Debug)]
pub(crate) struct RecordPut {
    pub(crate) expect: Expect,
    pub(crate) name: RecordName,
    pub(crate) expires_at: Option<i64>,
    pub(crate) body: RecordBody,
}

/// Returns the text to write; a body computed from the receipt is rendered here.
pub(crate) fn text_of<'a>(body: &'a RecordBody, receipt: &Receipt) -> Cow<'a, str> {
    match body {
        RecordBody::Text(text) => Cow::Borrowed(text),
        made @ RecordBody::OfReceipt(_) => Cow::Owned(made.text(receipt)),
    }
}

/// Returns the approximate size of a body in bytes.
fn size_of(body: &RecordBody) -> usize {
    match body {
        RecordBody::Text(text) => 100 + text.len(),
        RecordBody::OfReceipt(_) => 1_000,
    }
}

impl Prepared {
    pub(crate) fn of(changes: Changeset) -> Result<Self, PortError> {
        let writes = changes
            .writes
            .into_iter()
            .map(Row::of)
            .collect::<Result<_, _>>()?;
        let events = changes
            .events
            .into_iter()
            .map(|e| (e.kind, e.subject, e.data))
            .collect();
        Ok(Self {
            at: changes.at.as_str().to_owned(),
            actor: changes.actor,
            writes,
            events,
        })
    }

    /// Returns the approximate size on the wire in bytes.
    pub(crate) fn size(&self) -> usize {
        let writes = self.writes.iter().map(|write| match write {
            Row::Create(row) | Row::Task { row, .. } => {
                200 + row.subject.len()
                    + row.rest.len()
                    + row.description.len()
                    + row.blocks.len()
                    + row.blocked_by.len()
            }
            Row::Settle(dependents) => 16 * dependents.len(),
            Row::Comment { comment, .. } => 100 + comment.body.len(),
            Row::Agent(put) => 80 + put.body.len(),
            Row::Workspace { body, .. } => 50 + body.len(),
            Row::Board(write) => 300 + write.change.text().len(),
            Row::Record(put) => size_of(&put.body),
            Row::Turn(put) => size_of(&put.body),
            Row::Send { message, .. } => 150 + message.payload.text().len(),
            Row::Read { ids, .. } => 16 * ids.len(),
            Row::Raise(_)
            | Row::Reserve
            | Row::Fence { .. }
            | Row::Lease(_)
            | Row::Delete { .. }
            | Row::Forget { .. } => 16,
        });
        let events = self.events.iter().map(|(_, _, data)| 100 + data.len());
        writes.chain(events).sum()
    }
}

impl Row {
    fn of(write: Write) -> Result<Self, PortError> {
        Ok(match write {
            Write::CreateTask(record) => Self::Create(Box::new(TaskRow::of(*record)?)),
            Write::PutTask {
                expect,
                record,
                blocker_change,
            } => Self::Task {
                expect,
                id: record.task.id,
                row: Box::new(TaskRow::of(*record)?),
                blocker_change,
            },
            Write::SettleBlocker { dependents } => Self::Settle(
                dependents
                    .into_iter()
                    .map(|id| Ok((id, number(id.number())?)))
                    .collect::<Result<_, PortError>>()?,
            ),
            Write::RaiseTaskNumber(n) => Self::Raise(number(n)?),
            Write::ReserveTaskNumber => Self::Reserve,
            Write::AddComment { task, comment } => Self::Comment {
                task: number(task.number())?,
                comment,
            },
            Write::PutAgent { expect, agent } => Self::Agent(Box::new(AgentPut {
                expect,
                body: serde_json::to_string(&agent)
                    .map_err(|e| PortError::internal("Writing an agent", e))?,
                run: (agent.run.as_ref()).map_or_else(String::new, ToString::to_string),
                role: agent.role,
                id: agent.id,
            })),
            Write::PutWorkspace { expect, workspace } => Self::Workspace {
                expect,
                id: workspace.workspace_id.clone(),
                body: serde_json::to_string(&workspace)
                    .map_err(|e| PortError::internal("Writing a workspace", e))?,
            },
            Write::TouchFence { fence, expected } => Self::Fence {
                fence,
                expected: number(expected)?,
            },
            Write::ChangeBoard(write) => Self::Board(write),
            Write::LeaseBoard(write) => Self::Lease(write),
            Write::PutRecord {
                name,
                expect,
                expires_at,
                body,
            } => Self::Record(Box::new(RecordPut {
                expect,
                name,
                expires_at,
                body,
            })),
            Write::DeleteRecord { name, expect } => Self::Delete { expect, name },
            Write::ForgetRecords { kind, before } => Self::Forget {
                kind,
                until: before,
            },
            Write::SendMessage(message) => Self::Send {
                reply_to: message.reply_to.map(number).transpose()?,
                message,
            },
            Write::ReadMessages { recipient, ids } => Self::Read { recipient, ids },
            Write::AppendTurn { member, turn, body } => Self::Turn(Box::new(TurnPut {
                member,
                turn: number(turn)?,
                body,
            })),
        })
    }
}

/// Whether an expectation holds for the revision found.
pub(crate) fn holds(expect: Expect, found: Option<i64>) -> bool {
    match expect {
        Expect::Absent => found.is_none(),
        Expect::Revision(revision) => found.is_some_and(|f| f.unsigned_abs() == revision),
    }
}

/// Whether a write needs the complete receipt of its changeset.
pub(crate) fn waits_for_receipt(write: &Row) -> bool {
    let body = match write {
        Row::Record(put) => &put.body,
        Row::Turn(put) => &put.body,
        _ => return false,
    };
    matches!(body, RecordBody::OfReceipt(_))
}

/// Returns the turn that a changeset appends twice, if any.
pub(crate) fn turn_added_twice(writes: &[Row]) -> Option<RecordKey> {
    let mut before = Vec::new();
    for row in writes {
        let Row::Turn(put) = row else {
            continue;
        };
        let name = (put.member.as_str(), put.turn);
        if before.contains(&name) {
            return Some(put.key());
        }
        before.push(name);
    }
    None
}

/// Returns the error for exhausted task numbers.
pub(crate) fn no_numbers_left() -> PortError {
    PortError::new(
        Code::Internal,
        "There are no task numbers left.",
        "import the tasks into a new store with smaller numbers",
    )
}
