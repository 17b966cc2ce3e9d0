//! Transitions of a member's machine: the only place that decides which state follows. `tool_calls` and
//! `model_request` record what happened in the draft of the turn, and return what has to be done next.
//!
//! The table of all transitions is `tests/transition_table.txt`, printed by driving this code.

use polis_core::society::member::MemberStatus;

use super::call_queue::{CallProgress, CallQueue, CallStage};
use super::external_change::ExternalChange;
use super::machine_state::{
    CommitAddition, MachineState as State, NextStep, PendingCommit, PendingRequest,
};
use super::model_request::{RequestStep, ResponseStep};
use super::tool_calls::{self, CallStep};
use super::turn_draft::StoredMember;
use super::{ApprovalState, BudgetCost, MachineEffect, MachineEvent, MemberMachine};
use crate::model::{ModelError, ModelErrorKind};

impl MemberMachine {
    /// Returns the state after an event.
    pub(super) fn next_state(&mut self, state: State, event: MachineEvent) -> State {
        use MachineEvent::{
            ApprovalRead, BudgetAvailable, BudgetExhausted, CallCommitted, CallFinished, Committed,
            MailboxRead, RequestFailed, ResponseReceived, SessionStarted, StateChanged,
        };
        match (state, event) {
            (State::Sleeping(step), SessionStarted) => self.continue_with(step),
            (State::AwaitingMail(request), MailboxRead(messages)) => {
                let request = self.receive_messages(request, &messages);
                self.request_budget(request)
            }
            (State::AwaitingResponseBudget(request), BudgetAvailable) => {
                enter_request(self.prepare_request(request))
            }
            (State::AwaitingResponseBudget(request), BudgetExhausted(reason)) => {
                self.discard_received_messages();
                self.pause_for_budget(&reason, NextStep::RequestModel(request))
            }
            (State::AwaitingResponse(_), ResponseReceived(answer)) => {
                match self.handle_response(*answer) {
                    ResponseStep::RunCalls(queue) => self.run_next_call(queue),
                    ResponseStep::Commit(commit) => State::Committing(commit),
                }
            }
            (State::AwaitingResponse(request), RequestFailed(error)) => {
                self.handle_request_failure(&error, request, request.after_refused_response())
            }
            (State::AwaitingSummary(request, summary), ResponseReceived(answer)) => {
                enter_request(self.handle_summary(request, summary.since, &answer))
            }
            (State::AwaitingSummary(request, _), RequestFailed(error)) => {
                self.handle_request_failure(&error, request, request.after_refused_summary())
            }
            (State::AwaitingApproval(queue), ApprovalRead(approval)) => {
                self.handle_approval(queue, approval)
            }
            (State::AwaitingCommandBudget(queue), BudgetAvailable) => {
                self.draft.count_command();
                self.run_next_call(queue.at_stage(CallStage::Funded))
            }
            (State::AwaitingCommandBudget(queue), BudgetExhausted(reason)) => {
                self.pause_for_budget(&reason, NextStep::RunCalls(queue))
            }
            (
                State::ExecutingCall(queue) | State::ExecutingJoinedCall(queue),
                CallFinished(outcome),
            ) => {
                let progress = self.record_result(queue, &outcome);
                self.continue_after(progress)
            }
            (State::ExecutingJoinedCall(queue), CallCommitted(outcome, state, revision)) => {
                let progress = self.record_joined_result(queue, &outcome, *state, revision);
                self.continue_after(progress)
            }
            (State::Committing(commit), Committed(revision)) => {
                self.apply_commit(revision);
                self.continue_with(commit.then)
            }
            // Possible in every state; they are listed there.
            (state, StateChanged(stored, revision)) => {
                self.handle_external_change(state, StoredMember::new(*stored, revision))
            }
            // Ignored: a dismissed member does nothing more, whatever its driver still reports.
            (
                State::Dismissed,
                SessionStarted | MailboxRead(_) | BudgetAvailable | BudgetExhausted(_)
                | ResponseReceived(_) | RequestFailed(_) | CallFinished(_) | CallCommitted(..)
                | Committed(_) | ApprovalRead(_),
            ) => State::Dismissed,
            // Impossible while the driver answers each effect: the event answers another effect than the one
            // that this state stands for. Only the store knows then what was really done.
            (
                State::Sleeping(_),
                MailboxRead(_) | BudgetAvailable | BudgetExhausted(_) | ResponseReceived(_)
                | RequestFailed(_) | CallFinished(_) | CallCommitted(..) | Committed(_)
                | ApprovalRead(_),
            )
            | (
                State::AwaitingMail(_),
                SessionStarted | BudgetAvailable | BudgetExhausted(_) | ResponseReceived(_)
                | RequestFailed(_) | CallFinished(_) | CallCommitted(..) | Committed(_)
                | ApprovalRead(_),
            )
            | (
                State::AwaitingResponseBudget(_) | State::AwaitingCommandBudget(_),
                SessionStarted | MailboxRead(_) | ResponseReceived(_) | RequestFailed(_)
                | CallFinished(_) | CallCommitted(..) | Committed(_) | ApprovalRead(_),
            )
            | (
                State::AwaitingResponse(_) | State::AwaitingSummary(..),
                SessionStarted | MailboxRead(_) | BudgetAvailable | BudgetExhausted(_)
                | CallFinished(_) | CallCommitted(..) | Committed(_) | ApprovalRead(_),
            )
            | (
                State::AwaitingApproval(_),
                SessionStarted | MailboxRead(_) | BudgetAvailable | BudgetExhausted(_)
                | ResponseReceived(_) | RequestFailed(_) | CallFinished(_) | CallCommitted(..)
                | Committed(_),
            )
            // The call was executed without a draft, so nothing of the turn can be committed with it.
            | (State::ExecutingCall(_), CallCommitted(..))
            | (
                State::ExecutingCall(_) | State::ExecutingJoinedCall(_),
                SessionStarted | MailboxRead(_) | BudgetAvailable | BudgetExhausted(_)
                | ResponseReceived(_) | RequestFailed(_) | Committed(_) | ApprovalRead(_),
            )
            | (
                State::Committing(_),
                SessionStarted | MailboxRead(_) | BudgetAvailable | BudgetExhausted(_)
                | ResponseReceived(_) | RequestFailed(_) | CallFinished(_) | CallCommitted(..)
                | ApprovalRead(_),
            )
            // The machine is restored before anything else happens.
            | (
                State::Outdated,
                SessionStarted | MailboxRead(_) | BudgetAvailable | BudgetExhausted(_)
                | ResponseReceived(_) | RequestFailed(_) | CallFinished(_) | CallCommitted(..)
                | Committed(_) | ApprovalRead(_),
            ) => State::Outdated,
        }
    }

    /// Returns the effect that the current state stands for.
    pub(super) fn effect(&self) -> MachineEffect {
        match &self.state {
            State::Sleeping(_) => MachineEffect::Sleep,
            State::AwaitingMail(_) => MachineEffect::ReadMailbox,
            State::AwaitingResponseBudget(_) => MachineEffect::DrawBudget(BudgetCost::Response),
            State::AwaitingResponse(_) => MachineEffect::RequestResponse,
            State::AwaitingSummary(_, summary) => MachineEffect::RequestSummary(summary.clone()),
            State::AwaitingApproval(queue) => MachineEffect::ReadApproval {
                turn: queue.turn(),
                call: queue.index(),
            },
            State::AwaitingCommandBudget(_) => MachineEffect::DrawBudget(BudgetCost::Command),
            State::ExecutingCall(queue) => MachineEffect::ExecuteCall {
                index: queue.index(),
                joined_draft: None,
            },
            State::ExecutingJoinedCall(queue) => MachineEffect::ExecuteCall {
                index: queue.index(),
                joined_draft: Some(Box::new(self.draft_joined_commit())),
            },
            State::Committing(commit) => {
                MachineEffect::Commit(Box::new(self.draft_commit(&commit.addition)))
            }
            State::Dismissed => MachineEffect::Dismissed,
            State::Outdated => MachineEffect::Reload,
        }
    }

    /// Returns the state that begins a step. A blocked member makes no step, and entries are committed before
    /// the mailbox is read.
    fn continue_with(&mut self, step: NextStep) -> State {
        match self.draft.state.status {
            MemberStatus::Dismissed => return State::Dismissed,
            MemberStatus::Paused | MemberStatus::Parked => {
                return if self.draft.entries.is_empty() {
                    State::Sleeping(step)
                } else {
                    State::Committing(PendingCommit::of_turn(step))
                };
            }
            MemberStatus::Idle | MemberStatus::Working | MemberStatus::AwaitingApproval => {}
        }
        match step {
            NextStep::RunCalls(queue) => self.run_next_call(queue),
            step if !self.draft.entries.is_empty() => {
                State::Committing(PendingCommit::of_turn(step))
            }
            NextStep::RequestModel(request) => State::AwaitingMail(Some(request)),
            NextStep::Rest => State::AwaitingMail(None),
        }
    }

    /// Returns the state after the mailbox was read: the budget of the request is drawn, or the member
    /// becomes idle.
    fn request_budget(&mut self, request: Option<PendingRequest>) -> State {
        if let Some(request) = request {
            self.draft.state.status = MemberStatus::Working;
            return State::AwaitingResponseBudget(request);
        }
        if self.stored.state.status == MemberStatus::Idle {
            return State::Sleeping(NextStep::Rest);
        }
        self.draft.state.status = MemberStatus::Idle;
        self.draft.state.reason = None;
        State::Committing(PendingCommit::of_turn(NextStep::Rest))
    }

    /// Returns the state after a failed model request. `refused` is the request if the failure is that the
    /// context is too long.
    fn handle_request_failure(
        &mut self,
        error: &ModelError,
        request: PendingRequest,
        refused: PendingRequest,
    ) -> State {
        match error.kind {
            ModelErrorKind::Cancelled => State::Outdated,
            ModelErrorKind::Permanent => {
                State::Committing(self.park_member(&error.message, request))
            }
            ModelErrorKind::TooLong => enter_request(self.compact_context(refused)),
        }
    }

    /// Returns the state that executes the current call, or one that has to come first. Calls that the
    /// machine answers itself get their results here.
    fn run_next_call(&mut self, mut queue: CallQueue) -> State {
        loop {
            let result = match self.decide_call(&queue) {
                CallStep::Answer(result) => result,
                CallStep::RunBuiltin(builtin, params) => {
                    self.run_builtin_tool(builtin, &params, &mut queue)
                }
                CallStep::StopMember(text) => {
                    return State::Committing(self.pause_for_loop(queue, text));
                }
                CallStep::ReadApproval => return State::AwaitingApproval(queue),
                CallStep::RequestApproval => return self.request_approval(queue),
                CallStep::DrawBudget => return State::AwaitingCommandBudget(queue),
                CallStep::Execute => return State::ExecutingCall(queue),
                CallStep::ExecuteJoined => {
                    // Set the status explicitly: it may still be `asking`.
                    self.draft.state.status = MemberStatus::Working;
                    return State::ExecutingJoinedCall(queue);
                }
                CallStep::RecordStart => {
                    let (state, call) = (&mut self.draft.state, queue.current());
                    state.running_call_id = Some(call.id.clone());
                    state.running_tool = Some(call.tool.clone());
                    return commit_before(queue);
                }
                CallStep::CommitFirst => return commit_before(queue),
            };
            match self.record_result(queue, &result) {
                CallProgress::Next(next) => queue = next,
                finished @ CallProgress::Finished(_) => return self.continue_after(finished),
            }
        }
    }

    /// Returns the state after the result of a call.
    fn continue_after(&mut self, progress: CallProgress) -> State {
        match progress {
            CallProgress::Next(queue) => self.run_next_call(queue),
            CallProgress::Finished(response) => {
                let step = self.finish_response(response);
                self.continue_with(step)
            }
        }
    }

    /// Returns the state after the approval of the current call was read: the call is executed or denied, or
    /// the member waits.
    fn handle_approval(&mut self, queue: CallQueue, approval: ApprovalState) -> State {
        match approval {
            ApprovalState::Pending
                if self.stored.state.status == MemberStatus::AwaitingApproval
                    && self.draft.entries.is_empty() =>
            {
                State::Sleeping(NextStep::RunCalls(queue))
            }
            ApprovalState::Pending => {
                self.draft.state.status = MemberStatus::AwaitingApproval;
                commit_before(queue)
            }
            ApprovalState::NotRequested => self.request_approval(queue),
            ApprovalState::Decided(decision) => {
                self.draft.state.status = MemberStatus::Working;
                if decision.allowed {
                    return self.run_next_call(queue.at_stage(CallStage::Approved));
                }
                let denied = tool_calls::denied_result(decision.note.as_deref(), self.lang());
                let progress = self.record_result(queue, &denied);
                self.continue_after(progress)
            }
        }
    }

    /// Returns the commit of the current call's approval request.
    fn request_approval(&mut self, queue: CallQueue) -> State {
        self.draft.state.status = MemberStatus::AwaitingApproval;
        State::Committing(PendingCommit {
            addition: CommitAddition::ApprovalRequest {
                turn: queue.turn(),
                call: queue.index(),
            },
            then: NextStep::RunCalls(queue),
        })
    }

    /// Returns the commit that pauses the member because its budget is exhausted.
    fn pause_for_budget(&mut self, reason: &str, then: NextStep) -> State {
        let words = self.config.runtime_messages;
        let text = words.budget_exhausted_notice(&self.config.key.agent, reason);
        self.draft.set_blocked_status(MemberStatus::Paused, reason);
        State::Committing(PendingCommit::with_notice(text, then))
    }

    /// Returns the state after another writer changed the member state. A commit that conflicts is made again
    /// with the fields that only others change; in all other states the member is restored.
    fn handle_external_change(&mut self, state: State, stored: StoredMember) -> State {
        if stored.state.status == MemberStatus::Dismissed {
            return State::Dismissed;
        }
        match state {
            State::Committing(commit) => match self.adopt_external_change(stored) {
                ExternalChange::OtherSession => State::Outdated,
                ExternalChange::Blocked => self.continue_with(commit.then),
                ExternalChange::FieldsOnly => State::Committing(commit),
            },
            State::ExecutingJoinedCall(queue) => match self.adopt_external_change(stored) {
                ExternalChange::OtherSession => State::Outdated,
                ExternalChange::Blocked => self.continue_with(NextStep::RunCalls(queue)),
                ExternalChange::FieldsOnly => self.run_next_call(queue),
            },
            // Final, also if the store was changed since.
            State::Dismissed => State::Dismissed,
            // Nothing was to be committed, so no commit can have conflicted.
            State::Sleeping(_)
            | State::AwaitingMail(_)
            | State::AwaitingResponseBudget(_)
            | State::AwaitingResponse(_)
            | State::AwaitingSummary(..)
            | State::AwaitingApproval(_)
            | State::AwaitingCommandBudget(_)
            | State::ExecutingCall(_)
            | State::Outdated => State::Outdated,
        }
    }
}

/// Returns the state that makes a model request, or what has to come before it.
fn enter_request(step: RequestStep) -> State {
    match step {
        RequestStep::Respond(request) => State::AwaitingResponse(request),
        RequestStep::Summarise(request, summary) => State::AwaitingSummary(request, summary),
        RequestStep::Commit(commit) => State::Committing(commit),
    }
}

/// Returns the commit before the current call.
fn commit_before(queue: CallQueue) -> State {
    State::Committing(PendingCommit::of_turn(NextStep::RunCalls(queue)))
}
