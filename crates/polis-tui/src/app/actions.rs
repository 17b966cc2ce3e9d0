//! What a person can do from here, and what is said when it is done. Whether it may be done is decided by the
//! operation.

use std::path::PathBuf;
use std::sync::Arc;

use polis_core::board::BoardName;
use polis_core::{AgentId, RunId, TaskId, TaskStatus};
use polis_view::{Lang, labels};

use crate::show::Thing;

/// Something to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Act {
    /// Take a task; here and below, the version that was seen is the one that is changed.
    Claim {
        /// Which.
        task: TaskId,
        /// As it was seen.
        version: u64,
    },
    /// Give a task back.
    Release {
        /// Which.
        task: TaskId,
        /// As it was seen.
        version: u64,
    },
    /// Take a task to another state.
    Move {
        /// Which.
        task: TaskId,
        /// As it was seen.
        version: u64,
        /// Where to.
        to: TaskStatus,
    },
    /// Say something about a task.
    Comment {
        /// Which.
        task: TaskId,
        /// What.
        body: String,
    },
    /// Make a task.
    Create {
        /// In one line.
        subject: String,
        /// At length.
        description: String,
        /// The role its owner must have; empty for any.
        role: String,
        /// What sort of work it is; empty for none.
        sort: String,
    },
    /// Approve a task's completion.
    Approve {
        /// Which.
        task: TaskId,
        /// As it was seen.
        version: u64,
        /// What there is to say.
        note: String,
    },
    /// Save a board or a task that was edited.
    Save(Draft),
    /// Add to a board.
    Append {
        /// Which.
        board: BoardName,
        /// What.
        content: String,
    },
    /// Make an old version of a board the newest.
    Restore {
        /// Of which.
        board: BoardName,
        /// Which.
        version: u64,
        /// The newest that was seen, if any was.
        newest: Option<u64>,
    },
    /// Propose a decision.
    Propose(BoardName, String),
    /// Sign a decision.
    Sign(BoardName, String),
    /// Veto a decision.
    Veto {
        /// On which board.
        board: BoardName,
        /// Which.
        id: String,
        /// Why.
        reason: String,
    },
    /// Ask for a second vote.
    Appeal(BoardName, String),
    /// Add a milestone.
    AddMilestone(BoardName, String),
    /// Tick a milestone off.
    Reach(BoardName, String),
    /// Decide on a call that waits for a person.
    Decide {
        /// Which.
        id: String,
        /// Whether it may be carried out.
        allowed: bool,
        /// What the agent is told.
        note: String,
    },
    /// Send a message.
    Say {
        /// To whom.
        to: AgentId,
        /// In which run, for its `root`.
        run: Option<RunId>,
        /// What.
        text: String,
        /// The message it answers.
        reply_to: Option<u64>,
    },
    /// Lay a message to the person aside.
    Aside(u64),
    /// Hold an agent up.
    Pause(AgentId, Option<RunId>),
    /// Let an agent go on.
    Resume(AgentId, Option<RunId>),
    /// Dismiss an agent with everybody below it.
    Terminate(AgentId),
}

/// What is edited as a text.
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
    /// Whether it is the text of a thing.
    pub fn is_of(&self, thing: &Thing) -> bool {
        match (self, thing) {
            (Self::Board(board), Thing::Board(other)) => board == other,
            (Self::Task(task), Thing::Task { id, .. }) => task == id,
            _ => false,
        }
    }

    /// Whether two texts of it mean the same.
    pub fn is_same(&self, one: &str, two: &str) -> bool {
        match self {
            Self::Board(_) => one == two,
            Self::Task(_) => subject_and_description(one) == subject_and_description(two),
        }
    }
}

/// A task as a text to edit.
pub fn task_text(subject: &str, description: &str) -> String {
    match description {
        "" => format!("{subject}\n\n"),
        description => format!("{subject}\n\n{description}\n"),
    }
}

/// The two parts of a task's text. Empty lines around them count for nothing.
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

/// Where a text is that is not saved, in words.
pub fn kept_in(file: &std::path::Path, lang: Lang) -> String {
    let file = file.display();
    lang.say(
        format!("Your text is kept in {file}"),
        format!("您的文本保存在 {file}"),
    )
}

/// A text while a person edits it. The file is there until the text is saved or given up, so that
/// nothing is lost whatever happens to this program.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// What it is the text of.
    pub of: Sheet,
    /// The version it began with.
    pub version: u64,
    /// The text of that version.
    pub base: Arc<String>,
    /// The text to edit, or as it was edited.
    pub text: String,
    /// Whether marks stand in it where two texts have to be made one.
    pub marked: bool,
    /// Whether the file holds something that could not be read as text: then that is the person's, and
    /// `text` is only what it was before.
    pub unread: bool,
    /// Where it is, once it was in an editor.
    pub file: Option<PathBuf>,
}

impl Act {
    /// What is said when it is done. `new` names what came of it.
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
