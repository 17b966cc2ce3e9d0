//! Actions the user can take and their confirmation messages; also drafts of texts being edited.
//!
//! Permission checks happen in the operations, not here.

use std::path::PathBuf;
use std::sync::Arc;

use polis_core::board::BoardName;
use polis_core::{AgentId, RunId, TaskId, TaskStatus};
use polis_view::{Lang, labels};

use crate::show::Thing;

/// An action.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Claim a task. Here and below, `version` is the version the user saw, and the action fails if it has
    /// changed.
    Claim {
        /// The task.
        task: TaskId,
        /// The version the user saw.
        version: u64,
    },
    /// Release a task.
    Release {
        /// The task.
        task: TaskId,
        /// The version the user saw.
        version: u64,
    },
    /// Change the status of a task.
    Move {
        /// The task.
        task: TaskId,
        /// The version the user saw.
        version: u64,
        /// The new status.
        to: TaskStatus,
    },
    /// Comment on a task.
    Comment {
        /// The task.
        task: TaskId,
        /// The comment.
        body: String,
    },
    /// Create a task.
    Create {
        /// The subject line.
        subject: String,
        /// The description.
        description: String,
        /// The required role; empty for any.
        role: String,
        /// The task type; empty for none.
        sort: String,
    },
    /// Approve a task's completion.
    Approve {
        /// The task.
        task: TaskId,
        /// The version the user saw.
        version: u64,
        /// An optional note.
        note: String,
    },
    /// Save an edited board or task.
    Save(Draft),
    /// Append to a board.
    Append {
        /// The board.
        board: BoardName,
        /// The text.
        content: String,
    },
    /// Restore an old version of a board.
    Restore {
        /// The board.
        board: BoardName,
        /// The version to restore.
        version: u64,
        /// The newest version the user saw, if any.
        newest: Option<u64>,
    },
    /// Propose a decision.
    Propose(BoardName, String),
    /// Sign a decision.
    Sign(BoardName, String),
    /// Veto a decision.
    Veto {
        /// The board.
        board: BoardName,
        /// The decision.
        id: String,
        /// The reason.
        reason: String,
    },
    /// Appeal a decision: request a second vote.
    Appeal(BoardName, String),
    /// Add a milestone.
    AddMilestone(BoardName, String),
    /// Mark a milestone as reached.
    Reach(BoardName, String),
    /// Decide a tool call that needs approval.
    Decide {
        /// The approval's id.
        id: String,
        /// Whether the call may be executed.
        allowed: bool,
        /// A note for the agent.
        note: String,
    },
    /// Send a message.
    Say {
        /// The recipient.
        to: AgentId,
        /// The run, if the recipient is its `root`.
        run: Option<RunId>,
        /// The text.
        text: String,
        /// The message this replies to.
        reply_to: Option<u64>,
    },
    /// Dismiss a message to the user.
    Aside(u64),
    /// Pause an agent.
    Pause(AgentId, Option<RunId>),
    /// Resume an agent.
    Resume(AgentId, Option<RunId>),
    /// Dismiss an agent and all its subordinates.
    Terminate(AgentId),
}

/// The subject of an edited text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Sheet {
    /// A board.
    Board(BoardName),
    /// A task: its subject, an empty line, its description.
    Task(TaskId),
}

impl std::fmt::Display for Sheet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Board(board) => board.fmt(f),
            Self::Task(task) => write!(f, "#{task}"),
        }
    }
}

impl Sheet {
    /// Whether this is the text of the selected item.
    pub fn is_of(&self, thing: &Thing) -> bool {
        match (self, thing) {
            (Self::Board(board), Thing::Board(other)) => board == other,
            (Self::Task(task), Thing::Task { id, .. }) => task == id,
            _ => false,
        }
    }

    /// Whether two versions of the text are equivalent.
    pub fn is_same(&self, one: &str, two: &str) -> bool {
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
pub fn kept_in(file: &std::path::Path, lang: Lang) -> String {
    let file = file.display();
    lang.say(
        format!("Your text is kept in {file}"),
        format!("您的文本保存在 {file}"),
    )
}

/// A text being edited by the user. Its file exists until the text is saved or discarded, so that nothing is
/// lost if the program ends unexpectedly.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// What is being edited.
    pub of: Sheet,
    /// The version the edit is based on.
    pub version: u64,
    /// The text of that version.
    pub base: Arc<String>,
    /// The text to edit, or the edited text.
    pub text: String,
    /// Whether it contains conflict markers of a merge.
    pub marked: bool,
    /// Whether the file's content could not be read as text. Then the user's text exists only in the file,
    /// and `text` is the previous state.
    pub unread: bool,
    /// The draft's file, once it was opened in an editor.
    pub file: Option<PathBuf>,
}

impl Act {
    /// Returns the confirmation message. `new` names the result.
    pub fn said(&self, new: Option<&str>, lang: Lang) -> String {
        let new = new.unwrap_or_default();
        match self {
            Self::Claim { task, .. } => {
                lang.say(format!("#{task} is yours."), format!("#{task} 已认领。"))
            }
            Self::Release { task, .. } => lang.say(
                format!("#{task} was given back."),
                format!("#{task} 已释放。"),
            ),
            Self::Move { task, to, .. } => {
                let to = labels::status(*to, lang);
                lang.say(
                    format!("#{task} is {to} now."),
                    format!("#{task} 现为{to}。"),
                )
            }
            Self::Comment { task, .. } => lang.say(
                format!("Your comment is on #{task}."),
                format!("已评论 #{task}。"),
            ),
            Self::Create { .. } => lang.say(
                format!("Task {new} was created."),
                format!("已创建任务 {new}。"),
            ),
            Self::Approve { task, .. } => {
                lang.say(format!("#{task} is approved."), format!("已批准 #{task}。"))
            }
            Self::Save(draft) => lang.say(
                format!("{} was saved as version {new}.", draft.of),
                format!("{} 已保存为版本 {new}。", draft.of),
            ),
            Self::Append { board, .. } => lang.say(
                format!("Added to {board}: version {new}."),
                format!("已追加到 {board}：版本 {new}。"),
            ),
            Self::Restore { board, version, .. } => lang.say(
                format!("{board} reads as in version {version} again: version {new}."),
                format!("{board} 已恢复到版本 {version}：新版本 {new}。"),
            ),
            Self::Propose(..) => {
                lang.say(format!("Proposed as {new}."), format!("已提议：{new}。"))
            }
            Self::Sign(_, id) => lang.say(format!("You signed {id}."), format!("已签署 {id}。")),
            Self::Veto { id, .. } => {
                lang.say(format!("You vetoed {id}."), format!("已否决 {id}。"))
            }
            Self::Appeal(_, id) => {
                lang.say(format!("{id} is voted on again."), format!("{id} 已申诉。"))
            }
            Self::AddMilestone(_, title) | Self::Reach(_, title) => lang.say(
                format!("Milestone \"{title}\": done."),
                format!("里程碑“{title}”：已更新。"),
            ),
            Self::Decide { allowed: true, .. } => lang
                .say("Allowed; the agent goes on.", "已允许，智能体继续。")
                .to_owned(),
            Self::Decide { .. } => lang
                .say("Denied; the agent is told.", "已拒绝，智能体已获知。")
                .to_owned(),
            Self::Say { to, .. } => lang.say(format!("Sent to {to}."), format!("已发送给 {to}。")),
            Self::Aside(id) => lang.say(
                format!("Message {id} is laid aside."),
                format!("消息 {id} 已搁置。"),
            ),
            Self::Pause(agent, _) => {
                lang.say(format!("{agent} is paused."), format!("{agent} 已暂停。"))
            }
            Self::Resume(agent, _) => {
                lang.say(format!("{agent} goes on."), format!("{agent} 已继续。"))
            }
            Self::Terminate(agent) => lang.say(
                format!("{agent} was dismissed with everybody below."),
                format!("{agent} 及其下属已解散。"),
            ),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tasks_text_is_read_as_it_was_written() {
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
