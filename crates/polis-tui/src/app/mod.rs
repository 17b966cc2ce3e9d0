//! Application state of the terminal interface and its update function (Elm architecture).
//!
//! This module neither performs I/O nor draws: requests to the outside are returned as effects.

mod action_keys;
mod actions;
mod bindings;
mod drafts;
mod form;
mod input;
mod line_input;
mod message;
mod navigation;
mod overlay;
mod page;
mod route;
mod update;

pub use actions::{Act, Draft, Sheet, kept_in, subject_and_description, task_text};
pub use bindings::{Binding, bindings};
pub use form::{Field, Form, Purpose};
pub use line_input::Line;
pub use message::{Effect, Message, Part, Refused, Wish};
pub use overlay::{Cause, Clash, Kept, Last, Overlay, coloured};
pub use page::{Move, Page, Shown};
pub use polis_view::Tab;
pub use route::Place;
pub use update::update;

use std::collections::VecDeque;
use std::path::PathBuf;

use polis_view::Lang;

use crate::show::Thing;

/// Minimum terminal size (columns, rows).
pub const LEAST: (u16, u16) = (40, 10);
/// Rows outside the body: tabs, title and status line.
pub const FRAME_ROWS: u16 = 3;

/// Reload interval in milliseconds for a page that failed to load or shows running commands: a command whose
/// runner was killed ends without an event.
const ANEW: u64 = 3_000;

/// The application state.
#[derive(Debug)]
pub struct App {
    /// The acting agent.
    pub me: String,
    /// The language.
    pub lang: Lang,
    /// Whether colours are enabled.
    pub colour: bool,
    /// Terminal size (columns, rows).
    pub size: (u16, u16),
    /// The current time, in milliseconds.
    pub now: i64,
    /// The active tab.
    pub tab: Tab,
    /// The page stack of each tab, bottom first.
    pub stacks: [Vec<Page>; Tab::ALL.len()],
    /// The overlay above the page.
    pub overlay: Option<Overlay>,
    /// Message in the status line until the next key press.
    pub notice: Option<Notice>,
    /// Whether the store is currently unreachable.
    pub away: bool,
    /// First key of a two-key command, such as the first `g`.
    pub pending: Option<char>,
    /// Number of actions in progress.
    pub busy: usize,
    /// Overlays of unsaved drafts, queued until they can be shown.
    pub waiting: VecDeque<Overlay>,
    /// Whether the overlay opened by itself and has not been drawn yet: key presses are not meant for it.
    pub unseen: bool,
    /// Unsaved drafts that the user postponed.
    pub later: Vec<Overlay>,
    /// Submitted forms without a response yet, by their action.
    pub sent: Vec<(Act, Form)>,
    /// Whether the success figures are being computed.
    pub counting: Counting,
    /// Files of drafts that are not in the store.
    pub files: Vec<PathBuf>,
}

/// State of computing the success figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// Idle.
    No,
    /// In progress.
    Now,
    /// In progress, and outdated by an event since it started.
    NowAndAgain,
}

/// A message in the status line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// An action succeeded.
    Done(String),
    /// An action was refused.
    Refused(Refused),
}

impl App {
    /// Creates a state without loaded data.
    pub fn new(me: String, lang: Lang, colour: bool, size: (u16, u16), tab: Tab) -> Self {
        Self {
            me,
            lang,
            colour,
            size,
            now: 0,
            tab,
            stacks: Tab::ALL.map(|tab| vec![Page::new(Place::of(tab))]),
            overlay: None,
            notice: None,
            away: false,
            pending: None,
            busy: 0,
            waiting: VecDeque::new(),
            unseen: false,
            later: Vec::new(),
            sent: Vec::new(),
            counting: Counting::No,
            files: Vec::new(),
        }
    }

    /// Returns the initial effects.
    pub fn begin(&mut self) -> Vec<Effect> {
        self.refresh()
    }

    /// Returns the number of rows of the body.
    pub fn body_rows(&self) -> usize {
        usize::from(self.size.1.saturating_sub(FRAME_ROWS))
    }

    /// Returns the number of columns of the body.
    pub fn columns(&self) -> usize {
        usize::from(self.size.0)
    }

    /// Whether the terminal is too small to draw.
    pub fn is_too_small(&self) -> bool {
        self.size.0 < LEAST.0 || self.size.1 < LEAST.1
    }

    /// Whether an overlay has opened by itself and can be drawn, but was not drawn yet.
    pub fn is_unseen(&self) -> bool {
        self.unseen && !self.is_too_small()
    }

    /// Whether a draft of the item was postponed.
    pub fn has_later(&self, thing: &Thing) -> bool {
        let mut drafts = self.later.iter().filter_map(Overlay::draft);
        drafts.any(|draft| draft.of.is_of(thing))
    }

    /// Returns the page stack of the active tab.
    pub fn stack(&self) -> &[Page] {
        self.stacks.get(self.tab.index()).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn stack_mut(&mut self) -> &mut Vec<Page> {
        let [now, tasks, boards, agents, workspaces, events] = &mut self.stacks;
        match self.tab {
            Tab::Now => now,
            Tab::Tasks => tasks,
            Tab::Boards => boards,
            Tab::Agents => agents,
            Tab::Workspaces => workspaces,
            Tab::Events => events,
        }
    }

    /// Returns the visible page.
    pub fn page(&self) -> Option<&Page> {
        self.stack().last()
    }

    pub(crate) fn page_mut(&mut self) -> Option<&mut Page> {
        self.stack_mut().last_mut()
    }

    /// Returns the number of milliseconds until a tick is needed without an event: because a displayed time
    /// changes, or a page has to be reloaded. `None` if no tick is needed.
    pub fn next_tick(&self) -> Option<u64> {
        let page = self.page()?;
        if page.is_cut_off() {
            return Some(ANEW);
        }
        let data = page.data.as_ref()?;
        data.renews_every()
    }
}
