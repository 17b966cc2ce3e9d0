//! What comes in and what goes out.

use std::path::PathBuf;

use crossterm::event::{KeyEvent, MouseEvent};
use polis_core::{Event, Kind};
use polis_ops::OpError;
use polis_ops::op::TaskStats;
use polis_view::{Lang, labels};

use super::actions::{Act, Draft};
use super::route::Place;
use crate::show::Data;

/// Something that happened.
#[derive(Debug)]
pub enum Message {
    /// A key was pressed.
    Key(KeyEvent),
    /// The mouse was used.
    Mouse(MouseEvent),
    /// A text was pasted.
    Paste(String),
    /// The terminal has another size.
    Resize(u16, u16),
    /// A box that opened by itself was drawn, and what was typed before is taken.
    Seen,
    /// Time went by.
    Tick,
    /// The log went on.
    News(Vec<Event>),
    /// The store cannot be reached, or can be again.
    Away(bool),
    /// What a page shows was read.
    Loaded(Wish, Result<Data, Refused>),
    /// The success figures were counted.
    Figures(Result<TaskStats, Refused>),
    /// Something was done; what came of it has a name, such as `#12`, if it is new.
    Done(Act, Result<Option<String>, Refused>),
    /// A text could not be saved over what somebody else has written since.
    Clashed {
        /// The person's text.
        draft: Draft,
        /// The version now.
        version: u64,
        /// Its text now.
        text: String,
        /// Who wrote it.
        by: String,
    },
    /// An editor was closed.
    Edited(Draft, Result<String, Refused>),
}

/// Something to be done outside.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Effect {
    /// Read what a page shows.
    Load(Wish),
    /// Count the success figures: at first that takes as long as the log is.
    Figures,
    /// Do something.
    Act(Act),
    /// Open a text in an editor.
    Edit(Draft),
    /// A draft is not needed any more.
    Forget(PathBuf),
    /// Give the terminal back for a while.
    Suspend,
    /// End.
    Quit,
}

/// What is to be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Wish {
    /// For which page.
    pub place: Place,
    /// What is searched for.
    pub search: String,
    /// Columns that text is wrapped to.
    pub width: usize,
    /// Whether there are colours.
    pub colour: bool,
    /// How many rows are wanted.
    pub rows: u32,
    /// Which part of it.
    pub part: Part,
}

/// Which part of what a page shows is to be read. Only the log is read in parts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The newest, as if nothing were known.
    Whole,
    /// What is before a place that is known.
    Before(u64),
    /// What came after a place that is known.
    Since(u64),
}

/// Why something was not done.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refused {
    /// For programs, and to look it up.
    pub code: String,
    /// What is wrong.
    pub message: String,
    /// What to do next.
    pub hint: String,
    /// What exactly is wrong, if that is said in another language than the rest.
    pub detail: String,
    /// Whether the same may be answered a moment later: the store was away or busy.
    pub passing: bool,
}

impl Refused {
    /// A refusal in a language. In another than its own the code says what it is, and its own words come after.
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
