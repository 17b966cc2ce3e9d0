//! Port guarantees: which mailboxes have deliverable messages, and the messages of runs.

use polis_core::message::NewMessage;
use polis_ops::port::{Mailbox, MailboxQuery};

use super::board_sample::millis;
use super::plain_sample::{letter, mailbox, mark_read, numbers, send, whole_mailbox};
use super::sample::{changes, commit, only, open};
use crate::Ground;
use crate::test_store::{agent, run_named};

/// A message of a run, or of none.
fn of_run(run: &str, to: &str) -> NewMessage {
    NewMessage {
        run: (!run.is_empty()).then(|| run_named(run)),
        ..letter("a", to, "hello")
    }
}

/// A mailbox of a run, or of none.
fn mailbox_of(run: &str, recipient: &str) -> Mailbox {
    Mailbox {
        run: (!run.is_empty()).then(|| run_named(run)),
        recipient: agent(recipient),
    }
}

/// A message keeps its run, and a query for a run returns only the messages of that run.
pub async fn the_messages_of_a_run_are_read(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let mut all = changes();
    for n in 0..24 {
        let run = ["", "one", "two"][n % 3];
        let to = ["root", "user"][(n / 3) % 2];
        all.writes.push(send(&of_run(run, to)));
    }
    commit(&store, all).await;
    commit(&store, only(mark_read("root", &[2, 9]))).await;
    commit(&store, only(mark_read("user", &[5]))).await;
    let found = other.message(2).await.unwrap().unwrap();
    assert_eq!(found.run, Some(run_named("one")));
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["taskId"], "one");
    let found = other.message(1).await.unwrap().unwrap();
    assert_eq!(found.run, None);
    let json = serde_json::to_value(&found).unwrap();
    assert!(json.get("taskId").is_none());
    let of = |name: &str, run: &str, unread: bool| MailboxQuery {
        run: Some(run_named(run)),
        unread,
        ..whole_mailbox(name)
    };
    assert_eq!(
        numbers(&other, &of("root", "one", false)).await,
        [2, 8, 14, 20]
    );
    assert_eq!(numbers(&other, &of("root", "one", true)).await, [8, 14, 20]);
    assert_eq!(numbers(&other, &of("root", "two", true)).await, [3, 15, 21]);
    assert_eq!(
        numbers(&other, &of("user", "one", true)).await,
        [11, 17, 23]
    );
    assert_eq!(
        numbers(&other, &of("user", "one", false)).await,
        [5, 11, 17, 23]
    );
    assert_eq!(numbers(&other, &of("user", "three", false)).await, [0; 0]);
    let page = MailboxQuery {
        after: 8,
        limit: 1,
        ..of("root", "one", true)
    };
    assert_eq!(numbers(&other, &page).await, [14]);
    assert_eq!(
        mailbox(&other, "root").await.len(),
        12,
        "of all runs and none"
    );
}

/// `waiting` returns the mailboxes with unread messages that are delivered by `now`, in order, after `after`,
/// at most `limit`, without the user's mailbox.
pub async fn mailboxes_that_wait_are_told_in_order(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let waiting = async |now: i64, after: Option<&Mailbox>, limit: u32| {
        other.waiting(now, after, limit).await.unwrap()
    };
    assert_eq!(waiting(i64::MAX, None, 9).await, []);
    // In order: by run, then by agent, as bytes.
    let all = [
        mailbox_of("", "Z"),
        mailbox_of("", "b"),
        mailbox_of("", "程序员"),
        mailbox_of("A", "b"),
        mailbox_of("a", "b"),
        mailbox_of("a", "root"),
        mailbox_of("a-1", "a"),
        mailbox_of("b", "root"),
        mailbox_of("程序", "Z"),
    ];
    let mut sending = changes();
    for _ in 0..3 {
        for one in all.iter().rev() {
            let run = one.run.as_ref().map_or("", |run| run.as_str());
            let letter = of_run(run, one.recipient.as_str());
            sending.writes.push(send(&letter));
            sending.writes.push(send(&of_run(run, "user")));
        }
    }
    commit(&store, sending).await;
    assert_eq!(waiting(i64::MAX, None, u32::MAX).await, all);
    assert_eq!(waiting(millis(0), None, u32::MAX).await, all);
    assert_eq!(waiting(millis(-1), None, u32::MAX).await, []);
    assert_eq!(waiting(i64::MAX, None, 0).await, []);
    for at in 0..all.len() {
        let rest = &all[at + 1..];
        let found = waiting(i64::MAX, Some(&all[at]), 4).await;
        assert_eq!(found, &rest[..rest.len().min(4)]);
    }
    // After a mailbox that is not itself waiting.
    let nobody = mailbox_of("a", "c");
    assert_eq!(waiting(i64::MAX, Some(&nobody), 2).await, &all[5..7]);
    // A mailbox stops waiting when its last message is read.
    let ours = MailboxQuery {
        run: Some(run_named("a")),
        ..whole_mailbox("root")
    };
    let ids = numbers(&store, &ours).await;
    assert_eq!(ids.len(), 3);
    commit(&store, only(mark_read("root", &ids[1..]))).await;
    assert_eq!(waiting(i64::MAX, None, u32::MAX).await, all);
    commit(&store, only(mark_read("root", &ids[..1]))).await;
    let left: Vec<Mailbox> = (all.iter().filter(|one| **one != all[5]))
        .cloned()
        .collect();
    assert_eq!(waiting(i64::MAX, None, u32::MAX).await, left);
}

/// A mailbox is not waiting before a delivery is due, and the store knows when the next delivery of any
/// mailbox is due.
pub async fn a_delayed_message_wakes_nobody_early(ground: &dyn Ground) {
    let store = open(ground).await;
    let mut all = changes();
    for (run, to, delay) in [
        ("r", "b", 20),
        ("r", "c", 10),
        ("", "b", 30),
        ("r", "user", 5),
    ] {
        all.writes.push(send(&NewMessage {
            deliver_at: millis(delay),
            ..of_run(run, to)
        }));
    }
    commit(&store, all).await;
    let (b, c, outside) = (
        mailbox_of("r", "b"),
        mailbox_of("r", "c"),
        mailbox_of("", "b"),
    );
    let table: [(i64, &[&Mailbox], Option<i64>); 6] = [
        (0, &[], Some(5)),
        (5, &[], Some(10)),
        (10, &[&c], Some(20)),
        (20, &[&b, &c], Some(30)),
        (29, &[&b, &c], Some(30)),
        (30, &[&outside, &b, &c], None),
    ];
    for (now, expected, coming) in table {
        let found = store.waiting(millis(now), None, 9).await.unwrap();
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "at {now}");
        let next = store.next_delivery_of_any(millis(now)).await.unwrap();
        assert_eq!(next.map(|next| next - millis(0)), coming, "at {now}");
    }
    commit(&store, only(mark_read("c", &[2]))).await;
    let next = store.next_delivery_of_any(millis(5)).await.unwrap();
    assert_eq!(next, Some(millis(20)), "one that is read is not waited for");
}
