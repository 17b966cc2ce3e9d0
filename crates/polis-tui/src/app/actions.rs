//! Actions of the person that change something ([`UserAction`]) with their confirmation messages, and drafts
//! of texts being edited ([`EditDraft`]).
//!
//! Permission checks happen in the operations, not here.

use std::path::PathBuf;
use std::sync::Arc;

use polis_core::board::BoardName;
use polis_core::{AgentId, RunId, TaskId, TaskStatus};
use polis_i18n::msg;
use polis_view::{UiLanguage, labels};

use crate::page_content::Selection;

/// An action of the person that changes something. The event loop executes it by calling an operation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum UserAction {
    /// Claim a task. The action fails if the task's version is no longer `version`; the same holds for the
    /// other task actions with a version.
    Claim {
        /// Number of the task.
        task: TaskId,
        /// The version that was shown.
        version: u64,
    },
    /// Give up a claimed task.
    Release {
        /// Number of the task.
        task: TaskId,
        /// The version that was shown.
        version: u64,
    },
    /// Change the status of a task.
    ChangeStatus {
        /// Number of the task.
        task: TaskId,
        /// The version that was shown.
        version: u64,
        /// The status after the change; `Deleted` deletes the task.
        to: TaskStatus,
    },
    /// Comment on a task.
    Comment {
        /// Number of the task.
        task: TaskId,
        /// Text of the comment.
        body: String,
    },
    /// Create a pending task.
    Create {
        /// Subject line of the task.
        subject: String,
        /// Description of the task; may be empty.
        description: String,
        /// The required role; empty for any.
        role: String,
        /// The task type; empty for none.
        sort: String,
        /// The priority; empty for none.
        priority: String,
    },
    /// Approve a task's completion.
    Approve {
        /// Number of the task.
        task: TaskId,
        /// The version that was shown.
        version: u64,
        /// Note of the approver; empty for none.
        note: String,
    },
    /// Save an edited board or task.
    Save(EditDraft),
    /// Append to a board.
    Append {
        /// Name of the board.
        board: BoardName,
        /// The text to append.
        content: String,
    },
    /// Restore an old version of a board.
    Restore {
        /// Name of the board.
        board: BoardName,
        /// The version to restore.
        version: u64,
        /// The newest version that was shown; the action fails if there is a newer one. `None`: not checked.
        newest: Option<u64>,
    },
    /// Propose a decision: the board and the text of the decision.
    Propose(BoardName, String),
    /// Sign a decision: the board and the id of the decision.
    Sign(BoardName, String),
    /// Veto a decision.
    Veto {
        /// Name of the board.
        board: BoardName,
        /// Id of the decision.
        id: String,
        /// Reason, which the veto must have.
        reason: String,
    },
    /// Appeal a decision (request a second vote): the board and the id of the decision.
    Appeal(BoardName, String),
    /// Add a milestone: the board and the title.
    AddMilestone(BoardName, String),
    /// Mark a milestone as reached: the board and the title.
    ReachMilestone(BoardName, String),
    /// Allow or deny a tool call that needs approval.
    DecideCall {
        /// Id of the call approval.
        id: String,
        /// Whether the call may be executed.
        allowed: bool,
        /// Note for the agent; empty for none.
        note: String,
    },
    /// Send a message to an agent.
    SendMessage {
        /// Id of the recipient.
        to: AgentId,
        /// The run in which the recipient is found; needed if it is the `root` of a run.
        run: Option<RunId>,
        /// Text of the message.
        text: String,
        /// The message this replies to.
        reply_to: Option<u64>,
    },
    /// Dismiss a message to the person: take it off the list.
    DismissMessage(u64),
    /// Pause an agent of a run.
    Pause(AgentId, Option<RunId>),
    /// Resume an agent of a run.
    Resume(AgentId, Option<RunId>),
    /// Dismiss an agent and all agents below it.
    Terminate(AgentId),
}

/// The item whose text is edited.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum EditTarget {
    /// The whole text of a board.
    Board(BoardName),
    /// A task: its subject, an empty line, its description (see [`task_text`]).
    Task(TaskId),
}

impl std::fmt::Display for EditTarget {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Board(board) => board.fmt(f),
            Self::Task(task) => write!(f, "#{task}"),
        }
    }
}

impl EditTarget {
    /// Whether this is the text of the selected item.
    pub fn matches_selection(&self, selection: &Selection) -> bool {
        match (self, selection) {
            (Self::Board(board), Selection::Board(other)) => board == other,
            (Self::Task(task), Selection::Task { id, .. }) => task == id,
            _ => false,
        }
    }

    /// Whether two versions of the text are equal; for a task, apart from empty lines around the description.
    pub fn is_same_text(&self, one: &str, two: &str) -> bool {
        match self {
            Self::Board(_) => one == two,
            Self::Task(_) => subject_and_description(one) == subject_and_description(two),
        }
    }
}

/// Formats a task as editable text.
pub fn task_text(subject: &str, description: &str) -> String {
    match description {
        "" => format!("{subject}\n\n"),
        description => format!("{subject}\n\n{description}\n"),
    }
}

/// Splits a task's text into subject and description; surrounding empty lines are ignored.
pub fn subject_and_description(text: &str) -> (&str, &str) {
    let text = text.trim_start_matches(['\n', '\r']);
    let (subject, rest) = text.split_once('\n').unwrap_or((text, ""));
    let empty = |line: &str| line.trim().is_empty();
    let mut description = rest;
    while let Some((_, after)) = description.split_once('\n').filter(|(line, _)| empty(line)) {
        description = after;
    }
    (subject.trim(), description.trim_end())
}

/// Returns the message that names the file of an unsaved text.
pub fn draft_file_notice(file: &std::path::Path, lang: UiLanguage) -> String {
    let file = file.display();
    msg::tui_text_is_in_file(lang, file)
}

/// A text being edited in the external editor. Its file exists until the text is saved or discarded, so that
/// nothing is lost if the program ends unexpectedly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EditDraft {
    /// What is being edited.
    pub target: EditTarget,
    /// The version the edit is based on.
    pub version: u64,
    /// The text of that version.
    pub base: Arc<String>,
    /// The text to edit, or the edited text.
    pub text: String,
    /// Whether it contains conflict markers of a merge.
    pub has_conflict_markers: bool,
    /// Whether the file's content could not be read as text. Then the edited text exists only in the file,
    /// and `text` is the previous state.
    pub unreadable: bool,
    /// The draft's file, once it was opened in an editor.
    pub file: Option<PathBuf>,
}

impl UserAction {
    /// Returns the message that confirms the action. `new` is the id of a created object or the new version.
    pub fn confirmation_message(&self, new: Option<&str>, lang: UiLanguage) -> String {
        let new = new.unwrap_or_default();
        match self {
            Self::Claim { task, .. } => msg::tui_task_claimed(lang, task),
            Self::Release { task, .. } => msg::tui_task_released(lang, task),
            Self::ChangeStatus { task, to, .. } => {
                let to = labels::task_status_label(*to, lang);
                msg::tui_task_moved(lang, task, to)
            }
            Self::Comment { task, .. } => msg::tui_task_commented(lang, task),
            Self::Create { .. } => msg::tui_task_created(lang, new),
            Self::Approve { task, .. } => msg::tui_task_approved(lang, task),
            Self::Save(draft) => msg::tui_draft_saved(lang, &draft.target, new),
            Self::Append { board, .. } => msg::tui_board_appended(lang, board, new),
            Self::Restore { board, version, .. } => {
                msg::tui_version_restored(lang, version, board, new)
            }
            Self::Propose(..) => msg::tui_decision_proposed(lang, new),
            Self::Sign(_, id) => msg::tui_decision_signed(lang, id),
            Self::Veto { id, .. } => msg::tui_decision_vetoed(lang, id),
            Self::Appeal(_, id) => msg::tui_decision_appealed(lang, id),
            Self::AddMilestone(_, title) | Self::ReachMilestone(_, title) => {
                msg::tui_milestone_updated(lang, title)
            }
            Self::DecideCall { allowed: true, .. } => msg::tui_call_allowed(lang).to_owned(),
            Self::DecideCall { .. } => msg::tui_call_denied(lang).to_owned(),
            Self::SendMessage { to, .. } => msg::tui_message_sent(lang, to),
            Self::DismissMessage(id) => msg::tui_message_dismissed(lang, id),
            Self::Pause(agent, _) => msg::tui_agent_paused(lang, agent),
            Self::Resume(agent, _) => msg::tui_agent_resumed(lang, agent),
            Self::Terminate(agent) => msg::tui_agent_dismissed(lang, agent),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn task_text_round_trips() {
        for (subject, description) in [
            ("写测试", ""),
            ("Write", "At length."),
            ("Write", "one\n\n    two\n\nthree"),
            ("Write", "    indented"),
        ] {
            let text = task_text(subject, description);
            assert_eq!(subject_and_description(&text), (subject, description));
        }
        for (text, parts) in [
            ("", ("", "")),
            ("only", ("only", "")),
            ("\n\n one \r\n \r\ntwo\r\n\r\n", ("one", "two")),
            ("one\ntwo", ("one", "two")),
        ] {
            assert_eq!(subject_and_description(text), parts, "{text:?}");
        }
    }
}
