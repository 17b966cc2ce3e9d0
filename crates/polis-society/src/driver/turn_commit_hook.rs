//! Commit hook that adds a member's draft to the commit of the operation it called: its new state, the
//! messages it has read, and its turn with the call's result. All of it is durable, or nothing is.
//!
//! If another writer changed the member, the commit is refused (`has_conflict`). If the operation writes the
//! member's state itself, both states are merged. Other drafts are committed by `turn_commit`.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use parking_lot::Mutex;
use polis_core::changeset::{Receipt, StoreWrite};
use polis_core::json::to_json_text;
use polis_core::number::saturating_cast;
use polis_core::record::{RecordBody, RecordName};
use polis_core::society::MemberKey;
use polis_core::society::member::{self, MemberState};
use polis_core::society::turn::CallOutcome;
use polis_core::{Changeset, RecordKey, Refusal, WritePrecondition};
use polis_i18n::UiLanguage;
use polis_ops::{CommitHook, ResponseBuilder};

use crate::compaction::shorten_middle;
use crate::machine::{CallResult, CommitDraft, append_result};
use crate::refusal_tables::MemberRefusal;

/// Maximum bytes of a tool result that are stored in a conversation.
const MAX_STORED_RESULT_BYTES: usize = 24_000;

/// A draft that joins the commit of an operation, and its outcome.
pub(super) struct TurnCommitHook {
    key: MemberKey,
    call: String,
    draft: CommitDraft,
    /// A note to the model that is appended to the result.
    note: Option<String>,
    lang: UiLanguage,
    started_at: Instant,
    commit_state: Arc<Mutex<TurnCommitState>>,
}

/// The outcome of the commit.
#[derive(Debug, Default)]
pub(super) struct TurnCommitState {
    /// The tool result for the model.
    call_result: Option<CallResult>,
    /// The member state after the commit.
    member_state: Option<MemberState>,
    is_committed: bool,
    has_conflict: bool,
}

impl fmt::Debug for TurnCommitHook {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "TurnCommitHook({})", self.key)
    }
}

impl TurnCommitHook {
    pub(super) fn new(
        key: MemberKey,
        call: String,
        draft: CommitDraft,
        note: Option<String>,
        lang: UiLanguage,
    ) -> Self {
        Self {
            key,
            call,
            draft,
            note,
            lang,
            started_at: Instant::now(),
            commit_state: Arc::default(),
        }
    }

    /// Returns what was committed, if anything was.
    pub(super) fn take_committed(&self) -> Option<(CallResult, MemberState)> {
        let mut state = self.commit_state.lock();
        if !state.is_committed {
            return None;
        }
        Some((state.call_result.take()?, state.member_state.take()?))
    }

    /// Returns whether the commit failed because another writer changed the member.
    pub(super) fn has_conflict(&self) -> bool {
        self.commit_state.lock().has_conflict
    }
}

/// Adds the writes of a draft except its turn: the member state, and the messages marked as read.
pub(super) fn add_draft_writes(key: &MemberKey, draft: &CommitDraft, changes: &mut Changeset) {
    changes.writes.push(state_write(key, draft, &draft.state));
    if !draft.read_message_ids.is_empty() {
        changes.writes.push(StoreWrite::ReadMessages {
            recipient: key.agent.clone(),
            ids: draft.read_message_ids.clone(),
        });
    }
}

/// Returns the write of the member state, which conflicts if another writer changed it since the draft
/// (compare-and-swap).
fn state_write(key: &MemberKey, draft: &CommitDraft, state: &MemberState) -> StoreWrite {
    StoreWrite::PutRecord {
        name: member::member_state_record_name(key),
        expect: WritePrecondition::Revision(draft.revision),
        expires_at: None,
        body: RecordBody::Text(serialise_state(state)),
    }
}

/// Serializes a member state.
fn serialise_state(state: &MemberState) -> String {
    // Our own types always serialize.
    to_json_text(state)
}

/// Returns whether a conflict concerns the member itself.
pub(super) fn is_own_conflict(key: &MemberKey, draft: &CommitDraft, conflict: &RecordKey) -> bool {
    match conflict {
        RecordKey::Record(name) => *name == member::member_state_record_name(key),
        RecordKey::Turn { member, .. } => *member == key.to_string(),
        RecordKey::Message(id) => draft.read_message_ids.contains(id),
        _ => false,
    }
}

impl CommitHook for TurnCommitHook {
    fn add_writes(&self, mut changes: Changeset, now: i64, answer: ResponseBuilder) -> Changeset {
        let name = member::member_state_record_name(&self.key);
        let state = self.merge_states(&mut changes, &name);
        match &state {
            Some(_) => {
                if !self.draft.read_message_ids.is_empty() {
                    changes.writes.push(StoreWrite::ReadMessages {
                        recipient: self.key.agent.clone(),
                        ids: self.draft.read_message_ids.clone(),
                    });
                }
            }
            None => add_draft_writes(&self.key, &self.draft, &mut changes),
        }
        self.commit_state.lock().member_state =
            Some(state.unwrap_or_else(|| self.draft.state.clone()));
        let Some(turn) = self.draft.turn else {
            return changes;
        };
        let (commit_state, started_at) = (Arc::clone(&self.commit_state), self.started_at);
        let lang = self.lang;
        let (call, entries) = (self.call.clone(), self.draft.entries.clone());
        let note = self.note.as_ref();
        let note = note.map_or_else(String::new, |note| format!("\n[{note}]"));
        let body = move |receipt: &Receipt| {
            let outcome = CallResult {
                text: shorten_middle(&answer(receipt), MAX_STORED_RESULT_BYTES, lang) + &note,
                end: CallOutcome::Ok,
                duration_ms: saturating_cast::<u64>(started_at.elapsed().as_millis()),
            };
            let body = append_result(&entries, &call, &outcome).to_turn_json(now);
            commit_state.lock().call_result = Some(outcome);
            body
        };
        changes.with_write(StoreWrite::AppendTurn {
            member: self.key.to_string(),
            turn,
            body: RecordBody::FromReceipt(Arc::new(body)),
        })
    }

    fn refusal_on_conflict(&self, key: &RecordKey) -> Option<Refusal> {
        if !is_own_conflict(&self.key, &self.draft, key) {
            return None;
        }
        self.commit_state.lock().has_conflict = true;
        Some(Refusal::from(MemberRefusal::ChangedByOther))
    }

    fn on_committed(&self, _: &Receipt) {
        self.commit_state.lock().is_committed = true;
    }
}

impl TurnCommitHook {
    /// Merges both states if the operation itself writes the member state (for example because it hired an
    /// agent). If the operation was decided on a different revision, the state of the draft is added
    /// unchanged, and conflicts.
    fn merge_states(&self, changes: &mut Changeset, name: &RecordName) -> Option<MemberState> {
        let expected = WritePrecondition::Revision(self.draft.revision);
        let same_revision = changes.writes.iter().any(|write| {
            matches!(write, StoreWrite::PutRecord { name: written, expect, .. }
                if written == name && *expect == expected)
        });
        if !same_revision {
            return None;
        }
        let mut merged = None;
        changes.amend_record(name, |text| {
            let theirs: MemberState = serde_json::from_str(text).ok()?;
            let mut state = self.draft.state.clone();
            state.account = theirs.account;
            state.account.spend(&self.draft.spend);
            state.children = theirs.children;
            let text = serialise_state(&state);
            merged = Some(state);
            Some(text)
        });
        merged
    }
}
