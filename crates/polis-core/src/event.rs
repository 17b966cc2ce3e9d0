//! Events: the entries of the commit log, with their kinds and subjects.
//!
//! An event records what happened, by which actor and to which subject. It is written in the same commit as the
//! change it describes, so that the log contains exactly the committed changes, in commit order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::board::BoardName;
use crate::id::{AgentId, TaskId};
use crate::json::Raw;
use crate::society::RunId;
use crate::time::Timestamp;

/// Kinds of events: the values of [`Event::kind`].
pub mod kind {
    /// A task was created.
    pub const TASK_CREATED: &str = "task.created";
    /// A task was imported from a file.
    pub const TASK_IMPORTED: &str = "task.imported";
    /// A task's fields changed.
    pub const TASK_UPDATED: &str = "task.updated";
    /// A task's dependency list changed because the task at the other end of the dependency was changed.
    pub const TASK_LINKED: &str = "task.linked";
    /// A task got an owner.
    pub const TASK_CLAIMED: &str = "task.claimed";
    /// Work on a task began.
    pub const TASK_STARTED: &str = "task.started";
    /// A task lost its owner.
    pub const TASK_RELEASED: &str = "task.released";
    /// A task was completed.
    pub const TASK_COMPLETED: &str = "task.completed";
    /// A task was deleted.
    pub const TASK_DELETED: &str = "task.deleted";
    /// A task's completion was approved.
    pub const TASK_APPROVED: &str = "task.approved";
    /// A comment was added to a task.
    pub const TASK_COMMENTED: &str = "task.commented";
    /// A claim was renewed.
    pub const TASK_HEARTBEAT: &str = "task.heartbeat";
    /// A change to a task was refused; nothing changed.
    pub const TASK_REFUSED: &str = "task.refused";
    /// A board's whole text was replaced.
    pub const BOARD_WRITTEN: &str = "board.written";
    /// Text was appended to a board.
    pub const BOARD_APPENDED: &str = "board.appended";
    /// A part of a board was changed.
    pub const BOARD_EDITED: &str = "board.edited";
    /// An older version of a board was restored.
    pub const BOARD_RESTORED: &str = "board.restored";
    /// A board's file was changed by a program other than polis.
    pub const BOARD_EXTERNAL: &str = "board.external";
    /// A board's file was missing and was written again.
    pub const BOARD_FILE_RESTORED: &str = "board.file-restored";
    /// A board was locked.
    pub const BOARD_LOCKED: &str = "board.locked";
    /// A board's lock was renewed.
    pub const BOARD_RENEWED: &str = "board.renewed";
    /// A board's lock was released.
    pub const BOARD_UNLOCKED: &str = "board.unlocked";
    /// A decision was proposed on a board.
    pub const DECISION_PROPOSED: &str = "decision.proposed";
    /// A decision was signed.
    pub const DECISION_SIGNED: &str = "decision.signed";
    /// A decision was vetoed.
    pub const DECISION_VETOED: &str = "decision.vetoed";
    /// A rejected decision was appealed.
    pub const DECISION_APPEALED: &str = "decision.appealed";
    /// A milestone was added to a board.
    pub const MILESTONE_ADDED: &str = "milestone.added";
    /// A milestone was reached.
    pub const MILESTONE_DONE: &str = "milestone.done";
    /// An agent was registered.
    pub const AGENT_ADDED: &str = "agent.added";
    /// An agent was retired.
    pub const AGENT_RETIRED: &str = "agent.retired";
    /// A token was issued.
    pub const TOKEN_ISSUED: &str = "token.issued";
    /// A token was revoked.
    pub const TOKEN_REVOKED: &str = "token.revoked";
    /// A message was sent.
    pub const MESSAGE_SENT: &str = "message.sent";
    /// Messages were read by their recipient.
    pub const MESSAGE_READ: &str = "message.read";
    /// An artifact was stored.
    pub const ARTIFACT_PUT: &str = "artifact.put";
    /// A webhook was registered.
    pub const WEBHOOK_ADDED: &str = "webhook.added";
    /// A webhook was changed by a person.
    pub const WEBHOOK_CHANGED: &str = "webhook.changed";
    /// A webhook was removed.
    pub const WEBHOOK_REMOVED: &str = "webhook.removed";
    /// An agent got a workspace.
    pub const WORKSPACE_ASSIGNED: &str = "workspace.assigned";
    /// A workspace was bound to a directory.
    pub const WORKSPACE_BOUND: &str = "workspace.bound";
    /// A file tool wrote a file.
    pub const FILE_WRITTEN: &str = "file.written";
    /// A file tool replaced text in a file.
    pub const FILE_EDITED: &str = "file.edited";
    /// A file tool deleted a file or directory.
    pub const FILE_DELETED: &str = "file.deleted";
    /// A file tool moved a file or directory.
    pub const FILE_MOVED: &str = "file.moved";
    /// A file tool made a directory.
    pub const FILE_DIRECTORY_MADE: &str = "file.directory-made";
    /// A file tool was refused access outside of the workspace, or to another team's workspace.
    pub const FILE_REFUSED: &str = "file.refused";
    /// A run of the society began.
    pub const SOCIETY_STARTED: &str = "society.started";
    /// A run, or a member of it, was paused.
    pub const SOCIETY_PAUSED: &str = "society.paused";
    /// A run, or a member of it, was resumed.
    pub const SOCIETY_RESUMED: &str = "society.resumed";
    /// All members of a run are idle and nothing is open.
    pub const SOCIETY_FINISHED: &str = "society.finished";
    /// A run was stopped.
    pub const SOCIETY_STOPPED: &str = "society.stopped";
    /// An agent was hired for a run.
    pub const SOCIETY_HIRED: &str = "society.hired";
    /// An agent of a run was dismissed.
    pub const SOCIETY_DISMISSED: &str = "society.dismissed";
    /// A member's status changed: it waits for an approval, is paused or is parked.
    pub const SOCIETY_STANDS: &str = "society.stands";
    /// A member of a run waits for the approval of a call.
    pub const SOCIETY_ASKED: &str = "society.asked";
    /// A person decided on an approval.
    pub const SOCIETY_DECIDED: &str = "society.decided";
    /// A budget was changed.
    pub const SOCIETY_BUDGET: &str = "society.budget";
    /// A command has been running for some time and is still running.
    pub const COMMAND_STARTED: &str = "command.started";
    /// A command ran.
    pub const COMMAND_RUN: &str = "command.run";
    /// A command was refused.
    pub const COMMAND_REFUSED: &str = "command.refused";
}

/// The object that an event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
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

impl Subject {
    /// Returns the subject as written in the log. `created` is the task number assigned by the store.
    pub fn text(&self, created: Option<TaskId>) -> String {
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
    /// What happened, such as `task.claimed`.
    pub kind: &'static str,
    /// The object it happened to.
    pub subject: Subject,
    /// Event data, as JSON.
    pub data: String,
}

impl NewEvent {
    /// Creates an event with serializable data.
    pub fn of(kind: &'static str, subject: Subject, data: &impl Serialize) -> Self {
        // Our own types always serialize. If one did not, the event would still have its kind and subject.
        let data = serde_json::to_string(data).unwrap_or_else(|_| "{}".to_owned());
        Self {
            kind,
            subject,
            data,
        }
    }
}

/// An entry of the commit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its place in the log: 1, 2, 3, … without gaps, in commit order.
    pub seq: u64,
    /// When it was decided, by the clock of the one who made it.
    pub at: Timestamp,
    /// Who did it.
    pub actor: String,
    /// What happened.
    pub kind: String,
    /// To what, such as `task/5`.
    pub subject: String,
    /// The particulars.
    #[schemars(with = "serde_json::Value")]
    pub data: Raw,
}
