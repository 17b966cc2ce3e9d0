//! The next turn of a member: collects everything that changed since the last commit, and builds the draft of
//! the commit that stores it.

use polis_core::society::budget::BudgetAmount;
use polis_core::society::member::{MemberState, MemberStatus};
use polis_core::society::turn::ConversationEntry;

use super::machine_state::CommitAddition;
use super::{CallResult, CommitDraft, ConversationFragment, MemberMachine};
use crate::chat_message;

/// The member in the store, as last read or committed.
#[derive(Debug)]
pub(super) struct StoredMember {
    pub(super) state: MemberState,
    pub(super) revision: u64,
}

/// What the next commit stores.
#[derive(Debug)]
pub(super) struct TurnDraft {
    /// The new member state, except its account and the agents it hired.
    pub(super) state: MemberState,
    /// Budget spent since the last commit.
    pub(super) spend: BudgetAmount,
    /// Entries added since the last commit.
    pub(super) entries: ConversationFragment,
    /// Messages read since the last commit.
    pub(super) read_message_ids: Vec<u64>,
}

impl StoredMember {
    pub(super) fn new(state: MemberState, revision: u64) -> Self {
        Self { state, revision }
    }
}

impl TurnDraft {
    /// Creates a draft that changes nothing.
    pub(super) fn new(state: MemberState) -> Self {
        Self {
            state,
            spend: BudgetAmount::default(),
            entries: ConversationFragment::default(),
            read_message_ids: Vec::new(),
        }
    }

    /// Sets the status of a blocked member, with the reason.
    pub(super) fn set_blocked_status(&mut self, status: MemberStatus, reason: &str) {
        self.state.status = status;
        self.state.reason = Some(reason.to_owned());
    }

    /// Counts a command as spent.
    pub(super) fn count_command(&mut self) {
        self.spend.commands = self.spend.commands.saturating_add(1);
    }

    /// Removes the record of a running call.
    pub(super) fn clear_running_call(&mut self) {
        self.state.running_call_id = None;
        self.state.running_tool = None;
    }
}

impl MemberMachine {
    /// Adds an entry to the conversation; it is stored with the next commit.
    pub(super) fn push_entry(&mut self, entry: &ConversationEntry) {
        self.context.push_entry(self.stored.state.next_turn, entry);
        self.draft.entries.push(entry);
    }

    /// Discards received messages without a response, so that they stay unread.
    pub(super) fn discard_received_messages(&mut self) {
        self.draft.state.received_messages = self.stored.state.received_messages;
        self.draft.entries.clear();
        self.draft.read_message_ids.clear();
    }

    /// Returns the draft of a commit of the turn; without entries only the member state is stored.
    pub(super) fn draft_commit(&self, addition: &CommitAddition) -> CommitDraft {
        let turn = (!self.draft.entries.is_empty()).then_some(self.stored.state.next_turn);
        self.build_draft(turn, addition)
    }

    /// Returns the draft that joins the commit of a call. It always has a turn: that of the call's result.
    pub(super) fn draft_joined_commit(&self) -> CommitDraft {
        self.build_draft(Some(self.stored.state.next_turn), &CommitAddition::Nothing)
    }

    /// Returns the draft of a commit at this moment.
    fn build_draft(&self, turn: Option<u64>, addition: &CommitAddition) -> CommitDraft {
        let state = self.state_with_turn(turn);
        let is_logged = |status| {
            use MemberStatus::{AwaitingApproval, Parked, Paused};
            matches!(status, AwaitingApproval | Paused | Parked)
        };
        let stored = &self.stored;
        let changed = stored.state.status != state.status;
        let has_no_answer = state.status == MemberStatus::Idle && state.reason.is_some();
        let (approval_request, parent_notice) = match addition {
            CommitAddition::Nothing => (None, None),
            CommitAddition::ApprovalRequest { turn, call } => (Some((*turn, *call)), None),
            CommitAddition::ParentNotice(text) => (None, Some(text.clone())),
        };
        CommitDraft {
            logs_status: changed
                && (has_no_answer || is_logged(state.status) || is_logged(stored.state.status)),
            state,
            revision: stored.revision,
            spend: self.draft.spend,
            turn,
            entries: self.draft.entries.clone(),
            read_message_ids: self.draft.read_message_ids.clone(),
            approval_request,
            parent_notice,
        }
    }

    /// Returns the member state after a commit, with this turn or without one.
    fn state_with_turn(&self, turn: Option<u64>) -> MemberState {
        let stored = &self.stored.state;
        let mut state = self.draft.state.clone();
        state.account = stored.account;
        state.account.spend(&self.draft.spend);
        state.children.clone_from(&stored.children);
        state.worker = Some(self.config.worker_name.clone());
        state.next_turn = turn.map_or(stored.next_turn, |turn| turn.saturating_add(1));
        state.context_tokens = self.context.estimated_tokens();
        state
    }

    /// Takes over the draft after its commit at this revision.
    pub(super) fn apply_commit(&mut self, revision: u64) {
        let turn = (!self.draft.entries.is_empty()).then_some(self.stored.state.next_turn);
        let state = self.state_with_turn(turn);
        self.apply_stored_state(state, revision);
    }

    /// Takes over the state of a commit, and begins a new turn.
    pub(super) fn apply_stored_state(&mut self, state: MemberState, revision: u64) {
        let draft = &mut self.draft;
        draft.state = state.clone();
        draft.spend = BudgetAmount::default();
        draft.entries.clear();
        draft.read_message_ids.clear();
        self.stored = StoredMember::new(state, revision);
    }
}

/// Returns the entry for the result of a call.
pub(super) fn result_entry(call: &str, outcome: &CallResult) -> ConversationEntry {
    ConversationEntry::ToolResult {
        message: chat_message::tool_message(call, &outcome.text),
        outcome: outcome.end,
        ms: outcome.duration_ms,
    }
}

/// Returns the entries of a draft followed by the result of the call that it joins.
pub fn append_result(
    entries: &ConversationFragment,
    call: &str,
    outcome: &CallResult,
) -> ConversationFragment {
    let mut entries = entries.clone();
    entries.push(&result_entry(call, outcome));
    entries
}
