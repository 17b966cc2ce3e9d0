//! Mailboxes of the in-memory model store.

use std::collections::BTreeSet;

use polis_core::changeset::RecordKey;
use polis_core::message::{Message, NewMessage};
use polis_core::society::question::answers;
use polis_core::{AgentId, Timestamp};
use polis_ops::PortFuture;
use polis_ops::port::{Mailbox, MailboxQuery, Messages, PersonMailQuery};

use super::MemoryStore;

/// All messages by number, starting at 1.
#[derive(Debug, Clone, Default)]
pub(super) struct Mail(Vec<Letter>);

#[derive(Debug, Clone)]
struct Letter {
    message: Message,
    deliver_at: i64,
}

impl Mail {
    fn get(&self, id: u64) -> Option<&Letter> {
        self.0.iter().find(|letter| letter.message.id == id)
    }

    /// Returns the first of these ids that is not an unread message in this mailbox.
    pub(super) fn conflict(&self, recipient: &AgentId, ids: &[u64]) -> Option<RecordKey> {
        let unread = |id: u64| {
            self.get(id).is_some_and(|letter| {
                letter.message.to == *recipient && letter.message.read_at.is_none()
            })
        };
        let id = ids.iter().find(|id| !unread(**id))?;
        Some(RecordKey::Message(*id))
    }

    pub(super) fn send(&mut self, message: NewMessage) -> u64 {
        let id = self.0.len() as u64 + 1;
        self.0.push(Letter {
            deliver_at: message.deliver_at,
            message: message.numbered(id),
        });
        id
    }

    pub(super) fn mark_read(&mut self, ids: &[u64], at: &Timestamp) {
        for letter in &mut self.0 {
            if ids.contains(&letter.message.id) {
                letter.message.read_at = Some(at.clone());
            }
        }
    }

    fn of<'a>(&'a self, recipient: &'a AgentId) -> impl Iterator<Item = &'a Letter> {
        self.0
            .iter()
            .filter(move |letter| letter.message.to == *recipient)
    }
}

impl Messages for MemoryStore {
    fn mailbox<'a>(&'a self, query: &'a MailboxQuery) -> PortFuture<'a, Vec<Message>> {
        self.read(|state| {
            let wanted = |letter: &&Letter| {
                letter.message.id > query.after
                    && (query.run.is_none() || letter.message.run == query.run)
                    && letter.deliver_at <= query.now
                    && !(query.unread && letter.message.read_at.is_some())
            };
            let found = state.mail.of(&query.recipient).filter(wanted);
            found
                .take(query.limit as usize)
                .map(|letter| letter.message.clone())
                .collect()
        })
    }

    fn person_mail<'a>(&'a self, query: &'a PersonMailQuery) -> PortFuture<'a, Vec<Message>> {
        self.read(|state| {
            let person = |id: &AgentId| id.is_user();
            let all = || state.mail.0.iter();
            let wanted = |letter: &&Letter| {
                let message = &letter.message;
                let (came, went) = (person(&message.to), person(&message.from));
                let other = if came { &message.from } else { &message.to };
                let answered = || {
                    all()
                        .map(|letter| &letter.message)
                        .any(|later| answers(message, later) && later.run == message.run)
                };
                let open = came && message.read_at.is_none() && !answered();
                (if came {
                    letter.deliver_at <= query.now
                } else {
                    went
                }) && query.with.as_ref().is_none_or(|with| with == other)
                    && (query.run.is_none() || message.run == query.run)
                    && query.before.is_none_or(|before| message.id < before)
                    && (open || !query.open)
            };
            let found = all().rev().filter(wanted);
            found
                .take(query.limit as usize)
                .map(|letter| letter.message.clone())
                .collect()
        })
    }

    fn message(&self, id: u64) -> PortFuture<'_, Option<Message>> {
        self.read(|state| state.mail.get(id).map(|letter| letter.message.clone()))
    }

    fn next_delivery<'a>(
        &'a self,
        recipient: &'a AgentId,
        now: i64,
    ) -> PortFuture<'a, Option<i64>> {
        self.read(|state| {
            let unread = |letter: &&Letter| letter.message.read_at.is_none();
            let waiting = state.mail.of(recipient).filter(unread);
            waiting
                .map(|letter| letter.deliver_at)
                .filter(|at| *at > now)
                .min()
        })
    }

    fn waiting<'a>(
        &'a self,
        now: i64,
        after: Option<&'a Mailbox>,
        limit: u32,
    ) -> PortFuture<'a, Vec<Mailbox>> {
        self.read(|state| {
            let waits = |letter: &&Letter| {
                letter.message.read_at.is_none()
                    && letter.deliver_at <= now
                    && letter.message.to.as_str() != AgentId::USER
            };
            let all: BTreeSet<Mailbox> = (state.mail.0.iter().filter(waits))
                .map(|letter| Mailbox {
                    run: letter.message.run.clone(),
                    recipient: letter.message.to.clone(),
                })
                .collect();
            all.into_iter()
                .filter(|mailbox| after.is_none_or(|after| mailbox > after))
                .take(limit as usize)
                .collect()
        })
    }

    fn next_delivery_of_any(&self, now: i64) -> PortFuture<'_, Option<i64>> {
        self.read(|state| {
            let unread = |letter: &&Letter| letter.message.read_at.is_none();
            let waiting = state.mail.0.iter().filter(unread);
            waiting
                .map(|letter| letter.deliver_at)
                .filter(|at| *at > now)
                .min()
        })
    }
}
