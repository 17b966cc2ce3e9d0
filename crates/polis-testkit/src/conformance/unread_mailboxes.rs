//! Conformance tests of the store port `MessageReader`: which mailboxes have unread messages that are due for
//! delivery, when the next delivery of any mailbox is due, and the messages of a run.

use polis_core::message::NewMessage;
use polis_ops::port::{MailboxKey, MailboxQuery};

use super::board_fixtures::millis_after_start;
use super::record_fixtures::{
    full_mailbox_query, mark_messages_read, message_numbers, new_message, read_mailbox,
    send_message,
};
use super::store_fixtures::{commit_changeset, empty_changeset, open_store, single_write};
use crate::StoreFactory;
use crate::store_factory::{parse_agent_id, parse_run_id};

/// A message of a run, or of none.
fn message_of_run(run: &str, to: &str) -> NewMessage {
    NewMessage {
        run: (!run.is_empty()).then(|| parse_run_id(run)),
        ..new_message("a", to, "hello")
    }
}

/// A mailbox of a run, or of none.
fn mailbox_of_run(run: &str, recipient: &str) -> MailboxKey {
    MailboxKey {
        run: (!run.is_empty()).then(|| parse_run_id(run)),
        recipient: parse_agent_id(recipient),
    }
}

/// A message keeps its run, and a query for a run returns only the messages of that run.
pub async fn mailbox_query_filters_by_run(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let mut all = empty_changeset();
    for n in 0..24 {
        let run = ["", "one", "two"][n % 3];
        let to = ["root", "user"][(n / 3) % 2];
        all.writes.push(send_message(&message_of_run(run, to)));
    }
    commit_changeset(&store, all).await;
    commit_changeset(&store, single_write(mark_messages_read("root", &[2, 9]))).await;
    commit_changeset(&store, single_write(mark_messages_read("user", &[5]))).await;
    let found = other.message(2).await.unwrap().unwrap();
    assert_eq!(found.run, Some(parse_run_id("one")));
    let json = serde_json::to_value(&found).unwrap();
    assert_eq!(json["taskId"], "one");
    let found = other.message(1).await.unwrap().unwrap();
    assert_eq!(found.run, None);
    let json = serde_json::to_value(&found).unwrap();
    assert!(json.get("taskId").is_none());
    let query = |name: &str, run: &str, unread: bool| MailboxQuery {
        run: Some(parse_run_id(run)),
        unread,
        ..full_mailbox_query(name)
    };
    assert_eq!(
        message_numbers(&other, &query("root", "one", false)).await,
        [2, 8, 14, 20]
    );
    assert_eq!(
        message_numbers(&other, &query("root", "one", true)).await,
        [8, 14, 20]
    );
    assert_eq!(
        message_numbers(&other, &query("root", "two", true)).await,
        [3, 15, 21]
    );
    assert_eq!(
        message_numbers(&other, &query("user", "one", true)).await,
        [11, 17, 23]
    );
    assert_eq!(
        message_numbers(&other, &query("user", "one", false)).await,
        [5, 11, 17, 23]
    );
    assert_eq!(
        message_numbers(&other, &query("user", "three", false)).await,
        [0; 0]
    );
    let page = MailboxQuery {
        after: 8,
        limit: 1,
        ..query("root", "one", true)
    };
    assert_eq!(message_numbers(&other, &page).await, [14]);
    assert_eq!(
        read_mailbox(&other, "root").await.len(),
        12,
        "messages of all runs and of none"
    );
}

/// `unread_mailboxes` returns the mailboxes with unread messages that are delivered by `now`, in order, after
/// `after`, at most `limit`, without the person's mailbox.
pub async fn unread_mailboxes_are_listed_in_order(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let waiting = async |now: i64, after: Option<&MailboxKey>, limit: u32| {
        other.unread_mailboxes(now, after, limit).await.unwrap()
    };
    assert_eq!(waiting(i64::MAX, None, 9).await, []);
    // In order: by run, then by agent, as bytes.
    let all = [
        mailbox_of_run("", "Z"),
        mailbox_of_run("", "b"),
        mailbox_of_run("", "程序员"),
        mailbox_of_run("A", "b"),
        mailbox_of_run("a", "b"),
        mailbox_of_run("a", "root"),
        mailbox_of_run("a-1", "a"),
        mailbox_of_run("b", "root"),
        mailbox_of_run("程序", "Z"),
    ];
    let mut sending = empty_changeset();
    for _ in 0..3 {
        for one in all.iter().rev() {
            let run = one.run.as_ref().map_or("", |run| run.as_str());
            let message = message_of_run(run, one.recipient.as_str());
            sending.writes.push(send_message(&message));
            sending
                .writes
                .push(send_message(&message_of_run(run, "user")));
        }
    }
    commit_changeset(&store, sending).await;
    assert_eq!(waiting(i64::MAX, None, u32::MAX).await, all);
    assert_eq!(waiting(millis_after_start(0), None, u32::MAX).await, all);
    assert_eq!(waiting(millis_after_start(-1), None, u32::MAX).await, []);
    assert_eq!(waiting(i64::MAX, None, 0).await, []);
    for at in 0..all.len() {
        let rest = &all[at + 1..];
        let found = waiting(i64::MAX, Some(&all[at]), 4).await;
        assert_eq!(found, &rest[..rest.len().min(4)]);
    }
    // After a mailbox that is not itself waiting.
    let nobody = mailbox_of_run("a", "c");
    assert_eq!(waiting(i64::MAX, Some(&nobody), 2).await, &all[5..7]);
    // A mailbox stops waiting when its last message is read.
    let ours = MailboxQuery {
        run: Some(parse_run_id("a")),
        ..full_mailbox_query("root")
    };
    let ids = message_numbers(&store, &ours).await;
    assert_eq!(ids.len(), 3);
    commit_changeset(&store, single_write(mark_messages_read("root", &ids[1..]))).await;
    assert_eq!(waiting(i64::MAX, None, u32::MAX).await, all);
    commit_changeset(&store, single_write(mark_messages_read("root", &ids[..1]))).await;
    let left: Vec<MailboxKey> = (all.iter().filter(|one| **one != all[5]))
        .cloned()
        .collect();
    assert_eq!(waiting(i64::MAX, None, u32::MAX).await, left);
}

/// A mailbox is not waiting before a delivery is due, and the store knows when the next delivery of any
/// mailbox is due.
pub async fn mailbox_with_delayed_message_is_not_listed_early(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let mut all = empty_changeset();
    for (run, to, delay) in [
        ("r", "b", 20),
        ("r", "c", 10),
        ("", "b", 30),
        ("r", "user", 5),
    ] {
        all.writes.push(send_message(&NewMessage {
            deliver_at: millis_after_start(delay),
            ..message_of_run(run, to)
        }));
    }
    commit_changeset(&store, all).await;
    let (b, c, outside) = (
        mailbox_of_run("r", "b"),
        mailbox_of_run("r", "c"),
        mailbox_of_run("", "b"),
    );
    let table: [(i64, &[&MailboxKey], Option<i64>); 6] = [
        (0, &[], Some(5)),
        (5, &[], Some(10)),
        (10, &[&c], Some(20)),
        (20, &[&b, &c], Some(30)),
        (29, &[&b, &c], Some(30)),
        (30, &[&outside, &b, &c], None),
    ];
    for (now, expected, upcoming) in table {
        let found = store
            .unread_mailboxes(millis_after_start(now), None, 9)
            .await
            .unwrap();
        assert_eq!(found.iter().collect::<Vec<_>>(), expected, "at {now}");
        let next = store
            .next_delivery_of_any(millis_after_start(now))
            .await
            .unwrap();
        assert_eq!(
            next.map(|next| next - millis_after_start(0)),
            upcoming,
            "at {now}"
        );
    }
    commit_changeset(&store, single_write(mark_messages_read("c", &[2]))).await;
    let next = store
        .next_delivery_of_any(millis_after_start(5))
        .await
        .unwrap();
    assert_eq!(
        next,
        Some(millis_after_start(20)),
        "a read message has no pending delivery"
    );
}
