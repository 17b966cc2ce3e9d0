//! Messages (inputs of the update function) and effects (its requests to the event loop), and errors as they
//! are displayed ([`DisplayError`]).

use std::path::PathBuf;

use crossterm::event::{KeyEvent, MouseEvent};
use polis_core::{Event, RefusalKind};
use polis_i18n::Surface;
use polis_ops::OpError;
use polis_ops::op::TaskStats;
use polis_view::UiLanguage;

use super::actions::{EditDraft, UserAction};
use super::page_route::Route;
use crate::page_content::PageData;

/// An input of the update function.
#[derive(Debug)]
pub enum AppMessage {
    /// A key was pressed.
    Key(KeyEvent),
    /// The mouse was used.
    Mouse(MouseEvent),
    /// A text was pasted.
    Paste(String),
    /// The terminal was resized.
    Resize(u16, u16),
    /// An automatically opened overlay was drawn, and earlier key presses have been consumed.
    OverlayDrawn,
    /// A displayed time may have changed, or the page has to be reloaded.
    Tick,
    /// New events in the event log; none if only the store has become reachable again.
    EventsArrived(Vec<Event>),
    /// The store became unreachable, or reachable again.
    StoreUnreachable(bool),
    /// The data of a page was loaded.
    Loaded(LoadRequest, Result<PageData, DisplayError>),
    /// The success figures were computed.
    StatsComputed(Result<TaskStats, DisplayError>),
    /// An action finished; a new object has a name, such as `#12`.
    ActionFinished(UserAction, Result<Option<String>, DisplayError>),
    /// A text could not be saved because another author has changed it since.
    SaveConflict {
        /// The draft that was not saved.
        draft: EditDraft,
        /// Current version of the board or task.
        version: u64,
        /// Text of the current version.
        text: String,
        /// Author of the current text; empty if unknown.
        by: String,
    },
    /// The external editor was closed or could not be started: the draft, and its new text or the failure.
    EditorClosed(EditDraft, Result<String, DisplayError>),
}

/// A request to the event loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AppEffect {
    /// Load the data of a page.
    Load(LoadRequest),
    /// Compute the success figures. The first time takes as long as reading the whole event log.
    ComputeStats,
    /// Execute an action.
    RunAction(UserAction),
    /// Open a text in the external editor.
    Edit(EditDraft),
    /// Remove the file of a draft that is no longer needed.
    RemoveDraftFile(PathBuf),
    /// Release the terminal and suspend the process until it is continued.
    Suspend,
    /// Close the terminal UI.
    Quit,
}

/// A request to load the data of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoadRequest {
    /// Which page to load.
    pub route: Route,
    /// Search text for the store; empty for all, and on pages that filter the loaded rows.
    pub search: String,
    /// Columns to wrap text to.
    pub width: usize,
    /// Whether colours are enabled.
    pub colour: bool,
    /// Number of rows requested; of tasks, for each status.
    pub rows: u32,
    /// Which part is requested.
    pub range: LoadRange,
}

/// The part of a page's data to load. Only the event log is loaded in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LoadRange {
    /// The newest rows, from scratch.
    Newest,
    /// The rows before a known sequence number.
    Before(u64),
    /// The rows after a known sequence number.
    Since(u64),
}

/// An error for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DisplayError {
    /// The error code, for programs and for reference.
    pub code: String,
    /// Message: what is wrong, in the display language.
    pub message: String,
    /// Next step, in the display language.
    pub hint: String,
    /// Whether a retry may succeed soon: the store was unreachable or busy.
    pub is_temporary: bool,
}

impl DisplayError {
    /// Creates an error for display in a language.
    pub fn from_error(error: &OpError, lang: UiLanguage) -> Self {
        let text = error.render(Surface::Screen, lang);
        Self {
            code: error.code().as_str().to_owned(),
            message: text.message,
            hint: text.hint,
            is_temporary: matches!(error.kind(), RefusalKind::Internal | RefusalKind::Busy),
        }
    }
}
