//! Changesets: the writes and events of one decision, committed atomically by a store.
//!
//! A write names the revision it was decided on (optimistic concurrency control). Of two changesets decided
//! on the same revision of a record, one is committed; the other gets a conflict and is decided again. Writes
//! that only add (a new task, a comment, an event, a settled blocker) expect no revision, because they
//! commute.

use crate::agent::Agent;
use crate::board::{BoardLeaseWrite, BoardName, BoardWrite};
use crate::caller::Caller;
use crate::event::NewEvent;
use crate::id::{AgentId, TaskId};
use crate::message::NewMessage;
use crate::record::{RecordBody, RecordKind, RecordName};
use crate::task::{NewComment, TaskRecord};
use crate::timestamp::Timestamp;
use crate::workspace::workspace_record::Workspace;

/// Precondition of a write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WritePrecondition {
    /// The record does not exist.
    Absent,
    /// The record is at this revision.
    Revision(u64),
}

/// Identifies the record whose precondition failed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordKey {
    /// A task, by its number.
    Task(TaskId),
    /// A registry entry of an agent.
    Agent(AgentId),
    /// A fence, by its kind.
    Fence(Fence),
    /// The head of a board.
    Board(BoardName),
    /// A workspace, by the agent that owns it.
    Workspace(AgentId),
    /// A generic record, by kind and id.
    Record(RecordName),
    /// A message that was expected to be unread.
    Message(u64),
    /// A turn of a conversation that was expected to be new.
    Turn {
        /// The member whose conversation it is.
        member: String,
        /// Number of the turn.
        turn: u64,
    },
}

/// A record that writers touch to conflict with each other when they could jointly break a rule without
/// writing the same record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fence {
    /// Touched by every new dependency between tasks: concurrent writers could close a cycle together.
    TaskGraph,
    /// Touched by every binding of a workspace to a directory: two overlapping bindings write different
    /// records.
    Workspaces,
}

impl Fence {
    /// Returns the fence's name in a store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TaskGraph => "task-graph",
            Self::Workspaces => "workspaces",
        }
    }
}

/// One write of a changeset.
#[derive(Debug, Clone, PartialEq)]
pub enum StoreWrite {
    /// A new task. The store assigns the next number. At most one per changeset.
    CreateTask(Box<TaskRecord>),
    /// A task's new state.
    PutTask {
        /// Expected state of the record.
        expect: WritePrecondition,
        /// The complete new state, except `open_blockers`, which the store maintains, and `created_at`, which
        /// does not change.
        record: Box<TaskRecord>,
        /// Change of the number of its open blockers. Relative, because settling a blocker does not increment
        /// the revision of the waiting task.
        blocker_change: i64,
    },
    /// One blocker of these tasks is settled (completed or deleted): each has one open blocker less. The
    /// receipt lists the tasks with no open blocker left.
    CloseBlocker {
        /// The tasks it blocked.
        dependents: Vec<TaskId>,
    },
    /// Takes the next number from the sequence for a task that is put later. The receipt contains it; a
    /// number that is never used leaves a gap.
    ReserveTaskNumber,
    /// Raises the sequence: tasks created later get larger numbers than this.
    RaiseTaskNumber(u64),
    /// A comment, numbered by the store within its task.
    AddComment {
        /// Task that is commented on.
        task: TaskId,
        /// The comment, without its number.
        comment: NewComment,
    },
    /// An agent's new state.
    PutAgent {
        /// Expected state of the record.
        expect: WritePrecondition,
        /// The complete new state.
        agent: Agent,
    },
    /// A workspace's new state.
    PutWorkspace {
        /// Expected state of the record.
        expect: WritePrecondition,
        /// The complete new state.
        workspace: Workspace,
    },
    /// A change of a board's text. Conflicts if the board does not admit it (see
    /// [`BoardHead::admits_write`](crate::board::BoardHead::admits_write)), which is evaluated after the
    /// earlier writes of the changeset. The receipt contains its version.
    ChangeBoard(Box<BoardWrite>),
    /// A change of a board's lease. Conflicts if the board has another lease than the expected one.
    LeaseBoard(Box<BoardLeaseWrite>),
    /// The new state of a generic record. Records whose body is computed from the receipt are the last writes
    /// of a changeset.
    PutRecord {
        /// Kind and id of the record.
        name: RecordName,
        /// Expected state of the record.
        expect: WritePrecondition,
        /// When the record may be deleted (milliseconds), if ever.
        expires_at: Option<i64>,
        /// The complete new state.
        body: RecordBody,
    },
    /// Deletes a record. Conflicts if it is not at the expected revision.
    DeleteRecord {
        /// Kind and id of the record.
        name: RecordName,
        /// Expected state of the record.
        expect: WritePrecondition,
    },
    /// Deletes the records of a kind that had expired at this time (milliseconds).
    DeleteExpiredRecords {
        /// Kind of the records.
        kind: RecordKind,
        /// The time that expiry times are compared with (milliseconds).
        before: i64,
    },
    /// Puts a message into its recipient's mailbox. The store numbers messages consecutively across all
    /// mailboxes. The receipt contains the numbers, in order.
    SendMessage(Box<NewMessage>),
    /// Marks messages as read by their recipient. Conflicts on the first message that is already read, does
    /// not exist, or is in another mailbox.
    ReadMessages {
        /// Owner of the mailbox.
        recipient: AgentId,
        /// Numbers of the messages.
        ids: Vec<u64>,
    },
    /// Appends a turn to a conversation. Conflicts if a turn with this number exists. A turn whose body is
    /// computed from the receipt is, like such a record, among the last writes of a changeset.
    AppendTurn {
        /// The member whose conversation it is: a [`MemberKey`](crate::society::MemberKey) as text.
        member: String,
        /// Number of the turn.
        turn: u64,
        /// Content of the turn.
        body: RecordBody,
    },
    /// Increments a fence. Conflicts with every decision that read the fence earlier.
    TouchFence {
        /// Fence to increment.
        fence: Fence,
        /// The revision that the decision read; 0 if the fence was never touched.
        expected: u64,
    },
}

/// Values that the store assigned to a committed changeset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Receipt {
    /// Position of its last event in the log.
    pub sequence: u64,
    /// The task number it created or reserved.
    pub created: Option<TaskId>,
    /// The number of the last comment it added.
    pub comment: Option<u64>,
    /// The version of the last board it changed.
    pub board: Option<u64>,
    /// The numbers of the messages it sent.
    pub messages: Vec<u64>,
    /// Pending tasks whose last open blocker it settled.
    pub unblocked: Vec<TaskId>,
}

/// Writes and events that are committed atomically.
#[derive(Debug, Clone, PartialEq)]
pub struct Changeset {
    /// The agent or person that made the change.
    pub actor: AgentId,
    /// When it was decided.
    pub at: Timestamp,
    /// The writes, in order.
    pub writes: Vec<StoreWrite>,
    /// The events, in order.
    pub events: Vec<NewEvent>,
}

impl Changeset {
    /// Creates an empty changeset of this caller.
    pub fn new(caller: &Caller, at: Timestamp) -> Self {
        Self {
            actor: caller.id.clone(),
            at,
            writes: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Adds a write at the end.
    #[must_use]
    pub fn with_write(mut self, write: StoreWrite) -> Self {
        self.writes.push(write);
        self
    }

    /// Adds an event at the end.
    #[must_use]
    pub fn with_event(mut self, event: NewEvent) -> Self {
        self.events.push(event);
        self
    }

    /// Replaces the text that this changeset writes to a record: `change` computes the new text from the old.
    /// Returns whether a text was replaced.
    pub fn amend_record(
        &mut self,
        record: &RecordName,
        change: impl FnOnce(&str) -> Option<String>,
    ) -> bool {
        for write in &mut self.writes {
            if let StoreWrite::PutRecord {
                name,
                body: RecordBody::Text(text),
                ..
            } = write
                && name == record
            {
                return change(text).map(|new| *text = new).is_some();
            }
        }
        false
    }

    /// Returns the text that this changeset writes to a record, if any.
    pub fn record_text(&self, record: &RecordName) -> Option<&str> {
        self.writes.iter().find_map(|write| match write {
            StoreWrite::PutRecord {
                name,
                body: RecordBody::Text(text),
                ..
            } if name == record => Some(text.as_str()),
            _ => None,
        })
    }

    /// Returns whether it has neither writes nor events.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.events.is_empty()
    }
}
