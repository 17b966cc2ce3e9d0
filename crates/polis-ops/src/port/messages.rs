//! Reading mailboxes.

use polis_core::AgentId;
use polis_core::message::Message;
use polis_core::society::RunId;

use super::PortFuture;

/// Which messages of a mailbox to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MailboxQuery {
    /// Whose mailbox.
    pub recipient: AgentId,
    /// Only those that belong to this run.
    pub run: Option<RunId>,
    /// Only those not yet read.
    pub unread: bool,
    /// Only those delivered by this moment (milliseconds).
    pub now: i64,
    /// Only those with a greater number.
    pub after: u64,
    /// At most so many.
    pub limit: u32,
}

/// Which messages of the person to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PersonMailQuery {
    /// Only those to or from this agent.
    pub with: Option<AgentId>,
    /// Only those that belong to this run.
    pub run: Option<RunId>,
    /// Only those that wait for the person, who has neither read nor answered them
    /// ([`answers`](polis_core::society::question::answers)).
    pub open: bool,
    /// Only those with a smaller number.
    pub before: Option<u64>,
    /// Only those to the person that are delivered by this moment (milliseconds).
    pub now: i64,
    /// At most so many.
    pub limit: u32,
}

/// A mailbox, or the part of it that belongs to a run. By run first; those of no run come before all.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mailbox {
    /// The run its messages belong to.
    pub run: Option<RunId>,
    /// Whose it is.
    pub recipient: AgentId,
}

/// The mailboxes.
pub trait Messages {
    /// Messages of a mailbox, by number. Those whose delivery is still to come are not among them.
    fn mailbox<'a>(&'a self, query: &'a MailboxQuery) -> PortFuture<'a, Vec<Message>>;

    /// Messages to and from the person, the newest first.
    fn person_mail<'a>(&'a self, query: &'a PersonMailQuery) -> PortFuture<'a, Vec<Message>>;

    /// A message.
    fn message(&self, id: u64) -> PortFuture<'_, Option<Message>>;

    /// When the next unread message that is still to come will be delivered (milliseconds).
    fn next_delivery<'a>(&'a self, recipient: &'a AgentId, now: i64)
    -> PortFuture<'a, Option<i64>>;

    /// The mailboxes with unread messages that are delivered by `now`, in order, those after `after`, at
    /// most `limit`. The person's is not among them: nobody drives a person. Takes as long as the answer
    /// is, however many messages wait in each.
    fn waiting<'a>(
        &'a self,
        now: i64,
        after: Option<&'a Mailbox>,
        limit: u32,
    ) -> PortFuture<'a, Vec<Mailbox>>;

    /// When the next unread message of any mailbox that is still to come will be delivered
    /// (milliseconds).
    fn next_delivery_of_any(&self, now: i64) -> PortFuture<'_, Option<i64>>;
}
