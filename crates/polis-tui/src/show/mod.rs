//! Converts the results of operations to rows and lines, in a language and at a point in time.
//!
//! All text from other sources is sanitized here, so that it cannot inject terminal escape sequences.

mod agents;
mod boards;
mod commands;
mod events;
mod now;
mod tasks;
mod text;
mod workspaces;

pub use agents::{AgentSheet, Roster};
pub use boards::BoardSheet;
pub use events::EventSheet;
pub use now::NowSheet;
pub use tasks::{TaskGroup, TaskSheet};
pub use text::Writer;
pub use workspaces::FileSheet;

use polis_core::board::{BoardName, Decision, Milestone, VersionEntry};
use polis_core::workspace::file::FileList;
use polis_core::{AgentId, Event, RunId, TaskId, TaskStatus, Timestamp};
use polis_ops::op::{BoardEntry, CommandEntry, CommandView, WorkspaceEntry};
use polis_view::Lang;
use polis_view::style::{Style, StyledLines, Styles};
use polis_view::terminal::{clean, one_line};

use crate::app::{Place, Shown};

/// A minute, in milliseconds.
const MINUTE: u64 = 60_000;
/// A second, in milliseconds.
const SECOND: u64 = 1_000;

/// Rendering context.
#[derive(Debug, Clone, Copy)]
pub struct Ways {
    /// The language.
    pub lang: Lang,
    /// The current time, in milliseconds.
    pub now: i64,
    /// Screen width in columns.
    pub width: usize,
}

/// The loaded data of a page.
#[derive(Debug)]
pub enum Data {
    /// The overview of current activity.
    Now(Box<NowSheet>),
    /// Tasks by status.
    Tasks(Vec<TaskGroup>),
    /// A task.
    Task(Box<TaskSheet>),
    /// Boards.
    Boards(Vec<BoardEntry>),
    /// A board.
    Board(Box<BoardSheet>),
    /// A board's versions.
    Versions(BoardName, Vec<VersionEntry>),
    /// A diff.
    Change(BoardName, u64, String),
    /// Decisions and milestones.
    Rulings(Vec<Decision>, Vec<Milestone>),
    /// Agents and runs.
    Agents(Roster),
    /// An agent.
    Agent(Box<AgentSheet>),
    /// Workspaces.
    Workspaces(Vec<WorkspaceEntry>),
    /// A directory.
    Files(AgentId, String, FileList),
    /// A file.
    File(FileSheet),
    /// Commands of a workspace, and whether there are older ones.
    Commands(Vec<CommandEntry>, bool),
    /// A command.
    Command(Box<CommandView>),
    /// A range of the log.
    Events(EventSheet),
    /// An event.
    Event(Box<Event>),
}

/// A row of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// The text of its columns.
    pub cells: Vec<Cell>,
    /// The item it represents.
    pub thing: Thing,
    /// The page it opens.
    pub open: Option<Place>,
}

/// Text in a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The sanitized text.
    pub text: String,
    /// Its styles.
    pub styles: Styles,
}

/// The item that a row or a page represents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Thing {
    /// No item that commands can act on.
    None,
    /// A heading of a group of rows.
    Heading(String),
    /// A task as the user saw it.
    Task {
        /// Its number.
        id: TaskId,
        /// Its version.
        version: u64,
        /// Its status.
        status: TaskStatus,
        /// Its owner; empty for none.
        owner: String,
    },
    /// A board.
    Board(BoardName),
    /// A version of a board.
    Version {
        /// The board.
        board: BoardName,
        /// The version.
        version: u64,
        /// The newest version, if known.
        newest: Option<u64>,
    },
    /// A decision.
    Decision(String),
    /// A milestone.
    Milestone(String),
    /// An agent.
    Agent {
        /// Its id.
        id: AgentId,
        /// Its run.
        run: Option<RunId>,
    },
    /// A message to the user.
    Message {
        /// Its number.
        id: u64,
        /// The sender.
        from: AgentId,
        /// Its run.
        run: Option<RunId>,
    },
    /// A tool call that needs approval.
    Approval(String),
    /// A workspace, a directory or a file.
    File(String),
    /// An event.
    Event(u64),
}

impl Thing {
    /// Whether it is the same item, possibly at another version.
    pub fn is_same(&self, other: &Self) -> bool {
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

impl Cell {
    /// Creates a cell from untrusted text in these styles.
    pub fn new(text: &str, styles: impl Into<Styles>) -> Self {
        Self {
            text: one_line(text),
            styles: styles.into(),
        }
    }

    /// Creates a cell from untrusted text without styles.
    pub fn plain(text: &str) -> Self {
        Self::new(text, Styles::NONE)
    }

    /// Creates a cell with secondary text.
    pub fn dim(text: &str) -> Self {
        Self::new(text, Style::Dim)
    }
}

impl Row {
    /// Creates a row.
    pub fn new(cells: impl IntoIterator<Item = Cell>, thing: Thing, open: Option<Place>) -> Self {
        Self {
            cells: cells.into_iter().collect(),
            thing,
            open,
        }
    }

    /// Creates a heading of a group of rows.
    pub fn heading(text: &str) -> Self {
        let text = clean(text);
        Self {
            cells: vec![Cell::new(&text, Style::Bold)],
            thing: Thing::Heading(text),
            open: None,
        }
    }

    /// Whether it is a heading.
    pub fn is_heading(&self) -> bool {
        matches!(self.thing, Thing::Heading(_))
    }

    /// Whether any of its cells contains a text, which must be lowercase.
    pub fn holds(&self, wanted: &str) -> bool {
        self.cells
            .iter()
            .any(|cell| cell.text.to_lowercase().contains(wanted))
    }
}

impl Data {
    /// Renders it to rows or lines.
    pub fn show(&self, ways: &Ways) -> Shown {
        match self {
            Self::Now(sheet) => rows(now::rows(sheet, ways)),
            Self::Tasks(groups) => rows(tasks::rows(groups, ways)),
            Self::Task(sheet) => Shown::Text(tasks::text(sheet, ways)),
            Self::Boards(boards) => rows(boards::rows(boards, ways)),
            Self::Board(sheet) => Shown::Text(boards::text(sheet, ways)),
            Self::Versions(board, versions) => rows(boards::versions(board, versions, ways)),
            Self::Change(_, _, diff) => Shown::Text(boards::change(diff, ways)),
            Self::Rulings(decisions, milestones) => {
                rows(boards::rulings(decisions, milestones, ways))
            }
            Self::Agents(roster) => rows(agents::rows(roster, ways)),
            Self::Agent(sheet) => Shown::Text(agents::text(sheet, ways)),
            Self::Workspaces(workspaces) => rows(workspaces::rows(workspaces, ways)),
            Self::Files(of, path, files) => rows(workspaces::files(of, path, files, ways)),
            Self::File(sheet) => Shown::Text(workspaces::file(sheet, ways)),
            Self::Commands(list, _) => rows(commands::rows(list, ways)),
            Self::Command(view) => Shown::Text(commands::text(view, ways)),
            Self::Events(sheet) => rows(events::rows(sheet, ways)),
            Self::Event(event) => Shown::Text(events::text(event, ways)),
        }
    }

    /// Returns the item that the whole page represents.
    pub fn thing(&self) -> Thing {
        match self {
            Self::Task(sheet) => Thing::Task {
                id: sheet.view.task.id,
                version: sheet.view.task.version,
                status: sheet.view.task.status,
                owner: sheet.view.task.owner.clone(),
            },
            Self::Board(sheet) => Thing::Board(sheet.view.board.clone()),
            Self::Change(board, version, _) => Thing::Version {
                board: board.clone(),
                version: *version,
                newest: None,
            },
            Self::Agent(sheet) => Thing::Agent {
                id: sheet.id.clone(),
                run: sheet.run.clone(),
            },
            _ => Thing::None,
        }
    }

    /// Merges newly loaded data into the known data.
    #[must_use]
    pub fn joined_by(self, new: Self) -> Self {
        match (self, new) {
            (Self::Events(known), Self::Events(new)) => Self::Events(known.joined_by(new)),
            (Self::Now(known), Self::Now(mut new)) => {
                // The figures are computed separately and arrive later.
                new.stats = new.stats.or(known.stats);
                Self::Now(new)
            }
            (_, new) => new,
        }
    }

    /// Whether there is more than was loaded.
    pub fn has_more(&self) -> bool {
        match self {
            Self::Tasks(groups) => groups.iter().any(TaskGroup::has_more),
            Self::Events(sheet) => sheet.more,
            Self::Commands(_, more) => *more,
            _ => false,
        }
    }

    /// Returns how often a displayed time changes, in milliseconds; `None` if no time is displayed.
    pub fn renews_every(&self) -> Option<u64> {
        match self {
            Self::Workspaces(_)
            | Self::Files(..)
            | Self::File(_)
            | Self::Change(..)
            | Self::Rulings(..)
            | Self::Event(_) => None,
            data if data.has_running() => Some(SECOND),
            _ => Some(MINUTE),
        }
    }

    /// Whether it shows running commands, which may end without an event.
    pub fn has_running(&self) -> bool {
        match self {
            Self::Now(sheet) => !sheet.now.commands.is_empty(),
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

fn rows(rows: Vec<Row>) -> Shown {
    Shown::Rows {
        view: (0..rows.len()).collect(),
        rows,
    }
}

/// Formats how long ago a time was; a dash if there is none.
fn age(at: Option<&Timestamp>, ways: &Ways) -> String {
    at.and_then(Timestamp::millis).map_or_else(
        || "-".to_owned(),
        |then| polis_view::time::age(ways.now, then, ways.lang),
    )
}

/// Returns lines with a single sentence.
fn sentence(text: &str) -> StyledLines {
    let mut lines = StyledLines::default();
    lines.push(&clean(text), Style::Dim.into());
    lines.end_line();
    lines
}
