//! Messages and mailboxes of the in-memory store used as the reference in tests.

use std::collections::BTreeSet;

use polis_core::changeset::RecordKey;
use polis_core::message::{Message, NewMessage};
use polis_core::society::question::answers_question;
use polis_core::{AgentId, Timestamp};
use polis_ops::PortFuture;
use polis_ops::port::{MailboxKey, MailboxQuery, MessageReader, PersonMailQuery};

use super::MemoryStore;

/// All messages by number, starting at 1.
#[derive(Debug, Clone, Default)]
pub(super) struct MemoryMailboxes(Vec<DeliverableMessage>);

#[derive(Debug, Clone)]
struct DeliverableMessage {
    message: Message,
    deliver_at: i64,
}

impl MemoryMailboxes {
    fn get(&self, id: u64) -> Option<&DeliverableMessage> {
        self.0.iter().find(|delivery| delivery.message.id == id)
    }

    /// Returns the first of these ids that is not an unread message in this mailbox.
    pub(super) fn find_conflict(&self, recipient: &AgentId, ids: &[u64]) -> Option<RecordKey> {
        let unread = |id: u64| {
            self.get(id).is_some_and(|delivery| {
                delivery.message.to == *recipient && delivery.message.read_at.is_none()
            })
        };
        let id = ids.iter().find(|id| !unread(**id))?;
        Some(RecordKey::Message(*id))
    }

    pub(super) fn send(&mut self, message: NewMessage) -> u64 {
        let id = self.0.len() as u64 + 1;
        self.0.push(DeliverableMessage {
            deliver_at: message.deliver_at,
            message: message.with_id(id),
        });
        id
    }

    pub(super) fn mark_read(&mut self, ids: &[u64], at: &Timestamp) {
        for delivery in &mut self.0 {
            if ids.contains(&delivery.message.id) {
                delivery.message.read_at = Some(at.clone());
            }
        }
    }

    fn messages_to<'a>(
        &'a self,
        recipient: &'a AgentId,
    ) -> impl Iterator<Item = &'a DeliverableMessage> {
        self.0
            .iter()
            .filter(move |delivery| delivery.message.to == *recipient)
    }
}

impl MessageReader for MemoryStore {
    fn mailbox<'a>(&'a self, query: &'a MailboxQuery) -> PortFuture<'a, Vec<Message>> {
        self.read_state(|state| {
            let matches_query = |delivery: &&DeliverableMessage| {
                delivery.message.id > query.after
                    && (query.run.is_none() || delivery.message.run == query.run)
                    && delivery.deliver_at <= query.now
                    && !(query.unread && delivery.message.read_at.is_some())
            };
            let found = state
                .mailboxes
                .messages_to(&query.recipient)
                .filter(matches_query);
            found
                .take(query.limit as usize)
                .map(|delivery| delivery.message.clone())
                .collect()
        })
    }

    fn person_mail<'a>(&'a self, query: &'a PersonMailQuery) -> PortFuture<'a, Vec<Message>> {
        self.read_state(|state| {
            let person = |id: &AgentId| id.is_user();
            let all = || state.mailboxes.0.iter();
            let matches_query = |delivery: &&DeliverableMessage| {
                let message = &delivery.message;
                let (incoming, outgoing) = (person(&message.to), person(&message.from));
                let other = if incoming { &message.from } else { &message.to };
                let answered = || {
                    all()
                        .map(|delivery| &delivery.message)
                        .any(|later| answers_question(message, later) && later.run == message.run)
                };
                let open = incoming && message.read_at.is_none() && !answered();
                (if incoming {
                    delivery.deliver_at <= query.now
                } else {
                    outgoing
                }) && query
                    .correspondent
                    .as_ref()
                    .is_none_or(|with| with == other)
                    && (query.run.is_none() || message.run == query.run)
                    && query.before.is_none_or(|before| message.id < before)
                    && (open || !query.open_only)
            };
            let found = all().rev().filter(matches_query);
            found
                .take(query.limit as usize)
                .map(|delivery| delivery.message.clone())
                .collect()
        })
    }

    fn message(&self, id: u64) -> PortFuture<'_, Option<Message>> {
        self.read_state(|state| {
            state
                .mailboxes
                .get(id)
                .map(|delivery| delivery.message.clone())
        })
    }

    fn next_delivery<'a>(
        &'a self,
        recipient: &'a AgentId,
        now: i64,
    ) -> PortFuture<'a, Option<i64>> {
        self.read_state(|state| {
            let unread = |delivery: &&DeliverableMessage| delivery.message.read_at.is_none();
            let waiting = state.mailboxes.messages_to(recipient).filter(unread);
            waiting
                .map(|delivery| delivery.deliver_at)
                .filter(|at| *at > now)
                .min()
        })
    }

    fn unread_mailboxes<'a>(
        &'a self,
        now: i64,
        after: Option<&'a MailboxKey>,
        limit: u32,
    ) -> PortFuture<'a, Vec<MailboxKey>> {
        self.read_state(|state| {
            let is_waiting = |delivery: &&DeliverableMessage| {
                delivery.message.read_at.is_none()
                    && delivery.deliver_at <= now
                    && delivery.message.to.as_str() != AgentId::USER
            };
            let all: BTreeSet<MailboxKey> = (state.mailboxes.0.iter().filter(is_waiting))
                .map(|delivery| MailboxKey {
                    run: delivery.message.run.clone(),
                    recipient: delivery.message.to.clone(),
                })
                .collect();
            all.into_iter()
                .filter(|mailbox| after.is_none_or(|after| mailbox > after))
                .take(limit as usize)
                .collect()
        })
    }

    fn next_delivery_of_any(&self, now: i64) -> PortFuture<'_, Option<i64>> {
        self.read_state(|state| {
            let unread = |delivery: &&DeliverableMessage| delivery.message.read_at.is_none();
            let waiting = state.mailboxes.0.iter().filter(unread);
            waiting
                .map(|delivery| delivery.deliver_at)
                .filter(|at| *at > now)
                .min()
        })
    }
}
