//! Conversations of the in-memory store used as the reference in tests: the turns of each society member.

use std::collections::{BTreeMap, BTreeSet};

use polis_core::changeset::{Receipt, RecordKey, StoreWrite};
use polis_core::record::RecordBody;
use polis_core::society::MemberKey;
use polis_ops::PortFuture;
use polis_ops::port::{StoredTurn, TurnReader};

use super::MemoryStore;

/// All turns, by member and number.
#[derive(Debug, Clone, Default)]
pub(super) struct MemoryConversations(BTreeMap<(String, u64), String>);

impl MemoryConversations {
    pub(super) fn find_conflict(&self, member: &str, turn: u64) -> Option<RecordKey> {
        let exists = self.0.contains_key(&(member.to_owned(), turn));
        exists.then(|| RecordKey::Turn {
            member: member.to_owned(),
            turn,
        })
    }

    pub(super) fn append_turn(
        &mut self,
        member: String,
        turn: u64,
        body: &RecordBody,
        receipt: &Receipt,
    ) {
        self.0.insert((member, turn), body.to_text(receipt));
    }

    fn turns_of_member(&self, member: &MemberKey) -> Vec<StoredTurn> {
        let member = member.to_string();
        let all = self.0.iter().filter(|((owner, _), _)| *owner == member);
        all.map(|((_, turn), body)| StoredTurn {
            turn: *turn,
            body: body.clone(),
        })
        .collect()
    }
}

/// Returns the turn that a changeset appends twice, if any.
pub(super) fn find_duplicate_turn(writes: &[StoreWrite]) -> Option<RecordKey> {
    let mut before = BTreeSet::new();
    for write in writes {
        if let StoreWrite::AppendTurn { member, turn, .. } = write
            && !before.insert((member, turn))
        {
            return Some(RecordKey::Turn {
                member: member.clone(),
                turn: *turn,
            });
        }
    }
    None
}

impl TurnReader for MemoryStore {
    fn turns<'a>(
        &'a self,
        member: &'a MemberKey,
        from: u64,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredTurn>> {
        self.read_state(|state| {
            let all = state.turns.turns_of_member(member).into_iter();
            all.filter(|turn| turn.turn >= from)
                .take(limit as usize)
                .collect()
        })
    }

    fn last_turns<'a>(
        &'a self,
        member: &'a MemberKey,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredTurn>> {
        self.read_state(|state| {
            let mut all = state.turns.turns_of_member(member);
            all.split_off(all.len().saturating_sub(limit as usize))
        })
    }
}
