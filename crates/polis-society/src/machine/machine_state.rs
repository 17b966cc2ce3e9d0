//! The states of a member's machine, with the data that is valid in each of them.
//!
//! A state stands for the effect that the driver performs, and the event that answers it leads to the next
//! state (`machine_transition`). Four kinds of data exist in some states only:
//!
//! - Calls without results ([`CallQueue`]): while a call is checked or executed, and during a commit or a
//!   sleep between two calls. The mailbox is read and the model is asked only after all calls of a response
//!   have results.
//! - A model request that is due ([`PendingRequest`]): from the entry that the model has to respond to until
//!   the response. Refusals and compactions are counted in it, so a response resets them.
//! - An approval request or a notice ([`CommitAddition`]): only during the commit that stores it.
//! - The summary that was requested: only until the model responds.
//!
//! What is valid in every state is a field of the machine: the stored member, the draft of the next turn, the
//! context and the history of calls and responses.

use super::call_queue::CallQueue;
use crate::compaction::SummaryRequest;

/// State of a member's machine.
#[derive(Debug, Clone)]
pub(super) enum MachineState {
    /// No operation is in progress: the member was just restored, is blocked, or waits for a message or an
    /// approval. A new session continues with the step.
    Sleeping(NextStep),
    /// Unread messages are being read; a model request may be due already. They lead to a model request;
    /// without messages and without a due request the member becomes idle.
    AwaitingMail(Option<PendingRequest>),
    /// Budget for the request is being drawn. Then the request is sent, or the context is compacted first.
    AwaitingResponseBudget(PendingRequest),
    /// The model responds. The calls of the response are executed; a response without calls ends the turn.
    AwaitingResponse(PendingRequest),
    /// The model writes a summary of the context. It is committed before the request continues.
    AwaitingSummary(PendingRequest, SummaryRequest),
    /// The approval of the current call is being read. The call is executed, denied, or waits.
    AwaitingApproval(CallQueue),
    /// Budget for the current call is being drawn. Then the call continues with the next check.
    AwaitingCommandBudget(CallQueue),
    /// The current call is being executed; its result is committed later. The next call follows.
    ExecutingCall(CallQueue),
    /// The current call is being executed, and the turn is part of its commit. The next call follows.
    ExecutingJoinedCall(CallQueue),
    /// The turn is being committed. Its step follows.
    Committing(PendingCommit),
    /// The member was dismissed. This is final.
    Dismissed,
    /// The state in memory does not match the store or the event; the machine has to be restored again.
    Outdated,
}

/// What the conversation needs next.
#[derive(Debug, Clone)]
pub(super) enum NextStep {
    /// Nothing: the last response ended the turn.
    Rest,
    /// The model has to respond.
    RequestModel(PendingRequest),
    /// The calls of the newest response have to be executed.
    RunCalls(CallQueue),
}

/// A commit, and what follows it.
#[derive(Debug, Clone)]
pub(super) struct PendingCommit {
    /// What is stored in addition to the turn.
    pub(super) addition: CommitAddition,
    /// The step after the commit.
    pub(super) then: NextStep,
}

/// What a commit stores in addition to the turn and the member state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum CommitAddition {
    /// Nothing.
    Nothing,
    /// The request to approve a call.
    ApprovalRequest {
        /// The turn of the response.
        turn: u64,
        /// The index of the call in the response.
        call: usize,
    },
    /// The notice to the supervisor why the member is blocked. The person sees that in the member's status,
    /// and an approval in the list of approvals; neither is a message to the person.
    ParentNotice(String),
}

/// A model request that is due, and what was done since the last response to make its context fit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct PendingRequest {
    goal: RequestGoal,
    fit: ContextFit,
    compactions: u32,
}

/// What a model request is due for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum RequestGoal {
    /// The next response.
    #[default]
    Response,
    /// A compaction that was requested, and then the next response.
    Compaction,
}

/// What the model said about the length of the context since the last response.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum ContextFit {
    /// Nothing; only the estimate is known.
    #[default]
    Estimated,
    /// It refused the context as too long.
    Refused,
}

impl MachineState {
    /// Returns the calls without results.
    pub(super) fn call_queue(&self) -> Option<&CallQueue> {
        match self {
            Self::AwaitingApproval(queue)
            | Self::AwaitingCommandBudget(queue)
            | Self::ExecutingCall(queue)
            | Self::ExecutingJoinedCall(queue) => Some(queue),
            Self::Sleeping(step) | Self::Committing(PendingCommit { then: step, .. }) => match step
            {
                NextStep::RunCalls(queue) => Some(queue),
                NextStep::Rest | NextStep::RequestModel(_) => None,
            },
            Self::AwaitingMail(_)
            | Self::AwaitingResponseBudget(_)
            | Self::AwaitingResponse(_)
            | Self::AwaitingSummary(..)
            | Self::Dismissed
            | Self::Outdated => None,
        }
    }
}

impl NextStep {
    /// Returns the step of the model's next response.
    pub(super) fn request_response() -> Self {
        Self::RequestModel(PendingRequest::default())
    }

    /// Returns the step after an entry that the model has to respond to. Calls are executed first.
    pub(super) fn or_request_response(self) -> Self {
        match self {
            Self::RunCalls(queue) => Self::RunCalls(queue),
            Self::Rest | Self::RequestModel(_) => Self::request_response(),
        }
    }

    /// Returns the step of a compaction by the model, before its next response.
    pub(super) fn request_compaction() -> Self {
        Self::RequestModel(PendingRequest::default().with_compaction())
    }
}

impl PendingCommit {
    /// Creates a commit of the turn alone.
    pub(super) fn of_turn(then: NextStep) -> Self {
        Self {
            addition: CommitAddition::Nothing,
            then,
        }
    }

    /// Creates a commit with a notice to the supervisor.
    pub(super) fn with_notice(text: String, then: NextStep) -> Self {
        Self {
            addition: CommitAddition::ParentNotice(text),
            then,
        }
    }
}

impl PendingRequest {
    /// Returns whether a compaction was requested.
    pub(super) fn is_compaction_requested(self) -> bool {
        self.goal == RequestGoal::Compaction
    }

    /// Returns whether the model refused the context since the last response.
    pub(super) fn is_context_refused(self) -> bool {
        self.fit == ContextFit::Refused
    }

    /// Returns the number of the next compaction attempt. The first attempt is left out after a refusal: it
    /// trusts the estimate.
    pub(super) fn compaction_attempt(self) -> u32 {
        match self.fit {
            ContextFit::Estimated => self.compactions,
            ContextFit::Refused => self.compactions.max(1),
        }
    }

    /// Returns the request with a compaction before it.
    pub(super) fn with_compaction(self) -> Self {
        Self {
            goal: RequestGoal::Compaction,
            ..self
        }
    }

    /// Returns the request without a requested compaction, because it is being made.
    pub(super) fn without_compaction(self) -> Self {
        Self {
            goal: RequestGoal::Response,
            ..self
        }
    }

    /// Returns the request after a compaction of its context.
    pub(super) fn after_compaction(self) -> Self {
        Self {
            compactions: self.compactions.saturating_add(1),
            ..self
        }
    }

    /// Returns the request after the model refused its context as too long.
    pub(super) fn after_refused_response(self) -> Self {
        let refused = Self {
            fit: ContextFit::Refused,
            ..self
        };
        match self.fit {
            ContextFit::Estimated => refused,
            ContextFit::Refused => refused.after_compaction(),
        }
    }

    /// Returns the request after the model refused to summarize its context as too long.
    pub(super) fn after_refused_summary(self) -> Self {
        Self {
            fit: ContextFit::Refused,
            ..self.after_compaction()
        }
    }

    /// Returns the request after an empty summary: from now on the context is compacted without the model.
    pub(super) fn after_empty_summary(self) -> Self {
        Self {
            compactions: self.compactions.max(2),
            ..self
        }
    }
}
