//! Routes of the terminal interface: every page it can show, from the first pages of the tabs to the pages
//! opened from there, with titles and the events that affect them.

use polis_core::board::BoardName;
use polis_core::{AgentId, Event, RunId, TaskId};
use polis_i18n::msg;
use polis_view::{Tab, UiLanguage};

/// A page of the terminal interface.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Route {
    /// The overview of current activity.
    Overview,
    /// All tasks, grouped by status.
    Tasks,
    /// A task with its comments and history.
    Task(TaskId),
    /// All boards that the agent may read.
    Boards,
    /// The text of a board.
    Board(BoardName),
    /// The list of a board's versions.
    Versions(BoardName),
    /// The diff of a board's version.
    VersionDiff(BoardName, u64),
    /// A board's decisions and milestones.
    Decisions(BoardName),
    /// All agents as a tree, and the runs.
    Agents,
    /// An agent: its details and its conversation.
    Agent(AgentId, Option<RunId>),
    /// All workspaces of the project.
    Workspaces,
    /// A directory of a workspace: owner of the workspace and path, empty for its root.
    Files(AgentId, String),
    /// A file of a workspace: owner of the workspace and path.
    File(AgentId, String),
    /// Commands that were run in a workspace.
    Commands(AgentId),
    /// A command and its output: owner of the workspace and command id.
    Command(AgentId, String),
    /// The event log.
    Events,
    /// An event with all its data.
    Event(Box<Event>),
}

impl Route {
    /// Returns the first page of a tab.
    pub fn tab_root(tab: Tab) -> Self {
        match tab {
            Tab::Overview => Self::Overview,
            Tab::Tasks => Self::Tasks,
            Tab::Boards => Self::Boards,
            Tab::Agents => Self::Agents,
            Tab::Workspaces => Self::Workspaces,
            Tab::Events => Self::Events,
        }
    }

    /// Returns the page title.
    pub fn title(&self, lang: UiLanguage) -> String {
        match self {
            Self::Overview => msg::common_tab_overview(lang).to_owned(),
            Self::Tasks => msg::common_tab_tasks(lang).to_owned(),
            Self::Task(id) => format!("{} #{id}", msg::tui_page_task(lang)),
            Self::Boards => msg::common_tab_boards(lang).to_owned(),
            Self::Board(name) => format!("{} {name}", msg::common_board(lang)),
            Self::Versions(name) => {
                msg::tui_field_with_value(lang, name, msg::tui_page_versions(lang))
            }
            Self::VersionDiff(name, version) => {
                let version = format!("{} {version}", msg::tui_page_version(lang));
                msg::tui_field_with_value(lang, name, version)
            }
            Self::Decisions(name) => {
                msg::tui_field_with_value(lang, name, msg::tui_decisions_and_milestones(lang))
            }
            Self::Agents => msg::common_tab_agents(lang).to_owned(),
            Self::Agent(id, _) => format!("{} {id}", msg::common_agent(lang)),
            Self::Workspaces => msg::common_tab_workspaces(lang).to_owned(),
            Self::Files(workspace, path) | Self::File(workspace, path) => match path.as_str() {
                "" => workspace.to_string(),
                path => msg::tui_field_with_value(lang, workspace, path),
            },
            Self::Commands(workspace) => {
                msg::tui_field_with_value(lang, workspace, msg::tui_page_commands(lang))
            }
            Self::Command(workspace, _) => {
                msg::tui_field_with_value(lang, workspace, msg::tui_page_command(lang))
            }
            Self::Events => msg::common_tab_events(lang).to_owned(),
            Self::Event(event) => format!("{} {}", msg::tui_page_event(lang), event.seq),
        }
    }

    /// Whether an event may have changed what the page shows.
    pub fn is_affected_by(&self, event: &Event) -> bool {
        let subject = event.subject.as_str();
        let class = subject.split_once('/').map_or(subject, |(class, _)| class);
        match self {
            Self::Overview | Self::Events => true,
            Self::Tasks => class == "task",
            Self::Task(id) => subject == format!("task/{id}"),
            Self::Boards => class == "board",
            Self::Board(name) | Self::Versions(name) | Self::Decisions(name) => {
                subject == format!("board/{name}")
            }
            Self::Agents | Self::Agent(..) => class != "task" && class != "board",
            Self::Workspaces => class == "workspace" || class == "agent",
            Self::Files(workspace, _)
            | Self::File(workspace, _)
            | Self::Commands(workspace)
            | Self::Command(workspace, _) => subject == format!("workspace/{workspace}"),
            Self::VersionDiff(..) | Self::Event(_) => false,
        }
    }

    /// Whether the filter is a query to the store instead of a filter of the loaded rows.
    pub fn searches_store(&self) -> bool {
        matches!(self, Self::Tasks | Self::Events)
    }
}
