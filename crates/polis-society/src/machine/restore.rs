//! Crash recovery: restores the state machine of a member from the store. Replays its stored turns to rebuild
//! the context, the pending tool calls and the repetition history, and notes a call that was running when its
//! process ended.

use polis_core::society::turn::ConversationEntry;

use super::call_queue::{CallProgress, CallQueue, CallStage};
use super::loop_detector::LoopDetector;
use super::machine_state::{MachineState, NextStep};
use super::tool_calls::is_running_call;
use super::turn_draft::{StoredMember, TurnDraft};
use super::{MemberConfig, MemberMachine, PersistedMember};
use crate::chat_message;
use crate::context_window::ContextWindow;

impl MemberMachine {
    /// Creates a machine from the stored state of a member. `head` is the system message.
    pub fn restore(config: MemberConfig, head: &str, found: PersistedMember) -> Self {
        let context = ContextWindow::new(head, config.toolbox.definitions_json().len());
        let mut machine = Self {
            config,
            context,
            state: MachineState::Outdated,
            draft: TurnDraft::new(found.state.clone()),
            stored: StoredMember::new(found.state, found.revision),
            loop_detector: LoopDetector::default(),
            incomplete_responses: 0,
            last_model: String::new(),
        };
        let mut step = NextStep::Rest;
        for (turn, stored) in &found.turns {
            for entry in &stored.entries {
                step = machine.replay_entry(step, *turn, entry);
            }
        }
        if let NextStep::RunCalls(queue) = &mut step
            && is_running_call(&machine.stored.state, queue.current())
        {
            queue.stage = CallStage::Interrupted;
        }
        machine.state = MachineState::Sleeping(step);
        machine
    }

    /// Replays a stored entry: updates the context and the loop detector, and returns the step that the
    /// conversation needs next.
    fn replay_entry(&mut self, step: NextStep, turn: u64, entry: &ConversationEntry) -> NextStep {
        self.context.push_entry(turn, entry);
        match entry {
            ConversationEntry::Received { .. } => {
                self.loop_detector.reset();
                step.or_request_response()
            }
            ConversationEntry::Note { .. } | ConversationEntry::Summary { .. } => {
                step.or_request_response()
            }
            ConversationEntry::Response {
                message,
                usage,
                dropped,
            } => {
                if let Some(model) = &usage.model {
                    self.last_model.clone_from(model);
                }
                self.loop_detector.begin_response();
                let calls = chat_message::parse_tool_calls(message);
                CallQueue::new(calls, turn, *dropped).map_or(NextStep::Rest, NextStep::RunCalls)
            }
            ConversationEntry::ToolResult {
                message, outcome, ..
            } => {
                let NextStep::RunCalls(queue) = step else {
                    return NextStep::request_response();
                };
                let result = chat_message::message_content(message.as_str());
                let call = queue.current();
                let kind = (self.config.toolbox.find(&call.tool)).map(|row| row.execution);
                self.loop_detector
                    .record_result(call, kind, &result, *outcome);
                match queue.advance() {
                    CallProgress::Next(queue) => NextStep::RunCalls(queue),
                    CallProgress::Finished(_) => NextStep::request_response(),
                }
            }
        }
    }
}
