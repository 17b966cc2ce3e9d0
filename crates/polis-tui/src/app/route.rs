//! What a page can show: what the tabs begin with, and what is opened from there.

use polis_core::board::BoardName;
use polis_core::{AgentId, Event, RunId, TaskId};
use polis_view::{Lang, Tab};

/// What a page shows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// This minute.
    Now,
    /// All tasks.
    Tasks,
    /// One task.
    Task(TaskId),
    /// All boards.
    Boards,
    /// One board.
    Board(BoardName),
    /// A board's versions.
    Versions(BoardName),
    /// What a version of a board changed.
    Change(BoardName, u64),
    /// A board's decisions and milestones.
    Rulings(BoardName),
    /// All agents.
    Agents,
    /// One agent: what it is, what it said and did.
    Agent(AgentId, Option<RunId>),
    /// All workspaces.
    Workspaces,
    /// A directory of a workspace.
    Files(AgentId, String),
    /// A file of a workspace.
    File(AgentId, String),
    /// Commands that were run in a workspace.
    Commands(AgentId),
    /// One command and what it wrote: in whose workspace, and its id.
    Command(AgentId, String),
    /// The log.
    Events,
    /// One event.
    Event(Box<Event>),
}

impl Place {
    /// What a tab shows first.
    pub fn of(tab: Tab) -> Self {
        match tab {
            Tab::Now => Self::Now,
            Tab::Tasks => Self::Tasks,
            Tab::Boards => Self::Boards,
            Tab::Agents => Self::Agents,
            Tab::Workspaces => Self::Workspaces,
            Tab::Events => Self::Events,
        }
    }

    /// What its page is called.
    pub fn title(&self, lang: Lang) -> String {
        match self {
            Self::Now => lang.say("This minute", "此刻").to_owned(),
            Self::Tasks => lang.say("Tasks", "任务").to_owned(),
            Self::Task(id) => format!("{} #{id}", lang.say("Task", "任务")),
            Self::Boards => lang.say("Boards", "白板").to_owned(),
            Self::Board(name) => format!("{} {name}", lang.say("Board", "白板")),
            Self::Versions(name) => format!("{name}: {}", lang.say("versions", "版本")),
            Self::Change(name, version) => {
                format!("{name}: {} {version}", lang.say("version", "版本"))
            }
            Self::Rulings(name) => {
                format!(
                    "{name}: {}",
                    lang.say("decisions and milestones", "决策与里程碑")
                )
            }
            Self::Agents => lang.say("Agents", "智能体").to_owned(),
            Self::Agent(id, _) => format!("{} {id}", lang.say("Agent", "智能体")),
            Self::Workspaces => lang.say("Workspaces", "工作区").to_owned(),
            Self::Files(of, path) | Self::File(of, path) => match path.as_str() {
                "" => of.to_string(),
                path => format!("{of}: {path}"),
            },
            Self::Commands(of) => format!("{of}: {}", lang.say("commands", "命令")),
            Self::Command(of, _) => format!("{of}: {}", lang.say("a command", "命令")),
            Self::Events => lang.say("Events", "事件").to_owned(),
            Self::Event(event) => format!("{} {}", lang.say("Event", "事件"), event.seq),
        }
    }

    /// Whether an event can have changed what the page shows.
    pub fn is_touched_by(&self, event: &Event) -> bool {
        let subject = event.subject.as_str();
        let class = subject.split_once('/').map_or(subject, |(class, _)| class);
        match self {
            Self::Now | Self::Events => true,
            Self::Tasks => class == "task",
            Self::Task(id) => subject == format!("task/{id}"),
            Self::Boards => class == "board",
            Self::Board(name) | Self::Versions(name) | Self::Rulings(name) => {
                subject == format!("board/{name}")
            }
            Self::Agents | Self::Agent(..) => class != "task" && class != "board",
            Self::Workspaces => class == "workspace" || class == "agent",
            Self::Files(of, _) | Self::File(of, _) | Self::Commands(of) | Self::Command(of, _) => {
                subject == format!("workspace/{of}")
            }
            Self::Change(..) | Self::Event(_) => false,
        }
    }

    /// Whether a filter is a question to the store, not only a look at the rows that are there.
    pub fn searches_store(&self) -> bool {
        matches!(self, Self::Tasks | Self::Events)
    }
}
