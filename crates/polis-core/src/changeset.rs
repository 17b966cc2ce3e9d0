//! What a decision asks a store to do, all of it or none of it.
//!
//! A write names the revision it was decided on; of two changesets decided on the same revision of
//! a record one is committed, the other is told the conflict and decides again. Writes that only
//! add (a new task, a comment, an event, a settled blocker) expect nothing: they commute.

use crate::agent::Agent;
use crate::board::{BoardName, BoardWrite, LeaseWrite};
use crate::caller::Caller;
use crate::event::NewEvent;
use crate::id::{AgentId, TaskId};
use crate::message::NewMessage;
use crate::record::{RecordBody, RecordKind, RecordName};
use crate::task::{NewComment, TaskRecord};
use crate::time::Timestamp;
use crate::workspace::record::Workspace;

/// What a write was decided on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expect {
    /// The record was not there.
    Absent,
    /// The record was at this revision.
    Revision(u64),
}

/// The name of a record that an expectation failed on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum RecordKey {
    /// A task.
    Task(TaskId),
    /// An agent.
    Agent(AgentId),
    /// A fence.
    Fence(Fence),
    /// A board.
    Board(BoardName),
    /// A workspace.
    Workspace(AgentId),
    /// A record of one of the plain kinds.
    Record(RecordName),
    /// A message that was to be unread.
    Message(u64),
    /// A turn of a conversation that was to be new.
    Turn {
        /// Whose.
        member: String,
        /// Its number.
        turn: u64,
    },
}

/// A record that writers touch when they could break a rule together without touching the same
/// thing otherwise.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Fence {
    /// Every new dependency between tasks: a circle can be closed from several sides at once.
    TaskGraph,
    /// Every binding of a workspace to a directory: two that overlap touch different records.
    Workspaces,
}

impl Fence {
    /// The fence's name in a store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::TaskGraph => "task-graph",
            Self::Workspaces => "workspaces",
        }
    }
}

/// One write of a changeset.
#[derive(Debug, Clone, PartialEq)]
pub enum Write {
    /// A new task; the store gives it the next number. At most one in a changeset.
    CreateTask(Box<TaskRecord>),
    /// A task's new state.
    PutTask {
        /// What it was decided on.
        expect: Expect,
        /// The whole new state, except `open_blockers`, which the store keeps, and `created_at`, which
        /// stays.
        record: Box<TaskRecord>,
        /// By how much its open blockers change. Relative, because settling a blocker does not
        /// move the waiting task's revision.
        blocker_change: i64,
    },
    /// One blocker of these tasks is settled (completed or deleted): each has one open blocker
    /// less. The receipt names those that have none left.
    SettleBlocker {
        /// The tasks it blocked.
        dependents: Vec<TaskId>,
    },
    /// Takes the next number out of the sequence, for a task that is put later. The receipt names
    /// it; a number that is never used leaves a gap.
    ReserveTaskNumber,
    /// No task created later gets this number or a smaller one.
    RaiseTaskNumber(u64),
    /// A comment, numbered by the store within its task.
    AddComment {
        /// The task.
        task: TaskId,
        /// The comment.
        comment: NewComment,
    },
    /// An agent's new state.
    PutAgent {
        /// What it was decided on.
        expect: Expect,
        /// The whole new state.
        agent: Agent,
    },
    /// A workspace's new state.
    PutWorkspace {
        /// What it was decided on.
        expect: Expect,
        /// The whole new state.
        workspace: Workspace,
    },
    /// A change of a board's text. Conflicts if the board does not admit it (see
    /// [`BoardHead::admits`](crate::board::BoardHead::admits)), which is judged on what earlier writes
    /// of the changeset leave behind; the receipt names its version.
    ChangeBoard(Box<BoardWrite>),
    /// A change of a board's lease.
    LeaseBoard(Box<LeaseWrite>),
    /// The new state of a record of one of the plain kinds. Those whose body is made from the receipt
    /// are the last writes of a changeset.
    PutRecord {
        /// Its name.
        name: RecordName,
        /// What it was decided on.
        expect: Expect,
        /// When it may be forgotten (milliseconds), if ever.
        expires_at: Option<i64>,
        /// The whole new state.
        body: RecordBody,
    },
    /// Removes a record; conflicts if it is not at the revision named.
    DeleteRecord {
        /// Its name.
        name: RecordName,
        /// What it was decided on.
        expect: Expect,
    },
    /// Removes the records of a kind whose time was up at this moment (milliseconds).
    ForgetRecords {
        /// The kind.
        kind: RecordKind,
        /// The moment.
        before: i64,
    },
    /// Puts a message into its recipient's mailbox; the store numbers it, one after another over all
    /// mailboxes. The receipt names the numbers, in order.
    SendMessage(Box<NewMessage>),
    /// Marks messages as read by their recipient; conflicts with the first that is read already, or
    /// is not there, or is somebody else's.
    ReadMessages {
        /// Whose mailbox.
        recipient: AgentId,
        /// Which.
        ids: Vec<u64>,
    },
    /// Adds a turn to a conversation; conflicts if there is one of that number. A turn whose body is made
    /// from the receipt is, like such a record, among the last writes of a changeset.
    AppendTurn {
        /// Whose conversation: a [`MemberKey`](crate::society::MemberKey) as text.
        member: String,
        /// Its number.
        turn: u64,
        /// What it says.
        body: RecordBody,
    },
    /// Moves a fence on; conflicts with everybody who read it before.
    TouchFence {
        /// Which.
        fence: Fence,
        /// The revision the decision read; 0 if it was never touched.
        expected: u64,
    },
}

/// What a store adds to a committed changeset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Receipt {
    /// The place of its last event in the log.
    pub sequence: u64,
    /// The number of the task it created, or that it reserved.
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

/// Writes and events that are committed together.
#[derive(Debug, Clone, PartialEq)]
pub struct Changeset {
    /// Who did it.
    pub actor: AgentId,
    /// When.
    pub at: Timestamp,
    /// The writes, in order.
    pub writes: Vec<Write>,
    /// What is told of them.
    pub events: Vec<NewEvent>,
}

impl Changeset {
    /// An empty changeset by this caller.
    pub fn by(caller: &Caller, at: Timestamp) -> Self {
        Self {
            actor: caller.id.clone(),
            at,
            writes: Vec::new(),
            events: Vec::new(),
        }
    }

    /// Adds a write.
    #[must_use]
    pub fn write(mut self, write: Write) -> Self {
        self.writes.push(write);
        self
    }

    /// Adds an event.
    #[must_use]
    pub fn event(mut self, event: NewEvent) -> Self {
        self.events.push(event);
        self
    }

    /// Changes the text that this changeset gives a record, if it does: `change` makes the new text of the old.
    /// Whether it did.
    pub fn amend(
        &mut self,
        record: &RecordName,
        change: impl FnOnce(&str) -> Option<String>,
    ) -> bool {
        for write in &mut self.writes {
            if let Write::PutRecord {
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

    /// The text that this changeset gives a record, if it does.
    pub fn text_of(&self, record: &RecordName) -> Option<&str> {
        self.writes.iter().find_map(|write| match write {
            Write::PutRecord {
                name,
                body: RecordBody::Text(text),
                ..
            } if name == record => Some(text.as_str()),
            _ => None,
        })
    }

    /// Whether there is nothing to commit.
    pub fn is_empty(&self) -> bool {
        self.writes.is_empty() && self.events.is_empty()
    }
}
