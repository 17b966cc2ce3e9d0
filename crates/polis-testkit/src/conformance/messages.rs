//! Conformance tests of the store ports, for messages: all fields are stored, numbers are consecutive across
//! mailboxes and in commit order, a message is hidden until its delivery time, and only one changeset can
//! mark it as read.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use polis_core::message::NewMessage;
use polis_core::{RawJson, RecordKey};
use polis_ops::port::{CommitOutcome, MailboxQuery};

use super::board_fixtures::millis_after_start;
use super::field_round_trip::DIFFICULT_TEXT;
use super::record_fixtures::{
    assert_conflict, full_mailbox_query, mark_messages_read, message_numbers, new_message,
    put_record, read_mailbox, read_record, reply_record_name, send_message,
};
use super::store_fixtures::{
    commit_changeset, create_task, empty_changeset, open_store, single_write, snapshot_store,
    task_event, timestamp_after_start,
};
use crate::StoreFactory;
use crate::store_factory::parse_agent_id;

/// Every field of a message is stored, and read through every handle.
pub async fn every_message_field_is_stored(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let plain = new_message("architect", "程序员-2", DIFFICULT_TEXT);
    let payload =
        r#"{"b":1,"a":[1E400,"\u0000 \u00e9 \/ é",{"big":123456789012345678901234567890}]}"#;
    let rich = NewMessage {
        created_at: timestamp_after_start(7),
        deliver_at: millis_after_start(9),
        reply_to: Some(1),
        payload: RawJson::parse(payload).unwrap(),
        ..new_message("程序员-2", "architect", "")
    };
    let receipt = commit_changeset(
        &store,
        single_write(send_message(&plain)).with_write(send_message(&rich)),
    )
    .await;
    assert_eq!(receipt.messages, [1, 2]);
    let (first, second) = (plain.with_id(1), rich.with_id(2));
    assert_eq!(first.deliver_at, None);
    assert_eq!(second.deliver_at, Some(timestamp_after_start(9)));
    assert_eq!(other.message(1).await.unwrap(), Some(first.clone()));
    assert_eq!(other.message(2).await.unwrap(), Some(second.clone()));
    assert_eq!(read_mailbox(&other, "程序员-2").await, [first]);
    assert_eq!(read_mailbox(&other, "architect").await, [second]);
    assert_eq!(read_mailbox(&other, "nobody").await, []);
    for id in [0, 3, u64::MAX] {
        assert_eq!(other.message(id).await.unwrap(), None);
    }
}

/// The longest payload is stored.
pub async fn longest_message_is_stored(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let text = "信".repeat((polis_core::message::MAX_PAYLOAD_BYTES - 2) / 3);
    let long = new_message("a", "b", &text);
    commit_changeset(&store, single_write(send_message(&long))).await;
    let found = store.message(1).await.unwrap().unwrap();
    assert!(found == long.with_id(1), "a long message was changed");
}

/// Messages are numbered consecutively across all mailboxes, and the receipt names the numbers in order: sent
/// concurrently, no number is skipped or assigned twice.
pub async fn message_numbers_are_consecutive(factory: &dyn StoreFactory) {
    let handles = [open_store(factory).await, open_store(factory).await];
    let sending = (0..24_usize).map(|n| {
        let store = Arc::clone(&handles[n % 2]);
        tokio::spawn(async move {
            let texts: Vec<String> = (0..=n % 3).map(|part| format!("{n}.{part}")).collect();
            let mut all = empty_changeset().with_event(task_event(1));
            for text in &texts {
                all.writes.push(send_message(&new_message(
                    "a",
                    &format!("to-{}", n % 4),
                    text,
                )));
            }
            (commit_changeset(&store, all).await, texts)
        })
    });
    let mut numbers = BTreeSet::new();
    for one in sending.collect::<Vec<_>>() {
        let (receipt, texts) = one.await.unwrap();
        assert_eq!(receipt.messages.len(), texts.len());
        let first = receipt.messages[0];
        for (n, text) in receipt.messages.iter().zip(texts) {
            assert!(numbers.insert(*n), "number {n} was assigned twice");
            let found = handles[0].message(*n).await.unwrap().unwrap();
            assert_eq!(found.payload, RawJson::from_value(&text).unwrap());
        }
        let in_a_row: Vec<u64> = (first..).take(receipt.messages.len()).collect();
        assert_eq!(
            receipt.messages, in_a_row,
            "the numbers of one changeset are consecutive"
        );
    }
    assert_eq!(numbers, (1..=48).collect());
    let last = commit_changeset(
        &handles[1],
        single_write(send_message(&new_message("a", "b", "last"))),
    )
    .await;
    assert_eq!(last.messages, [49]);
}

/// Numbers are in commit order: a changeset later in the log has later messages.
pub async fn message_numbers_are_in_commit_order(factory: &dyn StoreFactory) {
    let handles = [open_store(factory).await, open_store(factory).await];
    let sending = (0..24_usize).map(|n| {
        let store = Arc::clone(&handles[n % 2]);
        let all =
            single_write(send_message(&new_message("a", "b", "hello"))).with_event(task_event(1));
        tokio::spawn(async move { commit_changeset(&store, all).await })
    });
    for one in sending.collect::<Vec<_>>() {
        let receipt = one.await.unwrap();
        assert_eq!(receipt.messages, [receipt.sequence]);
    }
}

/// When a message is readable, all messages with smaller numbers are: a mailbox read up to a number never
/// gets a message before it.
pub async fn readable_message_implies_all_earlier_messages(factory: &dyn StoreFactory) {
    const EACH: usize = 30;
    let reader = open_store(factory).await;
    let mut writing = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let store = open_store(factory).await;
        for _ in 0..2 {
            let store = Arc::clone(&store);
            writing.spawn(async move {
                for _ in 0..EACH {
                    commit_changeset(
                        &store,
                        single_write(send_message(&new_message("a", "b", "hello"))),
                    )
                    .await;
                }
            });
        }
    }
    loop {
        let done = writing.is_empty();
        let numbers = message_numbers(&reader, &full_mailbox_query("b")).await;
        assert_eq!(numbers, (1..=numbers.len() as u64).collect::<Vec<_>>());
        if done {
            assert_eq!(numbers.len(), 4 * EACH);
            break;
        }
        while let Some(one) = writing.try_join_next() {
            one.unwrap();
        }
        // A reader that polls without a pause would starve the writers.
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
}

/// A mailbox returns its owner's messages by number: after a number, up to a limit, and only unread ones if
/// requested.
pub async fn mailbox_query_returns_messages_of_owner(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let mut all = empty_changeset();
    for n in 0..20_u64 {
        let to = if n % 2 == 0 { "even" } else { "odd" };
        all.writes
            .push(send_message(&new_message("a", to, &n.to_string())));
    }
    commit_changeset(&store, all).await;
    commit_changeset(&store, single_write(mark_messages_read("odd", &[2, 6, 20]))).await;
    let odd = full_mailbox_query("odd");
    let unread = MailboxQuery {
        unread: true,
        ..odd.clone()
    };
    assert_eq!(
        message_numbers(&store, &odd).await,
        [2, 4, 6, 8, 10, 12, 14, 16, 18, 20]
    );
    assert_eq!(
        message_numbers(&store, &unread).await,
        [4, 8, 10, 12, 14, 16, 18]
    );
    let page = |query: &MailboxQuery, after: u64, limit: u32| MailboxQuery {
        after,
        limit,
        ..query.clone()
    };
    assert_eq!(
        message_numbers(&store, &page(&odd, 6, 3)).await,
        [8, 10, 12]
    );
    assert_eq!(
        message_numbers(&store, &page(&odd, 7, 3)).await,
        [8, 10, 12]
    );
    assert_eq!(message_numbers(&store, &page(&unread, 2, 2)).await, [4, 8]);
    assert_eq!(message_numbers(&store, &page(&unread, 18, 2)).await, [0; 0]);
    assert_eq!(
        message_numbers(&store, &page(&odd, u64::MAX, 2)).await,
        [0; 0]
    );
    assert_eq!(message_numbers(&store, &page(&odd, 0, 0)).await, [0; 0]);
    assert_eq!(
        message_numbers(&store, &full_mailbox_query("even"))
            .await
            .len(),
        10
    );
}

/// Undelivered messages are not returned, and the store knows when the next one is due.
pub async fn message_is_hidden_until_delivery_time(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let me = parse_agent_id("b");
    let mut all = empty_changeset();
    for delay in [30, 10, 0, 20] {
        let late = NewMessage {
            deliver_at: millis_after_start(delay),
            ..new_message("a", "b", "late")
        };
        all.writes.push(send_message(&late));
    }
    commit_changeset(&store, all).await;
    let at = |now: i64| MailboxQuery {
        unread: true,
        now: millis_after_start(now),
        ..full_mailbox_query("b")
    };
    let next = async |now: i64| {
        let next = store
            .next_delivery(&me, millis_after_start(now))
            .await
            .unwrap();
        next.map(|next| next - millis_after_start(0))
    };
    let table: [(i64, &[u64], Option<i64>); 7] = [
        (-1, &[], Some(0)),
        (0, &[3], Some(10)),
        (9, &[3], Some(10)),
        (10, &[2, 3], Some(20)),
        (25, &[2, 3, 4], Some(30)),
        (30, &[1, 2, 3, 4], None),
        (99, &[1, 2, 3, 4], None),
    ];
    for (now, visible, upcoming) in table {
        assert_eq!(message_numbers(&store, &at(now)).await, visible, "at {now}");
        assert_eq!(next(now).await, upcoming, "at {now}");
    }
    // A read message is not waited for. A message can be marked as read before its delivery, given its
    // number.
    commit_changeset(&store, single_write(mark_messages_read("b", &[2, 4]))).await;
    assert_eq!(next(0).await, Some(30));
    assert_eq!(message_numbers(&store, &at(30)).await, [1, 3]);
    assert_eq!(
        store.next_delivery(&parse_agent_id("a"), 0).await.unwrap(),
        None
    );
}

/// A message is marked as read at its changeset's time, and stays in the mailbox.
pub async fn read_message_has_time_of_reading(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    commit_changeset(
        &store,
        single_write(send_message(&new_message("a", "b", "one")))
            .with_write(send_message(&new_message("a", "b", "two"))),
    )
    .await;
    let mut reading = single_write(mark_messages_read("b", &[2])).with_event(task_event(1));
    reading.at = timestamp_after_start(77);
    commit_changeset(&store, reading).await;
    let found = read_mailbox(&other, "b").await;
    assert_eq!(found[0].read_at, None);
    assert_eq!(found[1].read_at, Some(timestamp_after_start(77)));
    assert_eq!(other.message(2).await.unwrap().as_ref(), Some(&found[1]));
    commit_changeset(&store, single_write(mark_messages_read("b", &[]))).await;
    // Naming a message twice has the same effect as naming it once.
    commit_changeset(&store, single_write(mark_messages_read("b", &[1, 1]))).await;
    assert_eq!(
        read_mailbox(&other, "b").await[0].read_at,
        Some(timestamp_after_start(0))
    );
}

/// Marking messages as read conflicts on the first one that is already read, does not exist, or belongs to
/// another mailbox; none of the changeset is applied.
pub async fn marking_read_conflicts_on_first_message_not_unread(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let mut all = empty_changeset();
    for to in ["b", "b", "c", "b"] {
        all.writes
            .push(send_message(&new_message("a", to, "hello")));
    }
    commit_changeset(&store, all).await;
    commit_changeset(&store, single_write(mark_messages_read("b", &[2]))).await;
    let before = snapshot_store(&store).await;
    let cases: [(&[u64], u64); 7] = [
        (&[2], 2),
        (&[3], 3),
        (&[5], 5),
        (&[0], 0),
        (&[1, u64::MAX], u64::MAX),
        (&[1, 3, 2], 3),
        (&[4, 1, 9, 3], 9),
    ];
    for (ids, key) in cases {
        let all = single_write(mark_messages_read("b", ids))
            .with_write(create_task("new"))
            .with_event(task_event(1));
        assert_conflict(&store, all, RecordKey::Message(key)).await;
    }
    // A message sent by the same changeset does not exist yet when its expectations are checked.
    let own = empty_changeset()
        .with_write(send_message(&new_message("a", "b", "own")))
        .with_write(mark_messages_read("b", &[5]));
    assert_conflict(&store, own, RecordKey::Message(5)).await;
    assert_eq!(snapshot_store(&store).await, before);
    commit_changeset(&store, single_write(mark_messages_read("b", &[4, 1]))).await;
}

/// If several changesets mark the same message as read, exactly one is committed.
pub async fn concurrent_reads_of_one_message_one_commits(factory: &dyn StoreFactory) {
    let handles = [open_store(factory).await, open_store(factory).await];
    for round in 1..=8_u64 {
        commit_changeset(
            &handles[0],
            single_write(send_message(&new_message("a", "b", "for one"))),
        )
        .await;
        let rivals = (0..8_usize).map(|n| {
            let store = Arc::clone(&handles[n % 2]);
            let note = put_record(
                &reply_record_name(&format!("{round}.{n}")),
                polis_core::WritePrecondition::Absent,
                "read",
            );
            let all = single_write(mark_messages_read("b", &[round])).with_write(note);
            tokio::spawn(async move { store.commit(all).await.unwrap() })
        });
        let mut winners = Vec::new();
        for (n, rival) in rivals.collect::<Vec<_>>().into_iter().enumerate() {
            match rival.await.unwrap() {
                CommitOutcome::Committed(_) => winners.push(n),
                CommitOutcome::Conflict(key) => assert_eq!(key, RecordKey::Message(round)),
            }
        }
        assert_eq!(winners.len(), 1, "round {round}");
        for n in 0..8 {
            let stored =
                read_record(&handles[1], &reply_record_name(&format!("{round}.{n}"))).await;
            assert_eq!(stored.is_some(), winners.contains(&n));
        }
    }
}
