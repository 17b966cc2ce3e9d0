//! Application state of the terminal UI ([`TuiApp`]) and its update function (Elm architecture).
//!
//! The event loop passes each input as an [`AppMessage`] to [`update_app`], which changes the state and
//! returns [`AppEffect`]s: requests to the event loop, such as
//! loading data, running an action or starting the editor. This module neither
//! performs I/O nor draws.

mod action_keys;
mod actions;
mod app_message;
mod app_update;
mod bindings;
mod drafts;
mod input_form;
mod input_handling;
mod line_input;
mod navigation;
mod overlay;
mod page_route;
mod page_state;

pub use actions::{
    EditDraft, EditTarget, UserAction, draft_file_notice, subject_and_description, task_text,
};
pub use app_message::{AppEffect, AppMessage, DisplayError, LoadRange, LoadRequest};
pub use app_update::update_app;
pub use bindings::{KeyBinding, active_bindings};
pub use input_form::{FormField, FormPurpose, InputForm};
pub use line_input::LineInput;
pub use overlay::{DraftChoice, EditConflict, Overlay, SaveFailure, UnsavedDraft, styled_diff};
pub use page_route::Route;
pub use page_state::{PageContent, PageMove, PageState};
pub use polis_view::Tab;

use std::collections::VecDeque;
use std::path::PathBuf;

use polis_view::UiLanguage;

use crate::page_content::Selection;

/// Minimum terminal size (columns, rows).
pub const MIN_TERMINAL_SIZE: (u16, u16) = (40, 10);
/// Rows outside the body: tabs, title and status line.
pub const FRAME_ROWS: u16 = 3;

/// Reload interval in milliseconds for a page that failed to load or shows running commands: a command whose
/// runner was killed ends without an event.
const RELOAD_INTERVAL_MS: u64 = 3_000;

/// State of the terminal interface: tabs with their page stacks, overlays, drafts and running actions.
#[derive(Debug)]
pub struct TuiApp {
    /// Id of the agent that acts here: `user`, unless another one was chosen on the command line.
    pub me: String,
    /// Display language.
    pub lang: UiLanguage,
    /// Whether colours are enabled.
    pub colour: bool,
    /// Terminal size (columns, rows).
    pub size: (u16, u16),
    /// Time of the last message, in milliseconds since 1970.
    pub now: i64,
    /// The tab whose top page is shown.
    pub tab: Tab,
    /// The page stack of each tab, bottom first.
    pub stacks: [Vec<PageState>; Tab::ALL.len()],
    /// The overlay above the page.
    pub overlay: Option<Overlay>,
    /// Message in the status line until the next key press.
    pub notice: Option<StatusNotice>,
    /// Whether the store is currently unreachable.
    pub store_unreachable: bool,
    /// First key of a two-key command, such as the first `g`.
    pub pending_key: Option<char>,
    /// Number of actions in progress.
    pub running_actions: usize,
    /// Overlays of unsaved drafts, queued until they can be shown.
    pub queued_overlays: VecDeque<Overlay>,
    /// Whether the overlay opened by itself and has not been drawn yet: key presses are not meant for it.
    pub overlay_undrawn: bool,
    /// Unsaved drafts that were postponed with Esc; `e` on the item shows them again.
    pub postponed_drafts: Vec<Overlay>,
    /// Submitted forms whose action has not finished yet, with that action.
    pub submitted_forms: Vec<(UserAction, InputForm)>,
    /// Whether the success figures are being computed.
    pub stats_loading: StatsLoading,
    /// Files of drafts that are not in the store; their paths are printed on exit.
    pub draft_files: Vec<PathBuf>,
}

/// State of computing the success figures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StatsLoading {
    /// No computation is in progress.
    Idle,
    /// A computation is in progress.
    Running,
    /// In progress, and outdated by an event since it started.
    RunningOutdated,
}

/// A message in the status line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StatusNotice {
    /// Success of an action, or other information such as "Not found".
    Done(String),
    /// An action was refused.
    Error(DisplayError),
}

impl TuiApp {
    /// Creates a state without loaded data.
    pub fn new(me: String, lang: UiLanguage, colour: bool, size: (u16, u16), tab: Tab) -> Self {
        Self {
            me,
            lang,
            colour,
            size,
            now: 0,
            tab,
            stacks: Tab::ALL.map(|tab| vec![PageState::new(Route::tab_root(tab))]),
            overlay: None,
            notice: None,
            store_unreachable: false,
            pending_key: None,
            running_actions: 0,
            queued_overlays: VecDeque::new(),
            overlay_undrawn: false,
            postponed_drafts: Vec::new(),
            submitted_forms: Vec::new(),
            stats_loading: StatsLoading::Idle,
            draft_files: Vec::new(),
        }
    }

    /// Returns the initial effects: loading the first page.
    pub fn initial_effects(&mut self) -> Vec<AppEffect> {
        self.reload_if_stale()
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
        self.size.0 < MIN_TERMINAL_SIZE.0 || self.size.1 < MIN_TERMINAL_SIZE.1
    }

    /// Whether an overlay has opened by itself and can be drawn, but was not drawn yet.
    pub fn has_undrawn_overlay(&self) -> bool {
        self.overlay_undrawn && !self.is_too_small()
    }

    /// Whether a draft of the item was postponed.
    pub fn has_postponed_draft(&self, selection: &Selection) -> bool {
        let mut drafts = self.postponed_drafts.iter().filter_map(Overlay::draft);
        drafts.any(|draft| draft.target.matches_selection(selection))
    }

    /// Returns the page stack of the active tab.
    pub fn stack(&self) -> &[PageState] {
        self.stacks.get(self.tab.index()).map_or(&[], Vec::as_slice)
    }

    pub(crate) fn stack_mut(&mut self) -> &mut Vec<PageState> {
        let [now, tasks, boards, agents, workspaces, events] = &mut self.stacks;
        match self.tab {
            Tab::Overview => now,
            Tab::Tasks => tasks,
            Tab::Boards => boards,
            Tab::Agents => agents,
            Tab::Workspaces => workspaces,
            Tab::Events => events,
        }
    }

    /// Returns the visible page.
    pub fn page(&self) -> Option<&PageState> {
        self.stack().last()
    }

    pub(crate) fn page_mut(&mut self) -> Option<&mut PageState> {
        self.stack_mut().last_mut()
    }

    /// Returns the number of milliseconds until a tick is needed without an event: because a displayed time
    /// changes, or a page has to be reloaded. `None` if no tick is needed.
    pub fn next_tick(&self) -> Option<u64> {
        let page = self.page()?;
        if page.failed_temporarily() {
            return Some(RELOAD_INTERVAL_MS);
        }
        let data = page.data.as_ref()?;
        data.redraw_interval_ms()
    }
}
