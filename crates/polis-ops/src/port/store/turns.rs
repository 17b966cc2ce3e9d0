//! Store port [`TurnReader`]: reads the conversations (turns) of society members.

use polis_core::society::MemberKey;

use crate::port::PortFuture;

/// A stored turn of a conversation.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredTurn {
    /// Its number.
    pub turn: u64,
    /// JSON of a [`ConversationTurn`](polis_core::society::turn::ConversationTurn).
    pub body: String,
}

/// Read access to the conversations of members.
pub trait TurnReader {
    /// Returns turns of a conversation, ordered by number, starting with `from`, at most `limit`.
    fn turns<'a>(
        &'a self,
        member: &'a MemberKey,
        from: u64,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredTurn>>;

    /// Returns the newest turns of a conversation, at most `limit`, ordered by number.
    fn last_turns<'a>(
        &'a self,
        member: &'a MemberKey,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredTurn>>;
}
