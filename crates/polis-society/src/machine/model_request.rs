//! Model requests: takes unread messages into the conversation, compacts the context if it is too long, and
//! records the response, the summary or the failure. The states that follow are chosen by `machine_transition`.
//!
//! A member is parked if its model fails permanently or its responses are repeatedly incomplete. Its
//! supervisor gets a notice, and the member stays that way until it is resumed.

use polis_core::message::Message;
use polis_core::number::saturating_cast;
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{ConversationEntry, ModelUsage};
use polis_i18n::msg;

use super::MemberMachine;
use super::call_queue::CallQueue;
use super::machine_state::{NextStep, PendingCommit, PendingRequest};
use super::turn_draft::TurnDraft;
use crate::chat_message;
use crate::compaction::{self, CompactionPlan, SummaryRequest};
use crate::model::{FinishReason, ModelResponse};

/// Maximum bytes of messages received at once.
const MAX_RECEIVED_BYTES: u64 = 64 * 1024;
/// How many times in a row the model gets a note that its response was incomplete before the member is
/// parked.
const MAX_INCOMPLETE_RESPONSES: u32 = 2;

/// What a due model request needs next.
pub(super) enum RequestStep {
    /// The response of the model.
    Respond(PendingRequest),
    /// A summary by the model.
    Summarise(PendingRequest, SummaryRequest),
    /// A commit: of a digest, or of messages that a digest will replace, or because the member is parked.
    Commit(PendingCommit),
}

/// What a response needs next.
pub(super) enum ResponseStep {
    /// Its calls are executed.
    RunCalls(CallQueue),
    /// It has no calls to execute, so it is committed.
    Commit(PendingCommit),
}

impl MemberMachine {
    /// Takes unread messages into the conversation. Returns the model request that is due then.
    pub(super) fn receive_messages(
        &mut self,
        request: Option<PendingRequest>,
        messages: &[Message],
    ) -> Option<PendingRequest> {
        if messages.is_empty() {
            return request;
        }
        let room = (self.config.context_limit.saturating_mul(7) / 8).clamp(1, MAX_RECEIVED_BYTES);
        let room = saturating_cast::<usize>(room);
        let (message, count) =
            chat_message::format_received_messages(messages, room, self.config.runtime_messages);
        let ids: Vec<u64> = messages
            .iter()
            .take(count)
            .map(|message| message.id)
            .collect();
        let state = &mut self.draft.state;
        state.received_messages = state.received_messages.saturating_add(ids.len() as u64);
        self.draft.read_message_ids.extend(&ids);
        self.push_entry(&ConversationEntry::Received { ids, message });
        self.loop_detector.reset();
        Some(request.unwrap_or_default())
    }

    /// Prepares the request that the budget now covers: compacts the context first if necessary.
    pub(super) fn prepare_request(&mut self, request: PendingRequest) -> RequestStep {
        let is_full = compaction::is_compaction_needed(
            self.context.estimated_tokens(),
            self.config.context_limit,
        );
        if is_full || request.is_compaction_requested() {
            return self.compact_context(request);
        }
        RequestStep::Respond(request)
    }

    /// Compacts the context, more strongly with each attempt. Parks the member if that is impossible.
    pub(super) fn compact_context(&mut self, request: PendingRequest) -> RequestStep {
        let request = request.without_compaction();
        let next_turn = self.stored.state.next_turn;
        let plan = compaction::plan_compaction(
            &self.context,
            self.config.context_limit,
            request.compaction_attempt(),
            next_turn,
            self.config.runtime_messages,
        );
        match plan {
            CompactionPlan::Summarise(summary) => RequestStep::Summarise(request, summary),
            // A digest also replaces messages that were just received, so they are committed first.
            CompactionPlan::Digest(_) if !self.draft.entries.is_empty() => {
                let then = NextStep::RequestModel(request.with_compaction());
                RequestStep::Commit(PendingCommit::of_turn(then))
            }
            CompactionPlan::Digest(text) => {
                self.apply_summary(request, &text, next_turn, ModelUsage::default())
            }
            CompactionPlan::Impossible if request.is_context_refused() => {
                let reason = msg::society_context_too_small(self.lang());
                RequestStep::Commit(self.park_member(reason, request))
            }
            // This is only an estimate; the model decides.
            CompactionPlan::Impossible => RequestStep::Respond(request),
        }
    }

    /// Handles the summary by the model of the turns before `since`.
    pub(super) fn handle_summary(
        &mut self,
        request: PendingRequest,
        since: u64,
        answer: &ModelResponse,
    ) -> RequestStep {
        let usage = self.response_usage(answer);
        self.record_usage(&usage);
        let text = answer.text.trim();
        if text.is_empty() {
            return self.compact_context(request.after_empty_summary());
        }
        let text = self.config.runtime_messages.format_summary(text);
        self.apply_summary(request, &text, since, usage)
    }

    /// Replaces the turns before `since` by a summary, which is committed before the request.
    fn apply_summary(
        &mut self,
        request: PendingRequest,
        text: &str,
        since: u64,
        usage: ModelUsage,
    ) -> RequestStep {
        let message = chat_message::user_message(text);
        self.push_entry(&ConversationEntry::Summary { message, usage });
        self.context.drop_turns_before(since);
        self.draft.state.first_context_turn = since;
        let then = NextStep::RequestModel(request.after_compaction());
        RequestStep::Commit(PendingCommit::of_turn(then))
    }

    /// Handles a response of the model.
    pub(super) fn handle_response(&mut self, answer: ModelResponse) -> ResponseStep {
        let usage = self.response_usage(&answer);
        self.record_usage(&usage);
        self.draft.state.reason = None;
        let dropped_calls = saturating_cast::<u64>(answer.dropped_calls);
        self.push_entry(&ConversationEntry::Response {
            message: answer.message,
            usage,
            dropped: dropped_calls,
        });
        self.last_model = answer.model;
        self.loop_detector.begin_response();
        let is_empty = answer.calls.is_empty() && answer.text.trim().is_empty();
        let turn = self.stored.state.next_turn;
        let queue = CallQueue::new(answer.calls, turn, dropped_calls);
        if let Some(note) = self.incomplete_note(answer.finish, queue.is_some(), is_empty) {
            return ResponseStep::Commit(self.handle_incomplete_response(queue, note));
        }
        self.incomplete_responses = 0;
        if let Some(queue) = queue {
            return ResponseStep::RunCalls(queue);
        }
        self.draft.state.status = MemberStatus::Idle;
        if !is_empty {
            return ResponseStep::Commit(PendingCommit::of_turn(NextStep::Rest));
        }
        // The member becomes idle, but not silently: its supervisor gets a notice, and the state contains the
        // reason.
        let reason = msg::society_empty_response_reason(self.lang());
        self.draft.state.reason = Some(reason.to_owned());
        let words = self.config.runtime_messages;
        let notice = words.no_response_notice(&self.config.key.agent);
        ResponseStep::Commit(PendingCommit::with_notice(notice, NextStep::Rest))
    }

    /// Returns the note to the model if its response is incomplete.
    fn incomplete_note(
        &self,
        finish: FinishReason,
        has_calls: bool,
        is_empty: bool,
    ) -> Option<&'static str> {
        let words = self.config.runtime_messages;
        match finish {
            FinishReason::Length => Some(words.truncated_response_note()),
            FinishReason::Filtered => Some(words.content_filter_note()),
            // Some servers set this finish reason on every response, also on the last one of a turn: text
            // that comes a second time without calls is the final response.
            FinishReason::Calls if !has_calls && (is_empty || self.incomplete_responses == 0) => {
                Some(words.missing_calls_note())
            }
            // Also after tool calls: an empty response does not show whether the work is done or the response
            // got lost. The model is asked once more.
            FinishReason::Stop if is_empty && self.incomplete_responses == 0 => {
                Some(words.empty_response_note())
            }
            FinishReason::Stop | FinishReason::Calls => None,
        }
    }

    /// Handles an incomplete response: none of its calls is executed, and the model is asked again. Parks the
    /// member if there were too many in a row.
    fn handle_incomplete_response(
        &mut self,
        queue: Option<CallQueue>,
        note: &str,
    ) -> PendingCommit {
        self.incomplete_responses = self.incomplete_responses.saturating_add(1);
        let is_parked = self.incomplete_responses > MAX_INCOMPLETE_RESPONSES;
        match queue {
            // The results of the calls contain the note.
            Some(queue) => self.fail_incomplete_calls(queue),
            None if is_parked => {}
            None => self.push_entry(&ConversationEntry::Note {
                message: chat_message::user_message(note),
            }),
        }
        if !is_parked {
            return PendingCommit::of_turn(NextStep::request_response());
        }
        let lang = self.lang();
        self.draft.set_blocked_status(
            MemberStatus::Parked,
            msg::society_incomplete_responses_reason(lang),
        );
        let words = self.config.runtime_messages;
        let notice = words.parked_notice(
            &self.config.key.agent,
            msg::society_incomplete_responses(lang),
        );
        PendingCommit::with_notice(notice, NextStep::request_response())
    }

    /// Returns the commit that parks the member because its model failed, with a notice to its supervisor.
    pub(super) fn park_member(&mut self, reason: &str, request: PendingRequest) -> PendingCommit {
        let words = self.config.runtime_messages;
        let notice = words.parked_notice(&self.config.key.agent, reason);
        self.draft.set_blocked_status(MemberStatus::Parked, reason);
        self.discard_received_messages();
        PendingCommit::with_notice(notice, NextStep::RequestModel(request))
    }

    /// Returns the usage of a response; estimated if the endpoint did not report it.
    fn response_usage(&self, answer: &ModelResponse) -> ModelUsage {
        let (prompt, response_tokens) = answer.usage.unwrap_or_else(|| {
            let response_tokens =
                crate::context_window::tokens_for_bytes(answer.message.as_str().len());
            (self.context.estimated_tokens(), response_tokens)
        });
        ModelUsage {
            prompt,
            response: response_tokens,
            estimated: answer.usage.is_none(),
            micros: answer.cost_micros,
            ms: answer.duration_ms,
            attempts: if answer.attempts > 1 {
                answer.attempts
            } else {
                0
            },
            model: (self.last_model != answer.model).then(|| answer.model.clone()),
        }
    }

    /// Adds the usage of a response to the budget that the next commit records.
    fn record_usage(&mut self, usage: &ModelUsage) {
        let TurnDraft { state, spend, .. } = &mut self.draft;
        state.response_count = state.response_count.saturating_add(1);
        let tokens = usage.prompt.saturating_add(usage.response);
        spend.tokens = spend.tokens.saturating_add(tokens);
        spend.micros = spend.micros.saturating_add(usage.micros);
        spend.turns = spend.turns.saturating_add(1);
    }
}
