//! Test harness of the state machine: a store, a mailbox and a model as plain values, so that events can be
//! played in any order, with a crash at any point.

use std::collections::BTreeMap;
use std::sync::Arc;

use polis_core::RawJson;
use polis_core::message::{Message, NewMessage};
use polis_core::society::budget::BudgetAccount;
use polis_core::society::call_approval::ApprovalDecision;
use polis_core::society::member::{MemberState, MemberStatus};
use polis_core::society::turn::{CallOutcome, ConversationEntry, ConversationTurn};
use polis_core::timestamp::Timestamp;

use super::super::{
    ApprovalState, CallResult, CommitDraft, ConversationFragment, MachineEffect, MachineEvent,
    MemberConfig, MemberMachine, PersistedMember, append_result,
};
use crate::chat_message;
use crate::model::{FinishReason, ModelResponse, ToolCall};
use crate::runtime_messages::RuntimeMessages;
use crate::toolbox::{BuiltinTool, MemberTool, ToolExecution, Toolbox};

/// The contents of the store.
#[derive(Debug, Clone)]
pub(in crate::machine) struct SimulatedStore {
    pub(in crate::machine) state: MemberState,
    pub(in crate::machine) revision: u64,
    pub(in crate::machine) turns: Vec<(u64, ConversationTurn)>,
    /// Unread messages of the mailbox.
    pub(in crate::machine) unread: Vec<Message>,
    /// How often each call was executed, by its id.
    pub(in crate::machine) executed_calls: BTreeMap<String, u32>,
    /// Approval decisions, by turn and index of the call.
    pub(in crate::machine) decisions: BTreeMap<(u64, usize), ApprovalDecision>,
    /// Calls for which approval was requested.
    pub(in crate::machine) approval_requests: Vec<(u64, usize)>,
    /// Notices to the supervisor.
    pub(in crate::machine) parent_notices: Vec<String>,
    pub(in crate::machine) sent_count: u64,
}

pub(in crate::machine) fn initial_state() -> MemberState {
    MemberState {
        status: MemberStatus::Idle,
        reason: None,
        paused_by: None,
        next_turn: 0,
        first_context_turn: 0,
        received_messages: 0,
        response_count: 0,
        running_call_id: None,
        running_tool: None,
        account: BudgetAccount::default(),
        context_tokens: 0,
        children: Vec::new(),
        worker: None,
    }
}

fn test_tool(name: &str, kind: ToolExecution) -> MemberTool {
    MemberTool {
        name: name.to_owned(),
        execution: kind,
        needs_approval: name == "danger",
        is_command: name == "run",
    }
}

/// The member under test, with the tools `look`, `put`, `mail`, `write` (idempotent), `run` (a command),
/// `danger` (needs approval), and the runtime's own.
pub(in crate::machine) fn test_config() -> MemberConfig {
    MemberConfig {
        key: "r1/ann".parse().unwrap(),
        toolbox: Arc::new(Toolbox::from_tools(vec![
            test_tool("look", ToolExecution::ReadOnly),
            test_tool("put", ToolExecution::StoreCommit),
            test_tool("mail", ToolExecution::MailboxCommit),
            test_tool("write", ToolExecution::External { idempotent: true }),
            test_tool("run", ToolExecution::External { idempotent: false }),
            test_tool("danger", ToolExecution::External { idempotent: false }),
            test_tool(
                "compress_context",
                ToolExecution::Builtin(BuiltinTool::CompressContext),
            ),
            test_tool(
                "get_context_status",
                ToolExecution::Builtin(BuiltinTool::ContextStatus),
            ),
        ])),
        context_limit: 100_000,
        runtime_messages: RuntimeMessages(polis_i18n::UiLanguage::En),
        worker_name: "w1".to_owned(),
    }
}

impl Default for SimulatedStore {
    fn default() -> Self {
        Self {
            state: initial_state(),
            revision: 1,
            turns: Vec::new(),
            unread: Vec::new(),
            executed_calls: BTreeMap::new(),
            decisions: BTreeMap::new(),
            approval_requests: Vec::new(),
            parent_notices: Vec::new(),
            sent_count: 0,
        }
    }
}

impl SimulatedStore {
    /// Sends the member a message.
    pub(in crate::machine) fn send_message(&mut self, text: &str) {
        self.sent_count += 1;
        let mut message = NewMessage {
            from: "bob".parse().unwrap(),
            to: "ann".parse().unwrap(),
            created_at: Timestamp::from_millis(0),
            deliver_at: 0,
            run: None,
            reply_to: None,
            payload: RawJson::from_value(&text).unwrap(),
        }
        .with_id(self.sent_count);
        message.read_at = None;
        self.unread.push(message);
    }

    /// Loads the member from the store.
    pub(in crate::machine) fn load_machine(&self, config: MemberConfig) -> MemberMachine {
        let since = self.state.first_context_turn;
        let found = PersistedMember {
            state: self.state.clone(),
            revision: self.revision,
            turns: (self.turns.iter())
                .filter(|(turn, _)| *turn >= since)
                .cloned()
                .collect(),
        };
        MemberMachine::restore(
            config,
            chat_message::system_message("be good").as_str(),
            found,
        )
    }

    /// Applies a draft; returns false on a conflict.
    pub(in crate::machine) fn apply_draft(
        &mut self,
        draft: &CommitDraft,
        entries: &ConversationFragment,
    ) -> bool {
        if draft.revision != self.revision {
            return false;
        }
        for id in &draft.read_message_ids {
            assert!(
                self.unread.iter().any(|message| message.id == *id),
                "{id} is read twice"
            );
        }
        self.unread
            .retain(|message| !draft.read_message_ids.contains(&message.id));
        if let Some(turn) = draft.turn {
            assert_eq!(turn, self.turns.len() as u64);
            let text = entries.to_turn_json(0);
            self.turns
                .push((turn, serde_json::from_str(&text).unwrap()));
        } else {
            assert!(entries.is_empty());
        }
        assert_eq!(draft.state.next_turn, self.turns.len() as u64);
        self.state = draft.state.clone();
        self.revision += 1;
        if let Some(request) = &draft.approval_request {
            assert!(
                !self.approval_requests.contains(request),
                "{request:?} is asked twice"
            );
        }
        self.approval_requests.extend(draft.approval_request);
        self.parent_notices
            .extend(draft.parent_notice.iter().cloned());
        true
    }

    /// Performs an effect without faults and returns the resulting event; `None` if there is none. `answer`
    /// is the model.
    pub(in crate::machine) fn perform_effect(
        &mut self,
        machine: &MemberMachine,
        effect: MachineEffect,
        answer: &mut dyn FnMut(&str) -> ModelResponse,
        prompt: &str,
    ) -> Option<MachineEvent> {
        Some(match effect {
            MachineEffect::ReadMailbox => MachineEvent::MailboxRead(self.unread.clone()),
            MachineEffect::DrawBudget(_) => MachineEvent::BudgetAvailable,
            MachineEffect::RequestResponse | MachineEffect::RequestSummary(_) => {
                MachineEvent::ResponseReceived(Box::new(answer(prompt)))
            }
            MachineEffect::ExecuteCall {
                index: at,
                joined_draft: join,
            } => {
                let call = machine.call_at(at).unwrap();
                let outcome = CallResult {
                    text: format!("did {}", call.arguments),
                    end: CallOutcome::Ok,
                    duration_ms: 1,
                };
                match join {
                    None => {
                        *self.executed_calls.entry(call.id.clone()).or_default() += 1;
                        MachineEvent::CallFinished(outcome)
                    }
                    Some(draft) => {
                        let entries = append_result(&draft.entries, &call.id, &outcome);
                        if !self.apply_draft(&draft, &entries) {
                            return Some(self.state_changed_event());
                        }
                        *self.executed_calls.entry(call.id.clone()).or_default() += 1;
                        MachineEvent::CallCommitted(outcome, Box::new(draft.state), self.revision)
                    }
                }
            }
            MachineEffect::Commit(draft) => {
                if self.apply_draft(&draft, &draft.entries) {
                    MachineEvent::Committed(self.revision)
                } else {
                    self.state_changed_event()
                }
            }
            MachineEffect::ReadApproval { turn, call } => {
                MachineEvent::ApprovalRead(match self.decisions.get(&(turn, call)) {
                    Some(decision) => ApprovalState::Decided(decision.clone()),
                    None if self.approval_requests.contains(&(turn, call)) => {
                        ApprovalState::Pending
                    }
                    None => ApprovalState::NotRequested,
                })
            }
            MachineEffect::Sleep | MachineEffect::Dismissed | MachineEffect::Reload => return None,
        })
    }

    pub(in crate::machine) fn state_changed_event(&self) -> MachineEvent {
        MachineEvent::StateChanged(Box::new(self.state.clone()), self.revision)
    }

    /// Runs the member until it sleeps.
    pub(in crate::machine) fn run_until_idle(
        &mut self,
        machine: &mut MemberMachine,
        answer: &mut dyn FnMut(&str) -> ModelResponse,
    ) {
        let mut effect = machine.next_effect();
        for _ in 0..10_000 {
            let prompt = machine.context.render_prompt("").to_owned();
            match self.perform_effect(machine, effect, answer, &prompt) {
                Some(event) => effect = machine.handle_event(event),
                None => return,
            }
        }
        panic!("the member never sleeps");
    }

    /// Returns the kinds of the entries of the conversation: `H`, `S`, `D`, `T`, `Σ`; turns are separated by
    /// a space.
    pub(in crate::machine) fn entry_pattern(&self) -> String {
        let symbol = |entry: &ConversationEntry| match entry {
            ConversationEntry::Received { .. } => 'H',
            ConversationEntry::Response { .. } => 'S',
            ConversationEntry::ToolResult { .. } => 'D',
            ConversationEntry::Note { .. } => 'T',
            ConversationEntry::Summary { .. } => 'Σ',
        };
        let turns = self.turns.iter();
        let turns: Vec<String> = turns
            .map(|(_, turn)| turn.entries.iter().map(symbol).collect())
            .collect();
        turns.join(" ")
    }

    /// Returns the results of all calls, in order.
    pub(in crate::machine) fn call_results(&self) -> Vec<(CallOutcome, String)> {
        let entries = self.turns.iter().flat_map(|(_, turn)| &turn.entries);
        entries
            .filter_map(|entry| match entry {
                ConversationEntry::ToolResult {
                    message, outcome, ..
                } => Some((*outcome, chat_message::message_content(message.as_str()))),
                _ => None,
            })
            .collect()
    }

    /// Panics if results do not follow the calls they belong to, one for each, in order.
    pub(in crate::machine) fn check_call_result_pairs(&self) {
        let mut open: Vec<ToolCall> = Vec::new();
        for (turn, stored) in &self.turns {
            for entry in &stored.entries {
                match entry {
                    ConversationEntry::Response { message, .. } => {
                        assert!(open.is_empty(), "turn {turn}: {open:?} have no results");
                        open = chat_message::parse_tool_calls(message);
                    }
                    ConversationEntry::ToolResult { message, .. } => {
                        let next = open.remove(0);
                        let id = format!("\"tool_call_id\":{:?}", next.id);
                        assert!(
                            message.as_str().contains(&id),
                            "turn {turn}: {message:?} is not of {id}"
                        );
                    }
                    ConversationEntry::Received { .. } | ConversationEntry::Note { .. } => {
                        assert!(open.is_empty(), "turn {turn}: {open:?} have no results");
                    }
                    ConversationEntry::Summary { .. } => {}
                }
            }
        }
    }

    /// Returns the ids of the received messages, in order.
    pub(in crate::machine) fn received_ids(&self) -> Vec<u64> {
        let entries = self.turns.iter().flat_map(|(_, turn)| &turn.entries);
        entries
            .filter_map(|entry| match entry {
                ConversationEntry::Received { ids, .. } => Some(ids.clone()),
                _ => None,
            })
            .flatten()
            .collect()
    }
}

/// Creates a response with these calls (id, tool, arguments).
pub(in crate::machine) fn model_response(
    text: &str,
    calls: &[(&str, &str, &str)],
) -> ModelResponse {
    let tool_calls: Vec<_> = (calls.iter())
        .map(|(id, tool, arguments)| {
            serde_json::json!({"id": id, "type": "function",
                "function": {"name": tool, "arguments": arguments}})
        })
        .collect();
    let message = if tool_calls.is_empty() {
        serde_json::json!({"role": "assistant", "content": text})
    } else {
        serde_json::json!({"role": "assistant", "content": text, "tool_calls": tool_calls})
    };
    let call = |(id, tool, arguments): &(&str, &str, &str)| ToolCall {
        id: (*id).to_owned(),
        tool: (*tool).to_owned(),
        arguments: (*arguments).to_owned(),
    };
    ModelResponse {
        message: RawJson::from_value(&message).unwrap(),
        text: text.to_owned(),
        calls: calls.iter().map(call).collect(),
        dropped_calls: 0,
        finish: if calls.is_empty() {
            FinishReason::Stop
        } else {
            FinishReason::Calls
        },
        usage: None,
        cost_micros: 0,
        model: "m".to_owned(),
        duration_ms: 1,
        attempts: 1,
        permit: crate::model::EndpointPermit::none(),
    }
}
