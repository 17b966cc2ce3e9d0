//! Page content: the loaded data of each page ([`PageData`]), and its conversion to list rows or text lines
//! in a language, at a point in time and for a screen width ([`PageData::render`]). A row names the item that
//! commands act on and the page that it opens.
//!
//! Text from other sources is sanitized, so that it cannot inject terminal escape sequences: here, or before,
//! for data that is loaded as rendered lines (files, boards).

mod agent_content;
mod board_content;
mod command_content;
mod event_content;
mod overview_content;
mod task_content;
mod text_page;
mod workspace_content;

pub use agent_content::{AgentPageData, AgentRoster};
pub use board_content::BoardPageData;
pub use event_content::LoadedEvents;
pub use overview_content::OverviewData;
pub use task_content::{TaskGroup, TaskPageData};
pub use text_page::TextPageBuilder;
pub use workspace_content::FilePageData;

use polis_core::board::{BoardDecision, BoardName, Milestone, VersionEntry};
use polis_core::workspace::file_tools::FileList;
use polis_core::{AgentId, Event, RunId, TaskId, TaskStatus, Timestamp};
use polis_ops::op::{BoardEntry, CommandEntry, CommandView, WorkspaceEntry};
use polis_view::UiLanguage;
use polis_view::style::{StyleSet, StyledLines, TextStyle};
use polis_view::terminal_sanitizer::{sanitize_line, sanitize_to_one_line};

use crate::app::{PageContent, Route};

/// A minute, in milliseconds.
const MINUTE_MS: u64 = 60_000;
/// A second, in milliseconds.
const SECOND_MS: u64 = 1_000;

/// Rendering context: language, current time and screen width.
#[derive(Debug, Clone, Copy)]
pub struct RenderContext {
    /// Display language.
    pub lang: UiLanguage,
    /// The current time, in milliseconds since 1970.
    pub now: i64,
    /// Screen width in columns.
    pub width: usize,
}

/// The loaded data of a page.
#[derive(Debug)]
pub enum PageData {
    /// The overview of current activity.
    Overview(Box<OverviewData>),
    /// Tasks by status.
    Tasks(Vec<TaskGroup>),
    /// A task with its comments and history.
    Task(Box<TaskPageData>),
    /// The boards that the agent may read.
    Boards(Vec<BoardEntry>),
    /// A board with its rendered text.
    Board(Box<BoardPageData>),
    /// The versions of a board.
    Versions(BoardName, Vec<VersionEntry>),
    /// A version of a board, as a unified diff to the previous one.
    VersionDiff(BoardName, u64, String),
    /// Decisions and milestones of a board.
    Decisions(Vec<BoardDecision>, Vec<Milestone>),
    /// Agents, members and runs.
    Agents(AgentRoster),
    /// An agent with its conversation or messages.
    Agent(Box<AgentPageData>),
    /// All workspaces of the project.
    Workspaces(Vec<WorkspaceEntry>),
    /// A directory: owner of the workspace, path, and files.
    Files(AgentId, String, FileList),
    /// A file with its highlighted text.
    File(FilePageData),
    /// Commands of a workspace, and whether there are older ones.
    Commands(Vec<CommandEntry>, bool),
    /// A command with its output.
    Command(Box<CommandView>),
    /// A range of the event log.
    Events(LoadedEvents),
    /// A single event.
    Event(Box<Event>),
}

/// A row of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListRow {
    /// One cell for each column of the page.
    pub cells: Vec<ListCell>,
    /// The item that commands act on when the row is selected.
    pub selection: Selection,
    /// The page that the row opens; `None` if there is none.
    pub opens: Option<Route>,
}

/// Text in a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ListCell {
    /// Sanitized text on one line.
    pub text: String,
    /// Styles of the whole text.
    pub styles: StyleSet,
}

/// The item that a row or a page represents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selection {
    /// No item that commands can act on.
    None,
    /// A heading of a group of rows.
    Heading(String),
    /// A task in the state that is shown.
    Task {
        /// Number of the task.
        id: TaskId,
        /// Version that is shown; actions expect it.
        version: u64,
        /// Status in that version.
        status: TaskStatus,
        /// Owner in that version; empty for none.
        owner: String,
    },
    /// A board, by its name.
    Board(BoardName),
    /// A version of a board.
    Version {
        /// Name of the board.
        board: BoardName,
        /// Number of the version.
        version: u64,
        /// The newest version, if known.
        newest: Option<u64>,
    },
    /// A decision of the page's board, by its id.
    Decision(String),
    /// A milestone of the page's board, by its title.
    Milestone(String),
    /// An agent or member.
    Agent {
        /// Id of the agent.
        id: AgentId,
        /// Run of a member; needed for `root`, which every run has.
        run: Option<RunId>,
    },
    /// A message to the person.
    Message {
        /// Number of the message.
        id: u64,
        /// Sender of the message.
        from: AgentId,
        /// Run of the sender.
        run: Option<RunId>,
    },
    /// A call approval, by its id.
    Approval(String),
    /// A workspace (the name of its owner), a file or directory (its path in the workspace), or a command
    /// (its id).
    File(String),
    /// An event, by its sequence number.
    Event(u64),
}

impl Selection {
    /// Whether it is the same item, possibly at another version.
    pub fn is_same_item(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Task { id, .. }, Self::Task { id: other, .. }) => id == other,
            (
                Self::Version { board, version, .. },
                Self::Version {
                    board: other,
                    version: number,
                    ..
                },
            ) => board == other && version == number,
            _ => self == other,
        }
    }
}

impl ListCell {
    /// Creates a cell from untrusted text in these styles.
    pub fn new(text: &str, styles: impl Into<StyleSet>) -> Self {
        Self {
            text: sanitize_to_one_line(text),
            styles: styles.into(),
        }
    }

    /// Creates a cell from untrusted text without styles.
    pub fn plain(text: &str) -> Self {
        Self::new(text, StyleSet::NONE)
    }

    /// Creates a cell with secondary text.
    pub fn dim(text: &str) -> Self {
        Self::new(text, TextStyle::Dim)
    }
}

impl ListRow {
    /// Creates a row with its cells, the item it represents, and the page it opens.
    pub fn new(
        cells: impl IntoIterator<Item = ListCell>,
        selection: Selection,
        opens: Option<Route>,
    ) -> Self {
        Self {
            cells: cells.into_iter().collect(),
            selection,
            opens,
        }
    }

    /// Creates a heading of a group of rows.
    pub fn heading(text: &str) -> Self {
        let text = sanitize_line(text);
        Self {
            cells: vec![ListCell::new(&text, TextStyle::Bold)],
            selection: Selection::Heading(text),
            opens: None,
        }
    }

    /// Whether it is a heading.
    pub fn is_heading(&self) -> bool {
        matches!(self.selection, Selection::Heading(_))
    }

    /// Whether any of its cells contains a text, which must be lowercase.
    pub fn contains_text(&self, search: &str) -> bool {
        self.cells
            .iter()
            .any(|cell| cell.text.to_lowercase().contains(search))
    }
}

impl PageData {
    /// Renders the data to rows or lines.
    pub fn render(&self, context: &RenderContext) -> PageContent {
        match self {
            Self::Overview(data) => list_content(overview_content::overview_rows(data, context)),
            Self::Tasks(groups) => list_content(task_content::task_rows(groups, context)),
            Self::Task(data) => PageContent::Text(task_content::render_task(data, context)),
            Self::Boards(boards) => list_content(board_content::board_rows(boards, context)),
            Self::Board(data) => PageContent::Text(board_content::render_board(data, context)),
            Self::Versions(board, versions) => {
                list_content(board_content::version_rows(board, versions, context))
            }
            Self::VersionDiff(_, _, diff) => {
                PageContent::Text(board_content::render_diff(diff, context))
            }
            Self::Decisions(decisions, milestones) => {
                list_content(board_content::decision_rows(decisions, milestones, context))
            }
            Self::Agents(roster) => list_content(agent_content::roster_rows(roster, context)),
            Self::Agent(data) => PageContent::Text(agent_content::render_agent(data, context)),
            Self::Workspaces(workspaces) => {
                list_content(workspace_content::workspace_rows(workspaces, context))
            }
            Self::Files(owner, path, files) => {
                list_content(workspace_content::file_rows(owner, path, files, context))
            }
            Self::File(data) => PageContent::Text(workspace_content::render_file(data, context)),
            Self::Commands(list, _) => list_content(command_content::command_rows(list, context)),
            Self::Command(view) => {
                PageContent::Text(command_content::render_command(view, context))
            }
            Self::Events(data) => list_content(event_content::event_rows(data, context)),
            Self::Event(event) => PageContent::Text(event_content::render_event(event, context)),
        }
    }

    /// Returns the item that the whole page represents, or [`Selection::None`] if it is a list.
    pub fn selection(&self) -> Selection {
        match self {
            Self::Task(data) => Selection::Task {
                id: data.view.task.id,
                version: data.view.task.version,
                status: data.view.task.status,
                owner: data.view.task.owner.clone(),
            },
            Self::Board(data) => Selection::Board(data.view.board.clone()),
            Self::VersionDiff(board, version, _) => Selection::Version {
                board: board.clone(),
                version: *version,
                newest: None,
            },
            Self::Agent(data) => Selection::Agent {
                id: data.id.clone(),
                run: data.run.clone(),
            },
            _ => Selection::None,
        }
    }

    /// Returns the data with newly loaded data merged in: adjacent ranges of events are joined, and the
    /// success figures are kept; any other data is replaced.
    #[must_use]
    pub fn merged_with(self, new: Self) -> Self {
        match (self, new) {
            (Self::Events(previous), Self::Events(new)) => Self::Events(previous.joined_with(new)),
            (Self::Overview(previous), Self::Overview(mut new)) => {
                // The figures are computed separately and arrive later.
                new.stats = new.stats.or(previous.stats);
                Self::Overview(new)
            }
            (_, new) => new,
        }
    }

    /// Whether there is more than was loaded.
    pub fn has_more(&self) -> bool {
        match self {
            Self::Tasks(groups) => groups.iter().any(TaskGroup::has_more),
            Self::Events(data) => data.has_more,
            Self::Commands(_, more) => *more,
            _ => false,
        }
    }

    /// Returns how often a displayed time changes, in milliseconds; `None` if no time is displayed.
    pub fn redraw_interval_ms(&self) -> Option<u64> {
        match self {
            Self::Workspaces(_)
            | Self::Files(..)
            | Self::File(_)
            | Self::VersionDiff(..)
            | Self::Decisions(..)
            | Self::Event(_) => None,
            data if data.has_running() => Some(SECOND_MS),
            _ => Some(MINUTE_MS),
        }
    }

    /// Whether it shows running commands, which may end without an event.
    pub fn has_running(&self) -> bool {
        match self {
            Self::Overview(data) => !data.now.commands.is_empty(),
            Self::Commands(list, _) => list.iter().any(|one| one.running),
            Self::Command(view) => view.entry.running,
            _ => false,
        }
    }

    /// Whether it changes without an event: the output of a command is not in the log.
    pub fn is_running(&self) -> bool {
        matches!(self, Self::Command(view) if view.entry.running)
    }
}

fn list_content(rows: Vec<ListRow>) -> PageContent {
    PageContent::List {
        view: (0..rows.len()).collect(),
        rows,
    }
}

/// Formats how long ago a time was; a dash if there is none.
fn format_age(at: Option<&Timestamp>, context: &RenderContext) -> String {
    at.and_then(Timestamp::millis).map_or_else(
        || "-".to_owned(),
        |then| polis_view::relative_time::format_age(context.now, then, context.lang),
    )
}

/// Returns lines with a single sentence.
fn single_sentence(text: &str) -> StyledLines {
    let mut lines = StyledLines::default();
    lines.push(&sanitize_line(text), TextStyle::Dim.into());
    lines.end_line();
    lines
}
