//! The state of the screen, and how a message changes it. Nothing here asks for anything or draws anything:
//! what has to be done outside is answered as effects.

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

/// The least columns and rows that anything can be shown in.
pub const LEAST: (u16, u16) = (40, 10);
/// Rows that are not the body's: tabs, title, and the line at the bottom.
pub const FRAME_ROWS: u16 = 3;

/// After how many milliseconds a page is read anew that could not be read, or shows commands that run: one
/// whose runner was killed ends without an event.
const ANEW: u64 = 3_000;

/// The whole state.
#[derive(Debug)]
pub struct App {
    /// Who looks.
    pub me: String,
    /// The language.
    pub lang: Lang,
    /// Whether there are colours.
    pub colour: bool,
    /// Columns and rows.
    pub size: (u16, u16),
    /// The moment, in milliseconds.
    pub now: i64,
    /// Which tab is shown.
    pub tab: Tab,
    /// What each tab has open, the first at the bottom.
    pub stacks: [Vec<Page>; Tab::ALL.len()],
    /// What lies over the page.
    pub overlay: Option<Overlay>,
    /// What is said at the bottom until the next key.
    pub notice: Option<Notice>,
    /// Whether the store cannot be reached at the moment.
    pub away: bool,
    /// The first key of a command of two, such as the first `g`.
    pub pending: Option<char>,
    /// How many deeds are under way.
    pub busy: usize,
    /// Texts of the person that could not be saved, until there is room to show them.
    pub waiting: VecDeque<Overlay>,
    /// Whether what lies over the page opened by itself and was not drawn since: what is typed is not meant
    /// for it.
    pub unseen: bool,
    /// Texts that could not be saved and were put off by the person.
    pub later: Vec<Overlay>,
    /// Forms that were sent and are not answered yet, by what became of them.
    pub sent: Vec<(Act, Form)>,
    /// Whether the success figures are being counted.
    pub counting: Counting,
    /// Files of texts that were edited and are not in the store.
    pub files: Vec<PathBuf>,
}

/// Whether the success figures are being counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counting {
    /// They are not.
    No,
    /// They are.
    Now,
    /// They are, and something has happened since that began.
    NowAndAgain,
}

/// What is said at the bottom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Notice {
    /// Something was done.
    Done(String),
    /// Something was refused.
    Refused(Refused),
}

impl App {
    /// A screen that has loaded nothing yet.
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

    /// What to do first.
    pub fn begin(&mut self) -> Vec<Effect> {
        self.refresh()
    }

    /// Rows of the body.
    pub fn body_rows(&self) -> usize {
        usize::from(self.size.1.saturating_sub(FRAME_ROWS))
    }

    /// Columns of the body.
    pub fn columns(&self) -> usize {
        usize::from(self.size.0)
    }

    /// Whether the terminal is too small for anything.
    pub fn is_too_small(&self) -> bool {
        self.size.0 < LEAST.0 || self.size.1 < LEAST.1
    }

    /// Whether a box has opened by itself that could be drawn and was not yet.
    pub fn is_unseen(&self) -> bool {
        self.unseen && !self.is_too_small()
    }

    /// Whether a text of a thing was put off.
    pub fn has_later(&self, thing: &Thing) -> bool {
        let mut drafts = self.later.iter().filter_map(Overlay::draft);
        drafts.any(|draft| draft.of.is_of(thing))
    }

    /// The pages of the tab that is shown.
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

    /// The page that is shown.
    pub fn page(&self) -> Option<&Page> {
        self.stack().last()
    }

    pub(crate) fn page_mut(&mut self) -> Option<&mut Page> {
        self.stack_mut().last_mut()
    }

    /// In how many milliseconds there is something to do without any news: the time that is shown reads
    /// differently, or a page is read anew. None if there is nothing.
    pub fn next_tick(&self) -> Option<u64> {
        let page = self.page()?;
        if page.is_cut_off() {
            return Some(ANEW);
        }
        let data = page.data.as_ref()?;
        data.renews_every()
    }
}
