//! Store port [`MessageReader`]: reads mailboxes and their messages, and finds mailboxes with unread mail.

use polis_core::AgentId;
use polis_core::message::Message;
use polis_core::society::RunId;

use crate::port::PortFuture;

/// Selection of messages of a mailbox.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailboxQuery {
    /// Owner of the mailbox.
    pub recipient: AgentId,
    /// Only messages of this run.
    pub run: Option<RunId>,
    /// Only unread messages.
    pub unread: bool,
    /// Only messages delivered by this time (milliseconds).
    pub now: i64,
    /// Only messages with a greater number.
    pub after: u64,
    /// Maximum number of messages.
    pub limit: u32,
}

/// Selection of the person's messages.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PersonMailQuery {
    /// Only messages to or from this agent.
    pub correspondent: Option<AgentId>,
    /// Only messages of this run.
    pub run: Option<RunId>,
    /// Only messages that need the person's attention: neither read nor answered
    /// ([`answers_question`](polis_core::society::question::answers_question)).
    pub open_only: bool,
    /// Only messages with a smaller number.
    pub before: Option<u64>,
    /// Only messages to the person that are delivered by this time (milliseconds).
    pub now: i64,
    /// Maximum number of messages.
    pub limit: u32,
}

/// A mailbox, or the part of it that belongs to a run. Ordered by run first; mailboxes without a run sort
/// before all others.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct MailboxKey {
    /// The run that its messages belong to.
    pub run: Option<RunId>,
    /// Owner of the mailbox.
    pub recipient: AgentId,
}

/// Read access to mailboxes.
pub trait MessageReader {
    /// Returns messages of a mailbox, ordered by number. Messages with a future delivery time are not
    /// included.
    fn mailbox<'a>(&'a self, query: &'a MailboxQuery) -> PortFuture<'a, Vec<Message>>;

    /// Returns messages to and from the person, newest first.
    fn person_mail<'a>(&'a self, query: &'a PersonMailQuery) -> PortFuture<'a, Vec<Message>>;

    /// Returns a message.
    fn message(&self, id: u64) -> PortFuture<'_, Option<Message>>;

    /// Returns the delivery time of the next unread message that is still to be delivered (milliseconds).
    fn next_delivery<'a>(&'a self, recipient: &'a AgentId, now: i64)
    -> PortFuture<'a, Option<i64>>;

    /// Returns the mailboxes with unread messages that are delivered by `now`, in order, after `after`, at
    /// most `limit`. The person's mailbox is not included, because no driver runs for a person. The cost
    /// depends only on the size of the result, not on the number of messages in each mailbox.
    fn unread_mailboxes<'a>(
        &'a self,
        now: i64,
        after: Option<&'a MailboxKey>,
        limit: u32,
    ) -> PortFuture<'a, Vec<MailboxKey>>;

    /// Returns the delivery time of the next unread message of any mailbox that is still to be delivered
    /// (milliseconds).
    fn next_delivery_of_any(&self, now: i64) -> PortFuture<'_, Option<i64>>;
}
