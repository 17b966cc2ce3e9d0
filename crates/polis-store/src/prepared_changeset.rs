//! Changesets converted to rows before the commit; shared by the SQLite store and the PostgreSQL store.
//!
//! The caller of a commit converts ([`PreparedChangeset::from_changeset`]), so that the writer, which all
//! commits share, only checks and writes; a body that depends on the receipt is rendered by the writer. The
//! checks that both stores need are here too: expected revisions, and a turn appended twice.

use std::borrow::Cow;

use polis_core::board::{BoardLeaseWrite, BoardWrite};
use polis_core::changeset::{Fence, Receipt, StoreWrite};
use polis_core::message::NewMessage;
use polis_core::record::{RecordBody, RecordKind, RecordName};
use polis_core::task::NewComment;
use polis_core::{
    AgentId, Changeset, EventKind, EventSubject, RecordKey, TaskId, WritePrecondition,
};
use polis_ops::PortError;

use crate::store_failure::StoreFailure;
use crate::task_row::{TaskRow, to_i64};

/// Name of the mark with the highest task number that was reserved, or was assigned outside of this store and
/// then imported. The next number is larger than this and than that of every task.
pub(crate) const TASK_NUMBER_MARK: &str = "task-number";

/// A changeset as rows, ready to be written.
#[derive(Debug)]
pub(crate) struct PreparedChangeset {
    pub(crate) at: String,
    pub(crate) actor: AgentId,
    pub(crate) writes: Vec<PreparedWrite>,
    pub(crate) events: Vec<(EventKind, EventSubject, String)>,
}

/// One write of a changeset, with its values converted to columns.
#[derive(Debug)]
pub(crate) enum PreparedWrite {
    CreateTask(Box<TaskRow>),
    PutTask {
        expect: WritePrecondition,
        id: TaskId,
        row: Box<TaskRow>,
        blocker_change: i64,
    },
    CloseBlocker(Vec<(TaskId, i64)>),
    RaiseTaskNumber(i64),
    ReserveTaskNumber,
    AddComment {
        task: i64,
        comment: NewComment,
    },
    PutAgent(Box<AgentUpsert>),
    PutWorkspace {
        expect: WritePrecondition,
        id: AgentId,
        body: String,
    },
    TouchFence {
        fence: Fence,
        expected: i64,
    },
    ChangeBoard(Box<BoardWrite>),
    LeaseBoard(Box<BoardLeaseWrite>),
    PutRecord(Box<RecordUpsert>),
    DeleteRecord {
        expect: WritePrecondition,
        name: RecordName,
    },
    DeleteExpiredRecords {
        kind: RecordKind,
        until: i64,
    },
    SendMessage {
        message: Box<NewMessage>,
        reply_to: Option<i64>,
    },
    MarkMessagesRead {
        recipient: AgentId,
        ids: Vec<u64>,
    },
    AppendTurn(Box<TurnInsert>),
}

/// The new state of an agent.
#[derive(Debug)]
pub(crate) struct AgentUpsert {
    pub(crate) expect: WritePrecondition,
    pub(crate) id: AgentId,
    /// Empty if the agent was not hired for a run.
    pub(crate) run: String,
    pub(crate) role: String,
    pub(crate) body: String,
}

/// A new turn of a conversation.
#[derive(Debug)]
pub(crate) struct TurnInsert {
    pub(crate) member: String,
    pub(crate) turn: i64,
    pub(crate) body: RecordBody,
}

impl TurnInsert {
    /// Returns the key of this turn, which a conflict reports if the turn exists already.
    pub(crate) fn conflict_key(&self) -> RecordKey {
        RecordKey::Turn {
            member: self.member.clone(),
            turn: self.turn.unsigned_abs(),
        }
    }
}

/// The new state of a record.
#[derive(Debug)]
pub(crate) struct RecordUpsert {
    pub(crate) expect: WritePrecondition,
    pub(crate) name: RecordName,
    pub(crate) expires_at: Option<i64>,
    pub(crate) body: RecordBody,
}

/// Returns the text to write; a body computed from the receipt is rendered here.
pub(crate) fn render_record_body<'a>(body: &'a RecordBody, receipt: &Receipt) -> Cow<'a, str> {
    match body {
        RecordBody::Text(text) => Cow::Borrowed(text),
        from_receipt @ RecordBody::FromReceipt(_) => Cow::Owned(from_receipt.to_text(receipt)),
    }
}

/// Returns the approximate size of a body in bytes.
fn approximate_body_size(body: &RecordBody) -> usize {
    match body {
        RecordBody::Text(text) => 100 + text.len(),
        RecordBody::FromReceipt(_) => 1_000,
    }
}

impl PreparedChangeset {
    pub(crate) fn from_changeset(changes: Changeset) -> Result<Self, PortError> {
        let writes = changes
            .writes
            .into_iter()
            .map(PreparedWrite::from_write)
            .collect::<Result<_, _>>()?;
        let events = changes
            .events
            .into_iter()
            .map(|event| (event.kind(), event.subject, event.payload.to_json()))
            .collect();
        Ok(Self {
            at: changes.at.as_str().to_owned(),
            actor: changes.actor,
            writes,
            events,
        })
    }

    /// Returns the approximate size on the wire in bytes.
    pub(crate) fn approximate_size(&self) -> usize {
        let writes = self.writes.iter().map(|write| match write {
            PreparedWrite::CreateTask(row) | PreparedWrite::PutTask { row, .. } => {
                200 + row.subject.len()
                    + row.rest.len()
                    + row.description.len()
                    + row.blocks.len()
                    + row.blocked_by.len()
            }
            PreparedWrite::CloseBlocker(dependents) => 16 * dependents.len(),
            PreparedWrite::AddComment { comment, .. } => 100 + comment.body.len(),
            PreparedWrite::PutAgent(upsert) => 80 + upsert.body.len(),
            PreparedWrite::PutWorkspace { body, .. } => 50 + body.len(),
            PreparedWrite::ChangeBoard(write) => 300 + write.change.inserted_text().len(),
            PreparedWrite::PutRecord(upsert) => approximate_body_size(&upsert.body),
            PreparedWrite::AppendTurn(turn_insert) => approximate_body_size(&turn_insert.body),
            PreparedWrite::SendMessage { message, .. } => 150 + message.payload.as_str().len(),
            PreparedWrite::MarkMessagesRead { ids, .. } => 16 * ids.len(),
            PreparedWrite::RaiseTaskNumber(_)
            | PreparedWrite::ReserveTaskNumber
            | PreparedWrite::TouchFence { .. }
            | PreparedWrite::LeaseBoard(_)
            | PreparedWrite::DeleteRecord { .. }
            | PreparedWrite::DeleteExpiredRecords { .. } => 16,
        });
        let events = self.events.iter().map(|(_, _, data)| 100 + data.len());
        writes.chain(events).sum()
    }
}

impl PreparedWrite {
    fn from_write(write: StoreWrite) -> Result<Self, PortError> {
        Ok(match write {
            StoreWrite::CreateTask(record) => {
                Self::CreateTask(Box::new(TaskRow::from_record(*record)?))
            }
            StoreWrite::PutTask {
                expect,
                record,
                blocker_change,
            } => Self::PutTask {
                expect,
                id: record.task.id,
                row: Box::new(TaskRow::from_record(*record)?),
                blocker_change,
            },
            StoreWrite::CloseBlocker { dependents } => Self::CloseBlocker(
                dependents
                    .into_iter()
                    .map(|id| Ok((id, to_i64(id.number())?)))
                    .collect::<Result<_, PortError>>()?,
            ),
            StoreWrite::RaiseTaskNumber(n) => Self::RaiseTaskNumber(to_i64(n)?),
            StoreWrite::ReserveTaskNumber => Self::ReserveTaskNumber,
            StoreWrite::AddComment { task, comment } => Self::AddComment {
                task: to_i64(task.number())?,
                comment,
            },
            StoreWrite::PutAgent { expect, agent } => Self::PutAgent(Box::new(AgentUpsert {
                expect,
                body: serde_json::to_string(&agent)
                    .map_err(|e| PortError::internal("Writing an agent", e))?,
                run: (agent.run.as_ref()).map_or_else(String::new, ToString::to_string),
                role: agent.role,
                id: agent.id,
            })),
            StoreWrite::PutWorkspace { expect, workspace } => Self::PutWorkspace {
                expect,
                id: workspace.workspace_id.clone(),
                body: serde_json::to_string(&workspace)
                    .map_err(|e| PortError::internal("Writing a workspace", e))?,
            },
            StoreWrite::TouchFence { fence, expected } => Self::TouchFence {
                fence,
                expected: to_i64(expected)?,
            },
            StoreWrite::ChangeBoard(write) => Self::ChangeBoard(write),
            StoreWrite::LeaseBoard(write) => Self::LeaseBoard(write),
            StoreWrite::PutRecord {
                name,
                expect,
                expires_at,
                body,
            } => Self::PutRecord(Box::new(RecordUpsert {
                expect,
                name,
                expires_at,
                body,
            })),
            StoreWrite::DeleteRecord { name, expect } => Self::DeleteRecord { expect, name },
            StoreWrite::DeleteExpiredRecords { kind, before } => Self::DeleteExpiredRecords {
                kind,
                until: before,
            },
            StoreWrite::SendMessage(message) => Self::SendMessage {
                reply_to: message.reply_to.map(to_i64).transpose()?,
                message,
            },
            StoreWrite::ReadMessages { recipient, ids } => {
                Self::MarkMessagesRead { recipient, ids }
            }
            StoreWrite::AppendTurn { member, turn, body } => {
                Self::AppendTurn(Box::new(TurnInsert {
                    member,
                    turn: to_i64(turn)?,
                    body,
                }))
            }
        })
    }
}

/// Whether a write's precondition holds; `found` is the record's revision, `None` if it does not exist.
pub(crate) fn matches_expected_revision(expect: WritePrecondition, found: Option<i64>) -> bool {
    match expect {
        WritePrecondition::Absent => found.is_none(),
        WritePrecondition::Revision(revision) => {
            found.is_some_and(|f| f.unsigned_abs() == revision)
        }
    }
}

/// Whether a write's body depends on the receipt of its changeset, so that it has to be written last.
pub(crate) fn needs_receipt(write: &PreparedWrite) -> bool {
    let body = match write {
        PreparedWrite::PutRecord(upsert) => &upsert.body,
        PreparedWrite::AppendTurn(turn_insert) => &turn_insert.body,
        _ => return false,
    };
    matches!(body, RecordBody::FromReceipt(_))
}

/// Returns the turn that a changeset appends twice, if any.
pub(crate) fn find_duplicate_turn(writes: &[PreparedWrite]) -> Option<RecordKey> {
    let mut before = Vec::new();
    for row in writes {
        let PreparedWrite::AppendTurn(turn_insert) = row else {
            continue;
        };
        let name = (turn_insert.member.as_str(), turn_insert.turn);
        if before.contains(&name) {
            return Some(turn_insert.conflict_key());
        }
        before.push(name);
    }
    None
}

/// Returns the error for exhausted task numbers.
pub(crate) fn task_numbers_exhausted_error() -> PortError {
    PortError::from(StoreFailure::TaskNumbersExhausted)
}
