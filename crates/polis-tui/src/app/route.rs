//! Routes: what a page can show, from the first pages of the tabs to the pages opened from there.

use polis_core::board::BoardName;
use polis_core::{AgentId, Event, RunId, TaskId};
use polis_view::{Lang, Tab};

/// A route.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Place {
    /// The overview of current activity.
    Now,
    /// All tasks.
    Tasks,
    /// A task.
    Task(TaskId),
    /// All boards.
    Boards,
    /// A board.
    Board(BoardName),
    /// A board's versions.
    Versions(BoardName),
    /// The diff of a board's version.
    Change(BoardName, u64),
    /// A board's decisions and milestones.
    Rulings(BoardName),
    /// All agents.
    Agents,
    /// An agent: its details and its conversation.
    Agent(AgentId, Option<RunId>),
    /// All workspaces.
    Workspaces,
    /// A directory of a workspace.
    Files(AgentId, String),
    /// A file of a workspace.
    File(AgentId, String),
    /// Commands that were run in a workspace.
    Commands(AgentId),
    /// A command and its output: owner of the workspace and command id.
    Command(AgentId, String),
    /// The log.
    Events,
    /// An event.
    Event(Box<Event>),
}

impl Place {
    /// Returns the first page of a tab.
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

    /// Returns the page title.
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

    /// Whether an event may have changed what the page shows.
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

    /// Whether the filter is a query to the store instead of a filter of the loaded rows.
    pub fn searches_store(&self) -> bool {
        matches!(self, Self::Tasks | Self::Events)
    }
}
