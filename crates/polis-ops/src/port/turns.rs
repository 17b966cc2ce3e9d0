//! Reading conversations.

use polis_core::society::MemberKey;

use super::PortFuture;

/// A turn as a store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTurn {
    /// Its number.
    pub turn: u64,
    /// What it says: the JSON of a [`Turn`](polis_core::society::turn::Turn).
    pub body: String,
}

/// The conversations of members.
pub trait Turns {
    /// Turns of a conversation by number, from this one on, at most `limit`.
    fn turns<'a>(
        &'a self,
        member: &'a MemberKey,
        from: u64,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredTurn>>;

    /// The newest turns of a conversation, at most `limit`, by number.
    fn last_turns<'a>(
        &'a self,
        member: &'a MemberKey,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredTurn>>;
}
