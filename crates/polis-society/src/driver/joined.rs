//! Commit hook that adds the turn of a member to the commit of the operation it called: both are durable, or neither
//! is.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Instant;

use polis_core::changeset::{Receipt, Write};
use polis_core::record::{RecordBody, RecordName};
use polis_core::society::MemberKey;
use polis_core::society::member::{self, MemberState};
use polis_core::society::turn::CallEnd;
use polis_core::{Changeset, Code, Expect, RecordKey, Refusal};
use polis_ops::{Alongside, AnswerOf};

use crate::compact::shortened;
use crate::machine::{Draft, Outcome, with_result};

/// Maximum bytes of a tool result that are stored in a conversation.
const MOST: usize = 24_000;

/// A draft that joins the commit of an operation, and its outcome.
pub(super) struct Joined {
    key: MemberKey,
    call: String,
    draft: Draft,
    /// A note to the model that is appended to the result.
    note: Option<String>,
    begun: Instant,
    came: Arc<Mutex<Came>>,
}

/// The outcome of the commit.
#[derive(Debug, Default)]
pub(super) struct Came {
    /// The tool result for the model.
    outcome: Option<Outcome>,
    /// The member state after the commit.
    state: Option<MemberState>,
    committed: bool,
    lost: bool,
}

impl fmt::Debug for Joined {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Joined({})", self.key)
    }
}

impl Joined {
    pub(super) fn new(key: MemberKey, call: String, draft: Draft, note: Option<String>) -> Self {
        Self {
            key,
            call,
            draft,
            note,
            begun: Instant::now(),
            came: Arc::default(),
        }
    }

    /// Returns what was committed, if anything was.
    pub(super) fn committed(&self) -> Option<(Outcome, MemberState)> {
        let mut came = lock(&self.came);
        if !came.committed {
            return None;
        }
        Some((came.outcome.take()?, came.state.take()?))
    }

    /// Returns whether the commit failed because another writer changed the member.
    pub(super) fn is_lost(&self) -> bool {
        lock(&self.came).lost
    }
}

fn lock(came: &Mutex<Came>) -> std::sync::MutexGuard<'_, Came> {
    came.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds the writes of a draft except its turn: the member state, and the messages marked as read.
pub(super) fn writes(key: &MemberKey, draft: &Draft, changes: &mut Changeset) {
    changes.writes.push(put_state(key, draft, &draft.state));
    if !draft.read.is_empty() {
        changes.writes.push(Write::ReadMessages {
            recipient: key.agent.clone(),
            ids: draft.read.clone(),
        });
    }
}

fn put_state(key: &MemberKey, draft: &Draft, state: &MemberState) -> Write {
    Write::PutRecord {
        name: member::state_name(key),
        expect: Expect::Revision(draft.revision),
        expires_at: None,
        body: RecordBody::Text(text_of(state)),
    }
}

fn text_of(state: &MemberState) -> String {
    // Our own types always serialise.
    serde_json::to_string(state).unwrap_or_default()
}

/// Returns the stored form of a turn.
pub(super) fn turn_body(at: i64, entries: &str) -> String {
    format!("{{\"at\":{at},\"of\":[{entries}]}}")
}

/// Returns whether a conflict concerns the member itself.
pub(super) fn is_own(key: &MemberKey, draft: &Draft, of: &RecordKey) -> bool {
    match of {
        RecordKey::Record(name) => *name == member::state_name(key),
        RecordKey::Turn { member, .. } => *member == key.to_string(),
        RecordKey::Message(id) => draft.read.contains(id),
        _ => false,
    }
}

impl Alongside for Joined {
    fn join(&self, mut changes: Changeset, now: i64, answer: AnswerOf) -> Changeset {
        let name = member::state_name(&self.key);
        let state = self.merged(&mut changes, &name);
        match &state {
            Some(_) => {
                if !self.draft.read.is_empty() {
                    changes.writes.push(Write::ReadMessages {
                        recipient: self.key.agent.clone(),
                        ids: self.draft.read.clone(),
                    });
                }
            }
            None => writes(&self.key, &self.draft, &mut changes),
        }
        lock(&self.came).state = Some(state.unwrap_or_else(|| self.draft.state.clone()));
        let Some(turn) = self.draft.turn else {
            return changes;
        };
        let (came, begun) = (Arc::clone(&self.came), self.begun);
        let (call, entries) = (self.call.clone(), self.draft.entries.clone());
        let note = self.note.as_ref();
        let note = note.map_or_else(String::new, |note| format!("\n[{note}]"));
        let body = move |receipt: &Receipt| {
            let outcome = Outcome {
                text: shortened(&answer(receipt), MOST) + &note,
                end: CallEnd::Ok,
                ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
            };
            let body = turn_body(now, &with_result(&entries, &call, &outcome));
            lock(&came).outcome = Some(outcome);
            body
        };
        changes.write(Write::AppendTurn {
            member: self.key.to_string(),
            turn,
            body: RecordBody::OfReceipt(Arc::new(body)),
        })
    }

    fn lost(&self, key: &RecordKey) -> Option<Refusal> {
        if !is_own(&self.key, &self.draft, key) {
            return None;
        }
        lock(&self.came).lost = true;
        Some(Refusal::new(
            Code::OutcomeUnknown,
            "The member stands differently by now.",
            "decide again",
        ))
    }

    fn committed(&self, _: &Receipt) {
        lock(&self.came).committed = true;
    }
}

impl Joined {
    /// Merges both states if the operation itself writes the member state (for example because it hired an agent). If
    /// the operation was decided on a different revision, the state of the draft is added unchanged, and conflicts.
    fn merged(&self, changes: &mut Changeset, name: &RecordName) -> Option<MemberState> {
        let ours = Expect::Revision(self.draft.revision);
        let same = changes.writes.iter().any(|write| {
            matches!(write, Write::PutRecord { name: written, expect, .. }
                if written == name && *expect == ours)
        });
        if !same {
            return None;
        }
        let mut merged = None;
        changes.amend(name, |text| {
            let theirs: MemberState = serde_json::from_str(text).ok()?;
            let mut state = self.draft.state.clone();
            state.account = theirs.account;
            state.account.spend(&self.draft.spend);
            state.children = theirs.children;
            let text = text_of(&state);
            merged = Some(state);
            Some(text)
        });
        merged
    }
}
