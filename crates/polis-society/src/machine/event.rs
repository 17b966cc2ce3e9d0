//! What comes to a member's machine, and what it wants done.

use polis_core::message::Message;
use polis_core::society::approval::Decision;
use polis_core::society::budget::Amount;
use polis_core::society::member::MemberState;
use polis_core::society::turn::{CallEnd, Turn};

use crate::compact::Plan;
use crate::model::{Answer, ModelError};

/// How a member was found in the store.
#[derive(Debug, Clone)]
pub struct Found {
    /// How it stands.
    pub state: MemberState,
    /// The revision of that.
    pub revision: u64,
    /// Its turns from `state.since` on, with their numbers.
    pub turns: Vec<(u64, Turn)>,
}

/// What comes.
#[derive(Debug, Clone)]
pub enum Event {
    /// Somebody else wrote how the member stands: a person paused it, a child drew from its purse, an ancestor
    /// dismissed it. Whatever was to be committed was not.
    Moved(Box<MemberState>, u64),
    /// The unread messages of its mailbox, by number; may be none.
    Mail(Vec<Message>),
    /// There is money for what was asked.
    Funded,
    /// There is none, and why: a sentence.
    Broke(String),
    /// The model answered.
    Answered(Box<Answer>),
    /// The model did not.
    Failed(ModelError),
    /// A call is over, and nothing of it is committed.
    Done(Outcome),
    /// A call is over and was committed, with the turn.
    Joined(Outcome, Box<MemberState>, u64),
    /// A commit was made.
    Committed(u64),
    /// Whether a person was asked about the call, and what was decided, if anything was yet.
    Decided(Asked),
}

/// What is known of a call that has to be allowed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Asked {
    /// Nobody was asked.
    Not,
    /// It is not decided yet.
    Open,
    /// It is decided.
    Decided(Decision),
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What the model is told.
    pub text: String,
    /// How it ended.
    pub end: CallEnd,
    /// How long it took (milliseconds).
    pub ms: u64,
}

impl Outcome {
    /// A call that was not carried out, and what the model is told.
    pub fn failed(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            end: CallEnd::Failed,
            ms: 0,
        }
    }
}

/// What is wanted. One at a time: the next event answers it.
#[derive(Debug, Clone)]
pub enum Effect {
    /// Look into the mailbox.
    LookForMail,
    /// See that this can be paid.
    Fund(Cost),
    /// Ask the model, with the context's prompt.
    Ask,
    /// Ask the model for a summary.
    Sum(Plan),
    /// Carry out a call.
    Call {
        /// Its place in the answer.
        at: usize,
        /// What goes into its commit, if it makes one; nothing if it makes none, or its own.
        join: Option<Box<Draft>>,
    },
    /// Commit this.
    Commit(Box<Draft>),
    /// Look whether a call was allowed: the name of its approval.
    LookForDecision {
        /// The turn of the answer.
        turn: u64,
        /// The call's place in it.
        call: usize,
    },
    /// Nothing is to be done until something happens to it.
    Sleep,
    /// It was dismissed; nothing is to be done ever.
    Gone,
    /// What is in memory does not fit what came; read everything again.
    Reload,
}

/// What has to be paid.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Cost {
    /// An answer of the model.
    Answer,
    /// A command.
    Command,
}

/// What a commit is made of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Draft {
    /// How the member stands afterwards.
    pub state: MemberState,
    /// The revision this was decided on.
    pub revision: u64,
    /// What was spent since the commit before; it is in the state's account already.
    pub spend: Amount,
    /// The turn's number, if there is one.
    pub turn: Option<u64>,
    /// The turn's entries as JSON, with commas between them.
    pub entries: String,
    /// The messages it has read.
    pub read: Vec<u64>,
    /// A call that is to be allowed: its place in the answer.
    pub asks: Option<(u64, usize)>,
    /// What the member's parent is told.
    pub parent_notice: Option<String>,
    /// Whether the log tells how it stands.
    pub stands: bool,
}
