//! Events: the entries of the event log (the audit log), with their subjects, kinds and payloads.
//!
//! An event records what happened, by which actor and to which subject. It is written in the same commit as
//! the change it describes, so that the log has the order of the commits. Changes of internal records, such as agent
//! sessions and the stored responses of idempotency keys, have no event. Refused attempts, and file operations and
//! commands in workspaces, have events of their own.
//!
//! A writer creates a [`NewEvent`] with a typed [`EventPayload`]; a store serialises it. A reader gets an
//! [`Event`] with the stored text and asks for its payload. Events of a newer version of polis, whose kind or
//! payload this version does not know, stay readable as text.

mod agent_payload;
mod board_payload;
mod event_kind;
mod society_payload;
mod task_payload;
mod workspace_payload;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub use self::agent_payload::{
    AgentRecordEvent, ArtifactPutEvent, MessageSentEvent, MessagesReadEvent, TokenEvent,
    WebhookEvent,
};
pub use self::board_payload::{
    BoardChangedEvent, BoardFileEvent, BoardLockEvent, DecisionChangedEvent, MilestoneChangedEvent,
};
pub use self::event_kind::{EventArea, EventKind, EventPayload};
pub use self::society_payload::{
    BudgetChangedEvent, CallApprovalDecidedEvent, CallApprovalRequestedEvent, MemberDismissedEvent,
    MemberHiredEvent, MemberStatusChangedEvent, RunFinishedEvent, RunPausedEvent, RunStartedEvent,
};
pub use self::task_payload::{
    OwnerAssignment, TaskChangedEvent, TaskCommentedEvent, TaskHeartbeatEvent, TaskRefusedEvent,
    TaskSnapshotEvent,
};
pub use self::workspace_payload::{
    CommandRefusedEvent, CommandRunEvent, CommandStartedEvent, DirectoryMadeEvent,
    FileDeletedEvent, FileEditedEvent, FileMovedEvent, FileRefusedEvent, FileWrittenEvent,
    WorkspaceBindingEvent,
};
use crate::board::BoardName;
use crate::id::{AgentId, TaskId};
use crate::json::RawJson;
use crate::society::RunId;
use crate::timestamp::Timestamp;

/// The object that an event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EventSubject {
    /// A task.
    Task(TaskId),
    /// The task that this commit creates. The store fills in its number.
    CreatedTask,
    /// An agent.
    Agent(AgentId),
    /// A board: `board/NAME`, or `blackboard/PATH`.
    Board(BoardName),
    /// A workspace, by the agent that owns it.
    Workspace(AgentId),
    /// An agent's mailbox.
    Mailbox(AgentId),
    /// An artifact.
    Artifact(String),
    /// A webhook.
    Webhook(String),
    /// A run of the society.
    Run(RunId),
}

impl EventSubject {
    /// Returns the subject as written in the log. `created` is the task number assigned by the store, for
    /// `CreatedTask`.
    pub fn to_log_text(&self, created: Option<TaskId>) -> String {
        match self {
            Self::Task(id) => format!("task/{id}"),
            Self::CreatedTask => {
                created.map_or_else(|| "task".to_owned(), |id| format!("task/{id}"))
            }
            Self::Agent(id) => format!("agent/{id}"),
            Self::Board(name) if name.is_whiteboard() => format!("board/{name}"),
            Self::Board(name) => name.to_string(),
            Self::Workspace(id) => format!("workspace/{id}"),
            Self::Mailbox(id) => format!("mailbox/{id}"),
            Self::Artifact(id) => format!("artifact/{id}"),
            Self::Webhook(id) => format!("webhook/{id}"),
            Self::Run(id) => format!("run/{id}"),
        }
    }
}

/// An event not yet committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// The object it happened to.
    pub subject: EventSubject,
    /// What happened. It determines the kind of the event.
    pub payload: EventPayload,
}

impl NewEvent {
    /// Creates an event.
    pub fn new(subject: EventSubject, payload: EventPayload) -> Self {
        Self { subject, payload }
    }

    /// Returns the kind of the event.
    pub fn kind(&self) -> EventKind {
        self.payload.kind()
    }
}

/// An entry of the commit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Position in the log: 1, 2, 3, … without gaps, in commit order.
    pub seq: u64,
    /// When the change was decided, by the clock of the process that made it.
    pub at: Timestamp,
    /// The agent or person that made the change.
    pub actor: String,
    /// Kind of event, such as `task.claimed`.
    pub kind: String,
    /// The object that changed, such as `task/5`.
    pub subject: String,
    /// Details, depending on the kind.
    #[schemars(with = "serde_json::Value")]
    pub data: RawJson,
}

impl Event {
    /// Returns the kind of the event; `None` if it is the kind of a newer version of polis.
    pub fn known_kind(&self) -> Option<EventKind> {
        EventKind::from_name(&self.kind)
    }

    /// Returns the payload of the event. Returns `None` if the kind is unknown, or if the data has not the shape
    /// that this version of polis writes and reads.
    pub fn payload(&self) -> Option<EventPayload> {
        EventPayload::parse(self.known_kind()?, &self.data)
    }

    /// Returns the run that the event is about, if its subject is a run.
    pub fn subject_run(&self) -> Option<RunId> {
        self.subject.strip_prefix("run/")?.parse().ok()
    }
}
