//! Port guarantees: numbering, delivery, reading and storage of messages.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use polis_core::message::NewMessage;
use polis_core::{Raw, RecordKey};
use polis_ops::port::{MailboxQuery, Outcome};

use super::board_sample::millis;
use super::plain_sample::{
    conflicts, letter, mailbox, mark_read, numbers, put, reply, send, stored, whole_mailbox,
};
use super::records::HARD;
use super::sample::{changes, commit, contents, create, event, moment, only, open};
use crate::Ground;
use crate::test_store::agent;

/// Every field of a message is stored, and read through every handle.
pub async fn every_field_of_a_message_is_kept(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let plain = letter("architect", "程序员-2", HARD);
    let payload =
        r#"{"b":1,"a":[1E400,"\u0000 \u00e9 \/ é",{"big":123456789012345678901234567890}]}"#;
    let rich = NewMessage {
        created_at: moment(7),
        deliver_at: millis(9),
        reply_to: Some(1),
        payload: Raw::parse(payload).unwrap(),
        ..letter("程序员-2", "architect", "")
    };
    let receipt = commit(&store, only(send(&plain)).write(send(&rich))).await;
    assert_eq!(receipt.messages, [1, 2]);
    let (first, second) = (plain.numbered(1), rich.numbered(2));
    assert_eq!(first.deliver_at, None);
    assert_eq!(second.deliver_at, Some(moment(9)));
    assert_eq!(other.message(1).await.unwrap(), Some(first.clone()));
    assert_eq!(other.message(2).await.unwrap(), Some(second.clone()));
    assert_eq!(mailbox(&other, "程序员-2").await, [first]);
    assert_eq!(mailbox(&other, "architect").await, [second]);
    assert_eq!(mailbox(&other, "nobody").await, []);
    for id in [0, 3, u64::MAX] {
        assert_eq!(other.message(id).await.unwrap(), None);
    }
}

/// The longest payload is stored.
pub async fn the_longest_message_is_kept(ground: &dyn Ground) {
    let store = open(ground).await;
    let text = "信".repeat((polis_core::message::MAX_PAYLOAD - 2) / 3);
    let long = letter("a", "b", &text);
    commit(&store, only(send(&long))).await;
    let found = store.message(1).await.unwrap().unwrap();
    assert!(found == long.numbered(1), "a long message was changed");
}

/// Messages are numbered consecutively across all mailboxes, and the receipt names the numbers in order: sent
/// concurrently, no number is skipped or assigned twice.
pub async fn messages_are_numbered_one_after_another(ground: &dyn Ground) {
    let handles = [open(ground).await, open(ground).await];
    let sending = (0..24_usize).map(|n| {
        let store = Arc::clone(&handles[n % 2]);
        tokio::spawn(async move {
            let texts: Vec<String> = (0..=n % 3).map(|part| format!("{n}.{part}")).collect();
            let mut all = changes().event(event(1));
            for text in &texts {
                all.writes
                    .push(send(&letter("a", &format!("to-{}", n % 4), text)));
            }
            (commit(&store, all).await, texts)
        })
    });
    let mut given = BTreeSet::new();
    for one in sending.collect::<Vec<_>>() {
        let (receipt, texts) = one.await.unwrap();
        assert_eq!(receipt.messages.len(), texts.len());
        let first = receipt.messages[0];
        for (n, text) in receipt.messages.iter().zip(texts) {
            assert!(given.insert(*n), "{n} was given twice");
            let found = handles[0].message(*n).await.unwrap().unwrap();
            assert_eq!(found.payload, Raw::of(&text).unwrap());
        }
        let in_a_row: Vec<u64> = (first..).take(receipt.messages.len()).collect();
        assert_eq!(receipt.messages, in_a_row, "one changeset's are in a row");
    }
    assert_eq!(given, (1..=48).collect());
    let last = commit(&handles[1], only(send(&letter("a", "b", "last")))).await;
    assert_eq!(last.messages, [49]);
}

/// Numbers are in commit order: a changeset later in the log has later messages.
pub async fn messages_are_numbered_in_commit_order(ground: &dyn Ground) {
    let handles = [open(ground).await, open(ground).await];
    let sending = (0..24_usize).map(|n| {
        let store = Arc::clone(&handles[n % 2]);
        let all = only(send(&letter("a", "b", "hello"))).event(event(1));
        tokio::spawn(async move { commit(&store, all).await })
    });
    for one in sending.collect::<Vec<_>>() {
        let receipt = one.await.unwrap();
        assert_eq!(receipt.messages, [receipt.sequence]);
    }
}

/// When a message is readable, all messages with smaller numbers are: a mailbox read up to a number never
/// gets a message before it.
pub async fn a_readable_message_is_preceded_by_all_earlier_ones(ground: &dyn Ground) {
    const EACH: usize = 30;
    let reader = open(ground).await;
    let mut writing = tokio::task::JoinSet::new();
    for _ in 0..2 {
        let store = open(ground).await;
        for _ in 0..2 {
            let store = Arc::clone(&store);
            writing.spawn(async move {
                for _ in 0..EACH {
                    commit(&store, only(send(&letter("a", "b", "hello")))).await;
                }
            });
        }
    }
    loop {
        let done = writing.is_empty();
        let seen = numbers(&reader, &whole_mailbox("b")).await;
        assert_eq!(seen, (1..=seen.len() as u64).collect::<Vec<_>>());
        if done {
            assert_eq!(seen.len(), 4 * EACH);
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
pub async fn a_mailbox_has_its_owners_messages(ground: &dyn Ground) {
    let store = open(ground).await;
    let mut all = changes();
    for n in 0..20_u64 {
        let to = if n % 2 == 0 { "even" } else { "odd" };
        all.writes.push(send(&letter("a", to, &n.to_string())));
    }
    commit(&store, all).await;
    commit(&store, only(mark_read("odd", &[2, 6, 20]))).await;
    let odd = whole_mailbox("odd");
    let unread = MailboxQuery {
        unread: true,
        ..odd.clone()
    };
    assert_eq!(
        numbers(&store, &odd).await,
        [2, 4, 6, 8, 10, 12, 14, 16, 18, 20]
    );
    assert_eq!(numbers(&store, &unread).await, [4, 8, 10, 12, 14, 16, 18]);
    let page = |query: &MailboxQuery, after: u64, limit: u32| MailboxQuery {
        after,
        limit,
        ..query.clone()
    };
    assert_eq!(numbers(&store, &page(&odd, 6, 3)).await, [8, 10, 12]);
    assert_eq!(numbers(&store, &page(&odd, 7, 3)).await, [8, 10, 12]);
    assert_eq!(numbers(&store, &page(&unread, 2, 2)).await, [4, 8]);
    assert_eq!(numbers(&store, &page(&unread, 18, 2)).await, [0; 0]);
    assert_eq!(numbers(&store, &page(&odd, u64::MAX, 2)).await, [0; 0]);
    assert_eq!(numbers(&store, &page(&odd, 0, 0)).await, [0; 0]);
    assert_eq!(numbers(&store, &whole_mailbox("even")).await.len(), 10);
}

/// Undelivered messages are not returned, and the store knows when the next one is due.
pub async fn a_message_is_seen_from_its_delivery_on(ground: &dyn Ground) {
    let store = open(ground).await;
    let me = agent("b");
    let mut all = changes();
    for delay in [30, 10, 0, 20] {
        let late = NewMessage {
            deliver_at: millis(delay),
            ..letter("a", "b", "late")
        };
        all.writes.push(send(&late));
    }
    commit(&store, all).await;
    let at = |now: i64| MailboxQuery {
        unread: true,
        now: millis(now),
        ..whole_mailbox("b")
    };
    let next = async |now: i64| {
        let next = store.next_delivery(&me, millis(now)).await.unwrap();
        next.map(|next| next - millis(0))
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
    for (now, seen, coming) in table {
        assert_eq!(numbers(&store, &at(now)).await, seen, "at {now}");
        assert_eq!(next(now).await, coming, "at {now}");
    }
    // A read message is not waited for. A message can be marked as read before its delivery, given its
    // number.
    commit(&store, only(mark_read("b", &[2, 4]))).await;
    assert_eq!(next(0).await, Some(30));
    assert_eq!(numbers(&store, &at(30)).await, [1, 3]);
    assert_eq!(store.next_delivery(&agent("a"), 0).await.unwrap(), None);
}

/// A message is marked as read at its changeset's time, and stays in the mailbox.
pub async fn a_read_message_says_when(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    commit(
        &store,
        only(send(&letter("a", "b", "one"))).write(send(&letter("a", "b", "two"))),
    )
    .await;
    let mut reading = only(mark_read("b", &[2])).event(event(1));
    reading.at = moment(77);
    commit(&store, reading).await;
    let found = mailbox(&other, "b").await;
    assert_eq!(found[0].read_at, None);
    assert_eq!(found[1].read_at, Some(moment(77)));
    assert_eq!(other.message(2).await.unwrap().as_ref(), Some(&found[1]));
    commit(&store, only(mark_read("b", &[]))).await;
    // Naming a message twice has the same effect as naming it once.
    commit(&store, only(mark_read("b", &[1, 1]))).await;
    assert_eq!(mailbox(&other, "b").await[0].read_at, Some(moment(0)));
}

/// Marking messages as read conflicts on the first one that is already read, does not exist, or belongs to
/// another mailbox; none of the changeset is applied.
pub async fn reading_conflicts_with_the_first_that_is_not_unread(ground: &dyn Ground) {
    let store = open(ground).await;
    let mut all = changes();
    for to in ["b", "b", "c", "b"] {
        all.writes.push(send(&letter("a", to, "hello")));
    }
    commit(&store, all).await;
    commit(&store, only(mark_read("b", &[2]))).await;
    let before = contents(&store).await;
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
        let all = only(mark_read("b", ids))
            .write(create("new"))
            .event(event(1));
        conflicts(&store, all, RecordKey::Message(key)).await;
    }
    // A message sent by the same changeset does not exist yet when its expectations are checked.
    let own = changes()
        .write(send(&letter("a", "b", "own")))
        .write(mark_read("b", &[5]));
    conflicts(&store, own, RecordKey::Message(5)).await;
    assert_eq!(contents(&store).await, before);
    commit(&store, only(mark_read("b", &[4, 1]))).await;
}

/// If several changesets mark the same message as read, exactly one is committed.
pub async fn of_readers_of_a_message_one_is_committed(ground: &dyn Ground) {
    let handles = [open(ground).await, open(ground).await];
    for round in 1..=8_u64 {
        commit(&handles[0], only(send(&letter("a", "b", "for one")))).await;
        let rivals = (0..8_usize).map(|n| {
            let store = Arc::clone(&handles[n % 2]);
            let note = put(
                &reply(&format!("{round}.{n}")),
                polis_core::Expect::Absent,
                "read",
            );
            let all = only(mark_read("b", &[round])).write(note);
            tokio::spawn(async move { store.commit(all).await.unwrap() })
        });
        let mut won = Vec::new();
        for (n, rival) in rivals.collect::<Vec<_>>().into_iter().enumerate() {
            match rival.await.unwrap() {
                Outcome::Committed(_) => won.push(n),
                Outcome::Conflict(key) => assert_eq!(key, RecordKey::Message(round)),
            }
        }
        assert_eq!(won.len(), 1, "round {round}");
        for n in 0..8 {
            let noted = stored(&handles[1], &reply(&format!("{round}.{n}"))).await;
            assert_eq!(noted.is_some(), won.contains(&n));
        }
    }
}
