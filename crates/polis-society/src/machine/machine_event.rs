//! Inputs and outputs of a member's state machine: events (from the store, the model and tools) and effects
//! (requests to the driver), with the draft of a commit.

use polis_core::message::Message;
use polis_core::society::budget::BudgetAmount;
use polis_core::society::call_approval::ApprovalDecision;
use polis_core::society::member::MemberState;
use polis_core::society::turn::{CallOutcome, ConversationTurn};

use super::ConversationFragment;
use crate::compaction::SummaryRequest;
use crate::model::{ModelError, ModelResponse};

/// A member as loaded from the store.
#[derive(Debug, Clone)]
pub struct PersistedMember {
    /// The member state in the store.
    pub state: MemberState,
    /// The revision of the state.
    pub revision: u64,
    /// Its turns from `state.since` on, with their numbers.
    pub turns: Vec<(u64, ConversationTurn)>,
}

/// An event for the state machine.
#[derive(Debug, Clone)]
pub enum MachineEvent {
    /// A session begins to drive the member; the first event of a restored machine.
    SessionStarted,
    /// Another writer changed the member state: the person paused it, an agent below it drew from its budget,
    /// or an agent above it dismissed it. The pending commit was not made.
    StateChanged(Box<MemberState>, u64),
    /// The unread messages of its mailbox, in order of their ids; may be empty.
    MailboxRead(Vec<Message>),
    /// The requested budget is available.
    BudgetAvailable,
    /// The budget is exhausted; the text gives the reason as a sentence.
    BudgetExhausted(String),
    /// The model sent a complete response.
    ResponseReceived(Box<ModelResponse>),
    /// The model request failed.
    RequestFailed(ModelError),
    /// A call ended, and nothing of it is committed.
    CallFinished(CallResult),
    /// A call ended and was committed together with the turn.
    CallCommitted(CallResult, Box<MemberState>, u64),
    /// A commit succeeded, with this new revision.
    Committed(u64),
    /// The state of the approval of a call.
    ApprovalRead(ApprovalState),
}

/// State of the approval of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApprovalState {
    /// No approval was requested.
    NotRequested,
    /// The request is pending.
    Pending,
    /// The request is decided.
    Decided(ApprovalDecision),
}

/// Result of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CallResult {
    /// The text for the model.
    pub text: String,
    /// Whether it succeeded, failed, was interrupted or was denied.
    pub end: CallOutcome,
    /// Duration of the call in milliseconds.
    pub duration_ms: u64,
}

impl CallResult {
    /// Creates the result of a call that was not executed, with the text for the model.
    pub fn failed(text: impl Into<String>) -> Self {
        Self {
            text: text.into(),
            end: CallOutcome::Failed,
            duration_ms: 0,
        }
    }
}

/// A request to the driver. There is one at a time: the next event answers it.
#[derive(Debug, Clone)]
pub enum MachineEffect {
    /// Read the unread messages of the mailbox.
    ReadMailbox,
    /// Ensure that the budget covers this cost.
    DrawBudget(BudgetCost),
    /// Request a response from the model, with the prompt of the context.
    RequestResponse,
    /// Request a summary from the model.
    RequestSummary(SummaryRequest),
    /// Execute a tool call.
    ExecuteCall {
        /// Its index in the response.
        index: usize,
        /// The draft that joins the call's commit; `None` if the call commits nothing or commits separately.
        joined_draft: Option<Box<CommitDraft>>,
    },
    /// Commit this draft to the store.
    Commit(Box<CommitDraft>),
    /// Read the approval of a call.
    ReadApproval {
        /// The turn of the response.
        turn: u64,
        /// The index of the call in the response.
        call: usize,
    },
    /// Nothing to do until the next event.
    Sleep,
    /// The member was dismissed; it will never do anything again.
    Dismissed,
    /// The state in memory does not match the event; reload everything.
    Reload,
}

/// Cost that a budget draw has to cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BudgetCost {
    /// A response of the model.
    Response,
    /// A call that runs a command.
    Command,
}

/// The contents of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommitDraft {
    /// The member state after the commit.
    pub state: MemberState,
    /// The revision on which this was decided.
    pub revision: u64,
    /// Budget spent since the previous commit; already included in the account of `state`.
    pub spend: BudgetAmount,
    /// The number of the turn, if there is one.
    pub turn: Option<u64>,
    /// The entries of the turn; stored as they are, without parsing them again.
    pub entries: ConversationFragment,
    /// Ids of the messages to mark as read.
    pub read_message_ids: Vec<u64>,
    /// A call that needs approval: its turn and its index in the response.
    pub approval_request: Option<(u64, usize)>,
    /// Text of the notice to the member's supervisor.
    pub parent_notice: Option<String>,
    /// Whether to log the new status.
    pub logs_status: bool,
}
