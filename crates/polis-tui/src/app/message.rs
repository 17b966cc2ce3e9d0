//! Messages (inputs of the update function) and effects (its requests to the outside).

use std::path::PathBuf;

use crossterm::event::{KeyEvent, MouseEvent};
use polis_core::{Event, Kind};
use polis_ops::OpError;
use polis_ops::op::TaskStats;
use polis_view::{Lang, labels};

use super::actions::{Act, Draft};
use super::route::Place;
use crate::show::Data;

/// An input of the update function.
#[derive(Debug)]
pub enum Message {
    /// A key was pressed.
    Key(KeyEvent),
    /// The mouse was used.
    Mouse(MouseEvent),
    /// A text was pasted.
    Paste(String),
    /// The terminal was resized.
    Resize(u16, u16),
    /// An automatically opened overlay was drawn, and earlier key presses have been consumed.
    Seen,
    /// A timer tick.
    Tick,
    /// New events in the log.
    News(Vec<Event>),
    /// The store became unreachable, or reachable again.
    Away(bool),
    /// The data of a page was loaded.
    Loaded(Wish, Result<Data, Refused>),
    /// The success figures were computed.
    Figures(Result<TaskStats, Refused>),
    /// An action finished; a new object has a name, such as `#12`.
    Done(Act, Result<Option<String>, Refused>),
    /// A text could not be saved because another author has changed it since.
    Clashed {
        /// The user's draft.
        draft: Draft,
        /// The current version.
        version: u64,
        /// Its text.
        text: String,
        /// Its author.
        by: String,
    },
    /// An editor was closed.
    Edited(Draft, Result<String, Refused>),
}

/// A request to the outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Load the data of a page.
    Load(Wish),
    /// Compute the success figures. The first time takes as long as reading the whole log.
    Figures,
    /// Execute an action.
    Act(Act),
    /// Open a text in an editor.
    Edit(Draft),
    /// Remove the file of a draft that is no longer needed.
    Forget(PathBuf),
    /// Suspend the process and release the terminal.
    Suspend,
    /// Quit.
    Quit,
}

/// A request to load the data of a page.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// The page.
    pub place: Place,
    /// The search text.
    pub search: String,
    /// Columns to wrap text to.
    pub width: usize,
    /// Whether colours are enabled.
    pub colour: bool,
    /// Number of rows requested.
    pub rows: u32,
    /// The part requested.
    pub part: Part,
}

/// The part of a page's data to load. Only the log is loaded in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The newest rows, from scratch.
    Whole,
    /// The rows before a known sequence number.
    Before(u64),
    /// The rows after a known sequence number.
    Since(u64),
}

/// An error for display.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// The error code, for programs and for reference.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// The next step.
    pub hint: String,
    /// The original message, if it is in another language than the rest.
    pub detail: String,
    /// Whether a retry may succeed soon: the store was unreachable or busy.
    pub passing: bool,
}

impl Refused {
    /// Creates an error for display in a language. If that is not the message's own language, the text is
    /// derived from the code and the original message is appended.
    pub fn of(error: &OpError, lang: Lang) -> Self {
        let document = error.document();
        let own = (document.error.message, document.error.hint);
        let hint = labels::screen_hint(error.code(), own.1, lang);
        let (message, detail) = match lang {
            Lang::En => (labels::screen_message(own.0), String::new()),
            Lang::Zh => (
                labels::refusal(error.code(), lang).to_owned(),
                labels::screen_detail(own.0, own.1, lang),
            ),
        };
        Self {
            code: document.error.code.as_str().to_owned(),
            message,
            hint,
            detail,
            passing: matches!(error.kind(), Kind::Internal | Kind::Busy),
        }
    }
}
