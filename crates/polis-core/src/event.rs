//! The commit log's entries: what happened, who did it, to what.
//!
//! Events are written in the same commit as the change they tell of, so a reader of the log sees
//! exactly what happened, in commit order.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::board::BoardName;
use crate::id::{AgentId, TaskId};
use crate::json::Raw;
use crate::society::RunId;
use crate::time::Timestamp;

/// What can happen; the `kind` of an event.
pub mod kind {
    /// A task was created.
    pub const TASK_CREATED: &str = "task.created";
    /// A task was read from a file.
    pub const TASK_IMPORTED: &str = "task.imported";
    /// A task's fields changed.
    pub const TASK_UPDATED: &str = "task.updated";
    /// The other end of a dependency changed along.
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
    /// Somebody commented on a task.
    pub const TASK_COMMENTED: &str = "task.commented";
    /// A claim was kept alive.
    pub const TASK_HEARTBEAT: &str = "task.heartbeat";
    /// An attempt on a task was refused; nothing changed.
    pub const TASK_REFUSED: &str = "task.refused";
    /// A board's whole text was written.
    pub const BOARD_WRITTEN: &str = "board.written";
    /// Something was added to a board's end.
    pub const BOARD_APPENDED: &str = "board.appended";
    /// A part of a board was changed.
    pub const BOARD_EDITED: &str = "board.edited";
    /// An older version of a board was brought back.
    pub const BOARD_RESTORED: &str = "board.restored";
    /// A board's file was changed by something else than polis.
    pub const BOARD_EXTERNAL: &str = "board.external";
    /// A board's file was gone and was written again.
    pub const BOARD_FILE_RESTORED: &str = "board.file-restored";
    /// A board was locked.
    pub const BOARD_LOCKED: &str = "board.locked";
    /// A board's lock was prolonged.
    pub const BOARD_RENEWED: &str = "board.renewed";
    /// A board's lock was given back.
    pub const BOARD_UNLOCKED: &str = "board.unlocked";
    /// A decision was proposed on a board.
    pub const DECISION_PROPOSED: &str = "decision.proposed";
    /// A decision was signed.
    pub const DECISION_SIGNED: &str = "decision.signed";
    /// A decision was vetoed.
    pub const DECISION_VETOED: &str = "decision.vetoed";
    /// A rejected decision was appealed against.
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
    /// An artifact was kept.
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
    /// A file tool was asked for something outside of the workspace, or of another team's.
    pub const FILE_REFUSED: &str = "file.refused";
    /// A run of the society began.
    pub const SOCIETY_STARTED: &str = "society.started";
    /// A run, or a member of it, is held up by somebody.
    pub const SOCIETY_PAUSED: &str = "society.paused";
    /// A run, or a member of it, goes on.
    pub const SOCIETY_RESUMED: &str = "society.resumed";
    /// All members of a run are idle and nothing is open.
    pub const SOCIETY_FINISHED: &str = "society.finished";
    /// A run is over.
    pub const SOCIETY_STOPPED: &str = "society.stopped";
    /// An agent was hired for a run.
    pub const SOCIETY_HIRED: &str = "society.hired";
    /// An agent of a run was dismissed.
    pub const SOCIETY_DISMISSED: &str = "society.dismissed";
    /// A member of a run stands differently: it asks, is held up or is parked.
    pub const SOCIETY_STANDS: &str = "society.stands";
    /// A member of a run waits for a call to be allowed.
    pub const SOCIETY_ASKED: &str = "society.asked";
    /// A person decided on a call.
    pub const SOCIETY_DECIDED: &str = "society.decided";
    /// A budget was changed.
    pub const SOCIETY_BUDGET: &str = "society.budget";
    /// A command runs, and does so for some time already.
    pub const COMMAND_STARTED: &str = "command.started";
    /// A command ran.
    pub const COMMAND_RUN: &str = "command.run";
    /// A command was not run.
    pub const COMMAND_REFUSED: &str = "command.refused";
}

/// What an event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A task.
    Task(TaskId),
    /// The task that this very commit creates; the store fills in its number.
    CreatedTask,
    /// An agent.
    Agent(AgentId),
    /// A board: `board/NAME`, or `blackboard/PATH`.
    Board(BoardName),
    /// A workspace, by the agent it belongs to.
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
    /// The subject as it stands in the log, where `created` is the number the store gave.
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
    /// To what.
    pub subject: Subject,
    /// The particulars, JSON.
    pub data: String,
}

impl NewEvent {
    /// An event whose particulars are anything that serialises.
    pub fn of(kind: &'static str, subject: Subject, data: &impl Serialize) -> Self {
        // Our own types serialise; should one not, the event still says what happened.
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
