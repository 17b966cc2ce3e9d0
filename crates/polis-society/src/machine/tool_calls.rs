//! The tool calls of a response: decides how the next call continues (repetition, approval, budget, kind of
//! execution), and records a result for each call, also for those that are not executed; calls beyond the
//! maximum are only counted in a note. `machine_transition` chooses the states that follow. Built-in tools are
//! executed here; for all others the driver gets an effect.
//!
//! A call with an effect outside of the store is recorded before it starts. If the polis process ends meanwhile,
//! the call is repeated only if it is idempotent; otherwise its result is that it was interrupted.

use polis_core::Refusal;
use polis_core::society::member::{MemberState, MemberStatus};
use polis_core::society::turn::{CallOutcome, ConversationEntry, ModelUsage};
use polis_i18n::{UiLanguage, msg};
use polis_ops::OpError;
use polis_ops::tool;
use serde_json::{Map, Value};

use super::call_queue::{
    CallProgress, CallQueue, CallStage, FinishedResponse, RequestedCompaction,
};
use super::loop_detector::LoopVerdict;
use super::machine_state::{NextStep, PendingCommit};
use super::turn_draft::result_entry;
use super::{CallResult, MemberMachine};
use crate::chat_message;
use crate::model::ToolCall;
use crate::refusal_tables::MemberRefusal;
use crate::toolbox::{self, BuiltinTool, ToolExecution};

/// How the current call continues.
pub(super) enum CallStep {
    /// It is not executed; this is its result.
    Answer(CallResult),
    /// The runtime executes it itself, with these arguments.
    RunBuiltin(BuiltinTool, Map<String, Value>),
    /// The member repeats it and is paused; this text is the result.
    StopMember(String),
    /// Its approval has to be read.
    ReadApproval,
    /// Its approval has to be requested.
    RequestApproval,
    /// Budget has to be drawn for it.
    DrawBudget,
    /// The driver executes it.
    Execute,
    /// The driver executes it, and the turn joins its commit.
    ExecuteJoined,
    /// The turn has to be committed with a record of the call.
    RecordStart,
    /// The turn has to be committed.
    CommitFirst,
}

/// Returns the result for a call that is refused.
pub(crate) fn refused_result(refusal: Refusal, lang: UiLanguage) -> CallResult {
    CallResult::failed(tool::ToolOutput::from_error(&OpError::from(refusal), lang, true).text)
}

impl MemberMachine {
    /// Returns the language of all texts: that of the runtime's messages.
    pub(super) fn lang(&self) -> UiLanguage {
        self.config.runtime_messages.0
    }

    /// Returns how the current call continues.
    pub(super) fn decide_call(&self, queue: &CallQueue) -> CallStep {
        let call = queue.current();
        match self.loop_detector.check_call(call, self.lang()) {
            LoopVerdict::Execute => {}
            LoopVerdict::Warn(text) => return CallStep::Answer(CallResult::failed(text)),
            LoopVerdict::Stop(text) => return CallStep::StopMember(text),
        }
        let Some(row) = self.config.toolbox.find(&call.tool) else {
            return CallStep::Answer(refused_result(
                toolbox::tool_not_found(&call.tool),
                self.lang(),
            ));
        };
        let is_repeatable = matches!(
            row.execution,
            ToolExecution::ReadOnly | ToolExecution::External { idempotent: true }
        );
        if queue.stage == CallStage::Interrupted && !is_repeatable {
            return CallStep::Answer(interrupted_result(self.lang()));
        }
        let params = match parse_arguments(&call.arguments) {
            Ok(params) => params,
            Err(refusal) => return CallStep::Answer(refused_result(refusal, self.lang())),
        };
        match queue.stage {
            CallStage::Unchecked if row.needs_approval => {
                // Approvals exist only for committed responses.
                return if queue.turn() < self.stored.state.next_turn {
                    CallStep::ReadApproval
                } else {
                    CallStep::RequestApproval
                };
            }
            CallStage::Unchecked | CallStage::Approved if row.is_command => {
                return CallStep::DrawBudget;
            }
            // Repeating an interrupted call does no harm: only a repeatable one comes here.
            CallStage::Unchecked
            | CallStage::Approved
            | CallStage::Funded
            | CallStage::Interrupted => {}
        }
        match row.execution {
            ToolExecution::Builtin(builtin) => CallStep::RunBuiltin(builtin, params),
            ToolExecution::ReadOnly => CallStep::Execute,
            ToolExecution::StoreCommit => CallStep::ExecuteJoined,
            ToolExecution::MailboxCommit if self.draft.entries.is_empty() => {
                CallStep::ExecuteJoined
            }
            ToolExecution::MailboxCommit => CallStep::CommitFirst,
            ToolExecution::External { .. } if is_running_call(&self.stored.state, call) => {
                CallStep::Execute
            }
            // Record the call before it starts, so that a crash is detected.
            ToolExecution::External { .. } => CallStep::RecordStart,
        }
    }

    /// Records the result of the current call.
    pub(super) fn record_result(&mut self, queue: CallQueue, outcome: &CallResult) -> CallProgress {
        let call = queue.current();
        self.observe_result(call, outcome);
        self.push_entry(&result_entry(&call.id, outcome));
        self.draft.clear_running_call();
        queue.advance()
    }

    /// Records the result of a call that was committed together with the turn.
    pub(super) fn record_joined_result(
        &mut self,
        queue: CallQueue,
        outcome: &CallResult,
        state: MemberState,
        revision: u64,
    ) -> CallProgress {
        let turn = self.stored.state.next_turn;
        self.apply_stored_state(state, revision);
        let call = queue.current();
        self.context
            .push_entry(turn, &result_entry(&call.id, outcome));
        self.observe_result(call, outcome);
        self.draft.clear_running_call();
        queue.advance()
    }

    /// Adds a result to the history of the loop detector.
    fn observe_result(&mut self, call: &ToolCall, outcome: &CallResult) {
        let kind = (self.config.toolbox.find(&call.tool)).map(|row| row.execution);
        self.loop_detector
            .record_result(call, kind, &outcome.text, outcome.end);
    }

    /// Finishes the response after all its calls, and returns the next step.
    pub(super) fn finish_response(&mut self, response: FinishedResponse) -> NextStep {
        let words = self.config.runtime_messages;
        if response.dropped_calls > 0 {
            let note = words.dropped_calls_note(response.call_count, response.dropped_calls);
            self.push_entry(&ConversationEntry::Note {
                message: chat_message::user_message(&note),
            });
        }
        match response.compaction {
            None => NextStep::request_response(),
            Some(RequestedCompaction::ByModel) => NextStep::request_compaction(),
            Some(RequestedCompaction::WithSummary(text)) => {
                let message = chat_message::user_message(&words.format_summary(&text));
                let usage = ModelUsage::default();
                self.push_entry(&ConversationEntry::Summary { message, usage });
                self.context.drop_turns_before(response.turn);
                self.draft.state.first_context_turn = response.turn;
                NextStep::request_response()
            }
        }
    }

    /// Fails all calls of a response that was cut off or filtered: they may be incomplete as well. The
    /// results contain the note for the model. There is no note that only the first calls were executed,
    /// because none was.
    pub(super) fn fail_incomplete_calls(&mut self, mut queue: CallQueue) {
        let text = self.config.runtime_messages.truncated_response_note();
        while let CallProgress::Next(next) = self.record_result(queue, &CallResult::failed(text)) {
            queue = next;
        }
    }

    /// Returns the commit that pauses the member because it repeats the same call, with a notice to its
    /// supervisor.
    pub(super) fn pause_for_loop(&mut self, queue: CallQueue, text: String) -> PendingCommit {
        let name = queue.current().tool.clone();
        let then = match self.record_result(queue, &CallResult::failed(text)) {
            CallProgress::Next(queue) => NextStep::RunCalls(queue),
            CallProgress::Finished(response) => self.finish_response(response),
        };
        self.draft.set_blocked_status(
            MemberStatus::Paused,
            &msg::society_loop_reason(self.config.runtime_messages.0, &name),
        );
        let words = self.config.runtime_messages;
        PendingCommit::with_notice(words.loop_notice(&self.config.key.agent, &name), then)
    }

    /// Executes a call of a built-in tool.
    pub(super) fn run_builtin_tool(
        &self,
        builtin: BuiltinTool,
        params: &Map<String, Value>,
        queue: &mut CallQueue,
    ) -> CallResult {
        let text = match builtin {
            BuiltinTool::CompressContext => {
                let summary = params.get("summary").and_then(Value::as_str);
                let summary = summary.map(str::trim).filter(|text| !text.is_empty());
                queue.compaction = Some(summary.map_or(RequestedCompaction::ByModel, |text| {
                    RequestedCompaction::WithSummary(text.to_owned())
                }));
                "{\"ok\":true}".to_owned()
            }
            BuiltinTool::ContextStatus => {
                let tokens = self.context.estimated_tokens();
                let limit = self.config.context_limit;
                let percent = tokens.saturating_mul(100) / limit.max(1);
                serde_json::json!({
                    "usedTokens": tokens, "maxTokens": limit, "usagePercent": percent,
                    "entries": self.context.entries().len(),
                })
                .to_string()
            }
        };
        CallResult {
            text,
            end: CallOutcome::Ok,
            duration_ms: 0,
        }
    }
}

/// Returns whether the state records that this call was started and has no result yet.
pub(super) fn is_running_call(state: &MemberState, call: &ToolCall) -> bool {
    state.running_call_id.as_deref() == Some(call.id.as_str())
}

/// Parses the arguments of a call; an empty text is an empty object. Fails with `InvalidInput` if they are
/// not a JSON object.
pub(crate) fn parse_arguments(arguments: &str) -> Result<Map<String, Value>, Refusal> {
    if arguments.trim().is_empty() {
        return Ok(Map::new());
    }
    serde_json::from_str(arguments).map_err(|error| {
        Refusal::from(MemberRefusal::ArgumentsNotAnObject {
            error: tool::describe_json_error(&error.to_string()),
        })
    })
}

/// Returns the result of a call that a crash interrupted.
fn interrupted_result(lang: UiLanguage) -> CallResult {
    let refusal = Refusal::from(MemberRefusal::CallInterrupted);
    CallResult {
        end: CallOutcome::Interrupted,
        ..refused_result(refusal, lang)
    }
}

/// Returns the result of a call that the person denied.
pub(super) fn denied_result(note: Option<&str>, lang: UiLanguage) -> CallResult {
    let refusal = Refusal::from(match note.map(str::trim_end) {
        Some(note) if !note.trim().is_empty() => MemberRefusal::CallDeniedWithNote {
            note: note.to_owned(),
        },
        _ => MemberRefusal::CallDenied,
    });
    CallResult {
        end: CallOutcome::Denied,
        ..refused_result(refusal, lang)
    }
}
