//! Conversations of the in-memory model store.

use std::collections::{BTreeMap, BTreeSet};

use polis_core::changeset::{Receipt, RecordKey, Write};
use polis_core::record::RecordBody;
use polis_core::society::MemberKey;
use polis_ops::PortFuture;
use polis_ops::port::{StoredTurn, Turns};

use super::MemoryStore;

/// All turns, by member and number.
#[derive(Debug, Clone, Default)]
pub(super) struct Conversations(BTreeMap<(String, u64), String>);

impl Conversations {
    pub(super) fn conflict(&self, member: &str, turn: u64) -> Option<RecordKey> {
        let there = self.0.contains_key(&(member.to_owned(), turn));
        there.then(|| RecordKey::Turn {
            member: member.to_owned(),
            turn,
        })
    }

    pub(super) fn append(&mut self, member: String, turn: u64, body: &RecordBody, of: &Receipt) {
        self.0.insert((member, turn), body.text(of));
    }

    fn of(&self, member: &MemberKey) -> Vec<StoredTurn> {
        let member = member.to_string();
        let all = self.0.iter().filter(|((of, _), _)| *of == member);
        all.map(|((_, turn), body)| StoredTurn {
            turn: *turn,
            body: body.clone(),
        })
        .collect()
    }
}

/// Returns the turn that a changeset appends twice, if any.
pub(super) fn added_twice(writes: &[Write]) -> Option<RecordKey> {
    let mut before = BTreeSet::new();
    for write in writes {
        if let Write::AppendTurn { member, turn, .. } = write
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

impl Turns for MemoryStore {
    fn turns<'a>(
        &'a self,
        member: &'a MemberKey,
        from: u64,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredTurn>> {
        self.read(|state| {
            let all = state.turns.of(member).into_iter();
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
        self.read(|state| {
            let mut all = state.turns.of(member);
            all.split_off(all.len().saturating_sub(limit as usize))
        })
    }
}
