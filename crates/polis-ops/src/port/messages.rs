//! Reading mailboxes.

use polis_core::AgentId;
use polis_core::message::Message;

use super::PortFuture;

/// Which messages of a mailbox to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailboxQuery {
    /// Whose mailbox.
    pub recipient: AgentId,
    /// Only those not yet read.
    pub unread: bool,
    /// Only those delivered by this moment (milliseconds).
    pub now: i64,
    /// Only those with a greater number.
    pub after: u64,
    /// At most so many.
    pub limit: u32,
}

/// The mailboxes.
pub trait Messages {
    /// Messages of a mailbox, by number. Those whose delivery is still to come are not among them.
    fn mailbox<'a>(&'a self, query: &'a MailboxQuery) -> PortFuture<'a, Vec<Message>>;

    /// A message.
    fn message(&self, id: u64) -> PortFuture<'_, Option<Message>>;

    /// When the next unread message that is still to come will be delivered (milliseconds).
    fn next_delivery<'a>(&'a self, recipient: &'a AgentId, now: i64)
    -> PortFuture<'a, Option<i64>>;
}
