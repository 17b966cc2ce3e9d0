//! State machine of a member: takes an event (mailbox read, model response, tool result, commit to the store)
//! and returns the next effect to perform. Pure: no clock, no store, no model; `driver` performs the effects.
//!
//! There is one effect at a time, and the next event answers it ([`MemberMachine::handle_event`]). New
//! messages stay in the mailbox until the machine asks for them. Anything not yet committed may be lost: a
//! machine that is restored from the store continues from the stored state.
//!
//! - `machine_state`: the states, each with the data that is valid in it
//! - `machine_transition`: the next state for each state and event, and the effect that each state stands for
//! - `model_request`, `tool_calls`: record what happened, and return what has to be done next
//! - `turn_draft`: what the next commit stores; `external_change`: commits that conflict
//! - `restore`: the state after a restart

mod call_queue;
mod conversation_fragment;
mod external_change;
mod loop_detector;
mod machine_event;
mod machine_state;
mod machine_transition;
mod model_request;
mod restore;
mod tool_calls;
mod turn_draft;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use polis_core::society::MemberKey;
use polis_core::society::budget::BudgetAmount;
use polis_core::society::member::MemberState;

pub use conversation_fragment::ConversationFragment;
pub use machine_event::{
    ApprovalState, BudgetCost, CallResult, CommitDraft, MachineEffect, MachineEvent,
    PersistedMember,
};
pub(crate) use tool_calls::{parse_arguments, refused_result};
pub use turn_draft::append_result;

use crate::context_window::ContextWindow;
use crate::model::ToolCall;
use crate::runtime_messages::RuntimeMessages;
use crate::toolbox::Toolbox;
use loop_detector::LoopDetector;
use machine_state::MachineState;
use turn_draft::{StoredMember, TurnDraft};

/// Configuration of a machine.
#[derive(Debug, Clone)]
pub struct MemberConfig {
    /// The member that the machine controls.
    pub key: MemberKey,
    /// The tools it may call.
    pub toolbox: Arc<Toolbox>,
    /// Context limit, in tokens.
    pub context_limit: u64,
    /// The language of the runtime's texts.
    pub runtime_messages: RuntimeMessages,
    /// The worker that drives it.
    pub worker_name: String,
}

/// The state machine of a member.
#[derive(Debug)]
pub struct MemberMachine {
    state: MachineState,
    config: MemberConfig,
    /// The context that is sent to its model.
    pub context: ContextWindow,
    stored: StoredMember,
    draft: TurnDraft,
    loop_detector: LoopDetector,
    /// How many responses in a row were incomplete (cut off, filtered, empty or without the announced calls).
    incomplete_responses: u32,
    /// The model of the last response.
    last_model: String,
}

impl MemberMachine {
    /// Returns the member state, including changes that are not committed.
    pub fn state(&self) -> &MemberState {
        &self.draft.state
    }

    /// Returns the last known revision of the member state.
    pub fn revision(&self) -> u64 {
        self.stored.revision
    }

    /// Takes over the stored state after a budget draw. Returns whether that state matches the known one.
    #[must_use]
    pub fn adopt_state(&mut self, state: MemberState, revision: u64) -> bool {
        let known = &self.stored.state;
        let same = state.next_turn == known.next_turn && state.status == known.status;
        if same {
            self.stored = StoredMember::new(state, revision);
        }
        same
    }

    /// Returns the last known member state in the store.
    pub fn stored_state(&self) -> &MemberState {
        &self.stored.state
    }

    /// Returns the budget spent since the last commit.
    pub fn unsaved_spend(&self) -> BudgetAmount {
        self.draft.spend
    }

    /// Returns the toolbox of the member.
    pub fn toolbox(&self) -> Arc<Toolbox> {
        Arc::clone(&self.config.toolbox)
    }

    /// Returns the current call if it has this index in its response.
    pub fn call_at(&self, index: usize) -> Option<&ToolCall> {
        let queue = self.state.call_queue()?;
        (queue.index() == index).then(|| queue.current())
    }

    /// Returns how many messages the member has received, including those in its prompt.
    pub fn received_message_count(&self) -> u64 {
        self.draft.state.received_messages
    }

    /// Handles an event, and returns the next effect.
    pub fn handle_event(&mut self, event: MachineEvent) -> MachineEffect {
        // A panic during a transition leaves the machine in the state that is always safe.
        let state = std::mem::replace(&mut self.state, MachineState::Outdated);
        self.state = self.next_state(state, event);
        self.effect()
    }

    /// Returns the first effect of a session.
    pub fn next_effect(&mut self) -> MachineEffect {
        self.handle_event(MachineEvent::SessionStarted)
    }
}
