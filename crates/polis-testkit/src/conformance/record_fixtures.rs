//! Helpers of the store conformance tests for generic records, messages and conversation turns: they build
//! writes and queries, read from the store under test, and assert that a commit conflicts.

use std::sync::Arc;

use polis_core::changeset::{Receipt, StoreWrite};
use polis_core::message::{Message, NewMessage};
use polis_core::record::{RecordBody, RecordKind, RecordName, StoredRecord};
use polis_core::{Changeset, RawJson, RecordKey, WritePrecondition};
use polis_ops::port::{CommitOutcome, MailboxQuery, Store, StoredTurn};

use super::board_fixtures::millis_after_start;
use super::store_fixtures::timestamp_after_start;
use crate::store_factory::{parse_agent_id, parse_member_key};

pub(super) fn reply_record_name(id: &str) -> RecordName {
    RecordName::new(RecordKind::IdempotencyResponse, id)
}

/// A put of a record that does not expire.
pub(super) fn put_record(name: &RecordName, expect: WritePrecondition, body: &str) -> StoreWrite {
    put_expiring_record(name, expect, None, body)
}

/// A put of a record.
pub(super) fn put_expiring_record(
    name: &RecordName,
    expect: WritePrecondition,
    expires_at: Option<i64>,
    body: &str,
) -> StoreWrite {
    StoreWrite::PutRecord {
        name: name.clone(),
        expect,
        expires_at,
        body: RecordBody::Text(body.to_owned()),
    }
}

/// A put of a new record with the complete receipt as its body.
pub(super) fn put_receipt_record(name: &RecordName) -> StoreWrite {
    StoreWrite::PutRecord {
        name: name.clone(),
        expect: WritePrecondition::Absent,
        expires_at: None,
        body: RecordBody::FromReceipt(Arc::new(format_receipt)),
    }
}

/// Formats the complete receipt.
pub(super) fn format_receipt(receipt: &Receipt) -> String {
    format!("{receipt:?}")
}

pub(super) fn delete_record(name: &RecordName, expect: WritePrecondition) -> StoreWrite {
    StoreWrite::DeleteRecord {
        name: name.clone(),
        expect,
    }
}

pub(super) fn delete_expired_records(kind: RecordKind, at: i64) -> StoreWrite {
    StoreWrite::DeleteExpiredRecords { kind, before: at }
}

/// Returns a record's revision and body, if it exists.
pub(super) async fn read_record(
    store: &Arc<dyn Store>,
    name: &RecordName,
) -> Option<(u64, String)> {
    let found = store.record(name).await.unwrap()?;
    assert_eq!(found.id, name.id);
    Some((found.revision, found.body))
}

/// Returns the records of a kind.
pub(super) async fn list_records(store: &Arc<dyn Store>, kind: RecordKind) -> Vec<StoredRecord> {
    store.records(kind, None, u32::MAX).await.unwrap()
}

/// A message that is delivered immediately.
pub(super) fn new_message(from: &str, to: &str, text: &str) -> NewMessage {
    NewMessage {
        from: parse_agent_id(from),
        to: parse_agent_id(to),
        created_at: timestamp_after_start(0),
        deliver_at: millis_after_start(0),
        reply_to: None,
        run: None,
        payload: RawJson::from_value(&text).unwrap(),
    }
}

pub(super) fn send_message(message: &NewMessage) -> StoreWrite {
    StoreWrite::SendMessage(Box::new(message.clone()))
}

pub(super) fn mark_messages_read(recipient: &str, ids: &[u64]) -> StoreWrite {
    StoreWrite::ReadMessages {
        recipient: parse_agent_id(recipient),
        ids: ids.to_vec(),
    }
}

/// A query for a complete mailbox.
pub(super) fn full_mailbox_query(recipient: &str) -> MailboxQuery {
    MailboxQuery {
        recipient: parse_agent_id(recipient),
        run: None,
        unread: false,
        now: i64::MAX,
        after: 0,
        limit: u32::MAX,
    }
}

/// Returns all messages of a mailbox.
pub(super) async fn read_mailbox(store: &Arc<dyn Store>, recipient: &str) -> Vec<Message> {
    store.mailbox(&full_mailbox_query(recipient)).await.unwrap()
}

/// Returns the numbers of the messages that a query finds.
pub(super) async fn message_numbers(store: &Arc<dyn Store>, query: &MailboxQuery) -> Vec<u64> {
    let found = store.mailbox(query).await.unwrap();
    found.into_iter().map(|message| message.id).collect()
}

pub(super) fn append_turn(member: &str, turn: u64, body: &str) -> StoreWrite {
    StoreWrite::AppendTurn {
        member: member.to_owned(),
        turn,
        body: RecordBody::Text(body.to_owned()),
    }
}

pub(super) fn stored_turn(turn: u64, body: &str) -> StoredTurn {
    StoredTurn {
        turn,
        body: body.to_owned(),
    }
}

/// Returns turns of a conversation.
pub(super) async fn read_turns(
    store: &Arc<dyn Store>,
    member: &str,
    from: u64,
    limit: u32,
) -> Vec<StoredTurn> {
    store
        .turns(&parse_member_key(member), from, limit)
        .await
        .unwrap()
}

/// Commits a changeset that must conflict on this key.
pub(super) async fn assert_conflict(store: &Arc<dyn Store>, changes: Changeset, key: RecordKey) {
    let outcome = store.commit(changes).await.unwrap();
    assert_eq!(outcome, CommitOutcome::Conflict(key));
}
