//! Fixtures for the tests of records, messages and turns.

use std::sync::Arc;

use polis_core::changeset::{Receipt, Write};
use polis_core::message::{Message, NewMessage};
use polis_core::record::{RecordBody, RecordKind, RecordName, Stored};
use polis_core::{Changeset, Expect, Raw, RecordKey};
use polis_ops::port::{MailboxQuery, Outcome, Store, StoredTurn};

use super::board_sample::millis;
use super::sample::moment;
use crate::test_store::{agent, member};

pub(super) fn reply(id: &str) -> RecordName {
    RecordName::new(RecordKind::Reply, id)
}

/// A put of a record that does not expire.
pub(super) fn put(name: &RecordName, expect: Expect, body: &str) -> Write {
    put_until(name, expect, None, body)
}

/// A put of a record.
pub(super) fn put_until(
    name: &RecordName,
    expect: Expect,
    expires_at: Option<i64>,
    body: &str,
) -> Write {
    Write::PutRecord {
        name: name.clone(),
        expect,
        expires_at,
        body: RecordBody::Text(body.to_owned()),
    }
}

/// A put of a new record with the complete receipt as its body.
pub(super) fn put_receipt(name: &RecordName) -> Write {
    Write::PutRecord {
        name: name.clone(),
        expect: Expect::Absent,
        expires_at: None,
        body: RecordBody::OfReceipt(Arc::new(receipt_text)),
    }
}

/// Formats the complete receipt.
pub(super) fn receipt_text(receipt: &Receipt) -> String {
    format!("{receipt:?}")
}

pub(super) fn delete(name: &RecordName, expect: Expect) -> Write {
    Write::DeleteRecord {
        name: name.clone(),
        expect,
    }
}

pub(super) fn forget(kind: RecordKind, at: i64) -> Write {
    Write::ForgetRecords { kind, before: at }
}

/// Returns a record's revision and body, if it exists.
pub(super) async fn stored(store: &Arc<dyn Store>, name: &RecordName) -> Option<(u64, String)> {
    let found = store.record(name).await.unwrap()?;
    assert_eq!(found.id, name.id);
    Some((found.revision, found.body))
}

/// Returns the records of a kind.
pub(super) async fn all_of(store: &Arc<dyn Store>, kind: RecordKind) -> Vec<Stored> {
    store.records(kind, None, u32::MAX).await.unwrap()
}

/// A message that is delivered immediately.
pub(super) fn letter(from: &str, to: &str, text: &str) -> NewMessage {
    NewMessage {
        from: agent(from),
        to: agent(to),
        created_at: moment(0),
        deliver_at: millis(0),
        reply_to: None,
        run: None,
        payload: Raw::of(&text).unwrap(),
    }
}

pub(super) fn send(message: &NewMessage) -> Write {
    Write::SendMessage(Box::new(message.clone()))
}

pub(super) fn mark_read(recipient: &str, ids: &[u64]) -> Write {
    Write::ReadMessages {
        recipient: agent(recipient),
        ids: ids.to_vec(),
    }
}

/// A query for a complete mailbox.
pub(super) fn whole_mailbox(of: &str) -> MailboxQuery {
    MailboxQuery {
        recipient: agent(of),
        run: None,
        unread: false,
        now: i64::MAX,
        after: 0,
        limit: u32::MAX,
    }
}

/// Returns all messages of a mailbox.
pub(super) async fn mailbox(store: &Arc<dyn Store>, of: &str) -> Vec<Message> {
    store.mailbox(&whole_mailbox(of)).await.unwrap()
}

/// Returns the numbers of the messages that a query finds.
pub(super) async fn numbers(store: &Arc<dyn Store>, query: &MailboxQuery) -> Vec<u64> {
    let found = store.mailbox(query).await.unwrap();
    found.into_iter().map(|message| message.id).collect()
}

pub(super) fn append(member: &str, turn: u64, body: &str) -> Write {
    Write::AppendTurn {
        member: member.to_owned(),
        turn,
        body: RecordBody::Text(body.to_owned()),
    }
}

pub(super) fn turn_of(turn: u64, body: &str) -> StoredTurn {
    StoredTurn {
        turn,
        body: body.to_owned(),
    }
}

/// Returns turns of a conversation.
pub(super) async fn turns_of(
    store: &Arc<dyn Store>,
    of: &str,
    from: u64,
    limit: u32,
) -> Vec<StoredTurn> {
    store.turns(&member(of), from, limit).await.unwrap()
}

/// Commits a changeset that must conflict on this key.
pub(super) async fn conflicts(store: &Arc<dyn Store>, changes: Changeset, key: RecordKey) {
    let outcome = store.commit(changes).await.unwrap();
    assert_eq!(outcome, Outcome::Conflict(key));
}
