//! Inputs and outputs of a member's state machine: events (from the store, the model and tools) and effects (requests
//! to the driver), with the draft of a commit.

use polis_core::message::Message;
use polis_core::society::approval::Decision;
use polis_core::society::budget::Amount;
use polis_core::society::member::MemberState;
use polis_core::society::turn::{CallEnd, Turn};

use crate::compact::Plan;
use crate::model::{Answer, ModelError};

/// A member as loaded from the store.
#[derive(Debug, Clone)]
pub struct Found {
    /// Its state.
    pub state: MemberState,
    /// The revision of the state.
    pub revision: u64,
    /// Its turns from `state.since` on, with their numbers.
    pub turns: Vec<(u64, Turn)>,
}

/// An event for the state machine.
#[derive(Debug, Clone)]
pub enum Event {
    /// Another writer changed the member state: the human user paused it, a child drew from its budget, or an ancestor
    /// dismissed it. The pending commit was not made.
    Moved(Box<MemberState>, u64),
    /// The unread messages of its mailbox, in order of their ids; may be empty.
    Mail(Vec<Message>),
    /// The requested budget is available.
    Funded,
    /// The budget is exhausted; the text gives the reason as a sentence.
    Broke(String),
    /// The model responded.
    Answered(Box<Answer>),
    /// The model request failed.
    Failed(ModelError),
    /// A call ended, and nothing of it is committed.
    Done(Outcome),
    /// A call ended and was committed together with the turn.
    Joined(Outcome, Box<MemberState>, u64),
    /// A commit succeeded, with this new revision.
    Committed(u64),
    /// The state of the approval of a call.
    Decided(Asked),
}

/// State of the approval of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// No approval was requested.
    Not,
    /// The request is pending.
    Open,
    /// The request is decided.
    Decided(Decision),
}

/// Result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// The text for the model.
    pub text: String,
    /// How it ended.
    pub end: CallEnd,
    /// Its duration (milliseconds).
    pub ms: u64,
}

impl Outcome {
    /// Creates the result of a call that was not executed, with the text for the model.
    pub fn failed(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            end: CallEnd::Failed,
            ms: 0,
        }
    }
}

/// A request to the driver. There is one at a time: the next event answers it.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Read the mailbox.
    LookForMail,
    /// Ensure that the budget covers this cost.
    Fund(Cost),
    /// Request a response from the model, with the prompt of the context.
    Ask,
    /// Request a summary from the model.
    Sum(Plan),
    /// Execute a tool call.
    Call {
        /// Its index in the response.
        at: usize,
        /// The draft that joins the call's commit; `None` if the call commits nothing or commits separately.
        join: Option<Box<Draft>>,
    },
    /// Commit this draft.
    Commit(Box<Draft>),
    /// Read the approval of a call.
    LookForDecision {
        /// The turn of the response.
        turn: u64,
        /// The index of the call in the response.
        call: usize,
    },
    /// Nothing to do until the next event.
    Sleep,
    /// The member was dismissed; it will never do anything again.
    Gone,
    /// The state in memory does not match the event; reload everything.
    Reload,
}

/// What has to be paid from the budget.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// A response of the model.
    Answer,
    /// A command.
    Command,
}

/// The contents of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// The member state after the commit.
    pub state: MemberState,
    /// The revision on which this was decided.
    pub revision: u64,
    /// Budget spent since the previous commit; already included in the account of `state`.
    pub spend: Amount,
    /// The number of the turn, if there is one.
    pub turn: Option<u64>,
    /// The entries of the turn as JSON, separated by commas.
    pub entries: String,
    /// Ids of the messages to mark as read.
    pub read: Vec<u64>,
    /// A call that needs approval: its turn and its index in the response.
    pub asks: Option<(u64, usize)>,
    /// The notice to the member's parent.
    pub parent_notice: Option<String>,
    /// Whether to log the new status.
    pub stands: bool,
}
