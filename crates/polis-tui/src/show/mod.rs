//! From what the operations answered to rows and lines, in a language and at a moment. All text that comes
//! from others is cleaned here, so that nothing of it can drive the terminal.

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
/// A second.
const SECOND: u64 = 1_000;

/// In which way something is shown.
#[derive(Debug, Clone, Copy)]
pub struct Ways {
    /// The language.
    pub lang: Lang,
    /// The moment, in milliseconds.
    pub now: i64,
    /// Columns.
    pub width: usize,
}

/// What was read for a page.
#[derive(Debug)]
pub enum Data {
    /// This minute.
    Now(Box<NowSheet>),
    /// Tasks by state.
    Tasks(Vec<TaskGroup>),
    /// One task.
    Task(Box<TaskSheet>),
    /// Boards.
    Boards(Vec<BoardEntry>),
    /// One board.
    Board(Box<BoardSheet>),
    /// A board's versions.
    Versions(BoardName, Vec<VersionEntry>),
    /// A difference.
    Change(BoardName, u64, String),
    /// Decisions and milestones.
    Rulings(Vec<Decision>, Vec<Milestone>),
    /// Who there is.
    Agents(Roster),
    /// One agent.
    Agent(Box<AgentSheet>),
    /// Workspaces.
    Workspaces(Vec<WorkspaceEntry>),
    /// A directory.
    Files(AgentId, String, FileList),
    /// A file.
    File(FileSheet),
    /// Commands of a workspace, and whether there are older ones.
    Commands(Vec<CommandEntry>, bool),
    /// One command.
    Command(Box<CommandView>),
    /// A part of the log.
    Events(EventSheet),
    /// One event.
    Event(Box<Event>),
}

/// A row of a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Row {
    /// What stands in its columns.
    pub cells: Vec<Cell>,
    /// What it is.
    pub thing: Thing,
    /// What is opened by it.
    pub open: Option<Place>,
}

/// Text in a column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cell {
    /// The text, clean.
    pub text: String,
    /// How it looks.
    pub styles: Styles,
}

/// What a row, or a page, is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Thing {
    /// Nothing that anything can be done to.
    None,
    /// A line over a group of rows.
    Heading(String),
    /// A task as it was seen.
    Task {
        /// Which.
        id: TaskId,
        /// At which version.
        version: u64,
        /// In which state.
        status: TaskStatus,
        /// Who holds it; empty for none.
        owner: String,
    },
    /// A board.
    Board(BoardName),
    /// A version of a board.
    Version {
        /// Of which.
        board: BoardName,
        /// Which.
        version: u64,
        /// The newest there was, where that is known.
        newest: Option<u64>,
    },
    /// A decision.
    Decision(String),
    /// A milestone.
    Milestone(String),
    /// An agent.
    Agent {
        /// Who.
        id: AgentId,
        /// In which run.
        run: Option<RunId>,
    },
    /// A message to the person.
    Message {
        /// Its number.
        id: u64,
        /// Who wrote it.
        from: AgentId,
        /// In which run.
        run: Option<RunId>,
    },
    /// A call that waits for a person.
    Approval(String),
    /// A workspace, a directory or a file.
    File(String),
    /// An event.
    Event(u64),
}

impl Thing {
    /// Whether it is the same thing, if perhaps at another version.
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
    /// Text of anybody in styles.
    pub fn new(text: &str, styles: impl Into<Styles>) -> Self {
        Self {
            text: one_line(text),
            styles: styles.into(),
        }
    }

    /// Plain text of anybody.
    pub fn plain(text: &str) -> Self {
        Self::new(text, Styles::NONE)
    }

    /// What is of less interest.
    pub fn dim(text: &str) -> Self {
        Self::new(text, Style::Dim)
    }
}

impl Row {
    /// A row.
    pub fn new(cells: impl IntoIterator<Item = Cell>, thing: Thing, open: Option<Place>) -> Self {
        Self {
            cells: cells.into_iter().collect(),
            thing,
            open,
        }
    }

    /// A line over a group of rows.
    pub fn heading(text: &str) -> Self {
        let text = clean(text);
        Self {
            cells: vec![Cell::new(&text, Style::Bold)],
            thing: Thing::Heading(text),
            open: None,
        }
    }

    /// Whether it is a line over a group.
    pub fn is_heading(&self) -> bool {
        matches!(self.thing, Thing::Heading(_))
    }

    /// Whether any of its cells holds a text, which is in small letters.
    pub fn holds(&self, wanted: &str) -> bool {
        self.cells
            .iter()
            .any(|cell| cell.text.to_lowercase().contains(wanted))
    }
}

impl Data {
    /// Rows or lines of it.
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

    /// What the whole page is about.
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

    /// What is known once this was read as well.
    #[must_use]
    pub fn joined_by(self, new: Self) -> Self {
        match (self, new) {
            (Self::Events(known), Self::Events(new)) => Self::Events(known.joined_by(new)),
            (Self::Now(known), Self::Now(mut new)) => {
                // They are counted beside it, and come when they come.
                new.stats = new.stats.or(known.stats);
                Self::Now(new)
            }
            (_, new) => new,
        }
    }

    /// Whether there is more than was read.
    pub fn has_more(&self) -> bool {
        match self {
            Self::Tasks(groups) => groups.iter().any(TaskGroup::has_more),
            Self::Events(sheet) => sheet.more,
            Self::Commands(_, more) => *more,
            _ => false,
        }
    }

    /// How often the time that it shows reads differently, in milliseconds; none if it shows none.
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

    /// Whether it shows commands that run, of which each may end without an event.
    pub fn has_running(&self) -> bool {
        match self {
            Self::Now(sheet) => !sheet.now.commands.is_empty(),
            Self::Commands(list, _) => list.iter().any(|one| one.running),
            Self::Command(view) => view.entry.running,
            _ => false,
        }
    }

    /// Whether it changes without an event: what a command writes is not in the log.
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

/// How long ago a moment was, or a dash.
fn age(at: Option<&Timestamp>, ways: &Ways) -> String {
    at.and_then(Timestamp::millis).map_or_else(
        || "-".to_owned(),
        |then| polis_view::time::age(ways.now, then, ways.lang),
    )
}

/// Lines of nothing but one sentence.
fn sentence(text: &str) -> StyledLines {
    let mut lines = StyledLines::default();
    lines.push(&clean(text), Style::Dim.into());
    lines.end_line();
    lines
}
