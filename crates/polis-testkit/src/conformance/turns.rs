//! Conformance tests for conversations: turns are appended and read, also by competing store handles. A turn is
//! what one commit adds to the conversation of a member.

use std::sync::Arc;

use polis_core::changeset::StoreWrite;
use polis_core::record::{RecordBody, RecordKind, RecordName};
use polis_core::{RecordKey, WritePrecondition};
use polis_ops::port::{CommitOutcome, Store};

use super::field_round_trip::DIFFICULT_TEXT;
use super::record_fixtures::{
    append_turn, assert_conflict, format_receipt, mark_messages_read, new_message,
    put_receipt_record, put_record, read_record, read_turns, reply_record_name, send_message,
    stored_turn,
};
use super::store_fixtures::{
    commit_changeset, create_task, empty_changeset, open_store, single_write, snapshot_store,
    task_event,
};
use crate::StoreFactory;
use crate::store_factory::parse_member_key;

/// The key that a conflicting turn reports.
fn turn_key(member: &str, turn: u64) -> RecordKey {
    RecordKey::Turn {
        member: member.to_owned(),
        turn,
    }
}

/// A turn's body is stored unchanged at any length, and read through every handle.
pub async fn turn_body_is_stored_unchanged(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let bodies = [
        DIFFICULT_TEXT.to_owned(),
        String::new(),
        "话".repeat(1 << 20),
    ];
    for (turn, body) in (0..).zip(&bodies) {
        commit_changeset(&store, single_write(append_turn("run/程序员", turn, body))).await;
    }
    let found = read_turns(&other, "run/程序员", 0, u32::MAX).await;
    assert_eq!(found.len(), bodies.len());
    for ((turn, body), found) in (0..).zip(&bodies).zip(&found) {
        assert_eq!(found.turn, turn);
        assert!(found.body == *body, "turn {turn} was changed");
    }
    let last = i64::MAX.unsigned_abs();
    commit_changeset(
        &store,
        single_write(append_turn("run/程序员", last, "the last there can be")),
    )
    .await;
    let found = other
        .last_turns(&parse_member_key("run/程序员"), 1)
        .await
        .unwrap();
    assert_eq!(found, [stored_turn(last, "the last there can be")]);
}

/// `turns` returns the turns of a conversation by number, from a given one, at most `limit`; only those of
/// this member, even if others have similar names.
pub async fn turns_are_read_in_number_order(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let names = [
        "run/a",
        "run/ab",
        "run/A",
        "run-2/a",
        "ru/n",
        "run/root",
        "run-2/root",
    ];
    // In arbitrary order.
    for turn in [3, 0, 10, 2, 1, 100] {
        for member in names {
            commit_changeset(
                &store,
                single_write(append_turn(member, turn, &format!("{member} {turn}"))),
            )
            .await;
        }
    }
    let numbers = async |member: &str, from: u64, limit: u32| -> Vec<u64> {
        let found = read_turns(&store, member, from, limit).await;
        for one in &found {
            assert_eq!(one.body, format!("{member} {}", one.turn));
        }
        found.into_iter().map(|one| one.turn).collect()
    };
    for member in names {
        assert_eq!(numbers(member, 0, u32::MAX).await, [0, 1, 2, 3, 10, 100]);
        assert_eq!(numbers(member, 2, 3).await, [2, 3, 10]);
        assert_eq!(numbers(member, 4, 9).await, [10, 100]);
        assert_eq!(numbers(member, 101, 9).await, [0; 0]);
        assert_eq!(numbers(member, u64::MAX, 9).await, [0; 0]);
        assert_eq!(numbers(member, 0, 0).await, [0; 0]);
    }
    assert_eq!(numbers("run/b", 0, u32::MAX).await, [0; 0]);
}

/// `last_turns` returns the newest turns of a conversation, at most `limit`, by number.
pub async fn last_turns_returns_newest_turns(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    for turn in 0..12 {
        commit_changeset(&store, single_write(append_turn("run/a", turn, "a"))).await;
        commit_changeset(&store, single_write(append_turn("run/b", turn * 2, "b"))).await;
    }
    let newest = async |member: &str, limit: u32| -> Vec<u64> {
        let found = store
            .last_turns(&parse_member_key(member), limit)
            .await
            .unwrap();
        found.into_iter().map(|one| one.turn).collect()
    };
    assert_eq!(newest("run/a", 3).await, [9, 10, 11]);
    assert_eq!(newest("run/b", 2).await, [20, 22]);
    assert_eq!(newest("run/b", 0).await, [0; 0]);
    assert_eq!(newest("run/a", 99).await, (0..12).collect::<Vec<_>>());
    assert_eq!(newest("run/c", 3).await, [0; 0]);
}

/// Appending a turn number that exists is a conflict, also within the same changeset, and none of the
/// changeset is applied.
pub async fn append_of_existing_turn_conflicts(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let first = single_write(append_turn("run/a", 0, "first"))
        .with_write(append_turn("run/a", 1, "second"));
    commit_changeset(&store, first).await;
    let before = snapshot_store(&store).await;
    for turn in [0, 1] {
        let all = single_write(create_task("new"))
            .with_write(append_turn("run/a", 2, "third"))
            .with_write(append_turn("run/a", turn, "again"))
            .with_event(task_event(1));
        assert_conflict(&other, all, turn_key("run/a", turn)).await;
    }
    let twice = single_write(append_turn("run/a", 2, "third"))
        .with_write(append_turn("run/b", 2, "third"))
        .with_write(append_turn("run/a", 2, "third"));
    assert_conflict(&other, twice, turn_key("run/a", 2)).await;
    assert_eq!(snapshot_store(&store).await, before);
    commit_changeset(&other, single_write(append_turn("run/a", 2, "third"))).await;
}

/// A member's step is one changeset: marks its messages as read, appends its turn, rewrites its state. If any
/// of them was changed concurrently, none of it is applied.
pub async fn member_step_is_committed_atomically(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let state = RecordName::new(RecordKind::MemberState, "run/a");
    commit_changeset(
        &store,
        single_write(put_record(&state, WritePrecondition::Absent, "0")),
    )
    .await;
    for _ in 0..3 {
        commit_changeset(
            &store,
            single_write(send_message(&new_message("b", "a", "hello"))),
        )
        .await;
    }
    let step = |message: u64, turn: u64, revision: u64| {
        single_write(mark_messages_read("a", &[message]))
            .with_write(append_turn("run/a", turn, &message.to_string()))
            .with_write(put_record(
                &state,
                WritePrecondition::Revision(revision),
                "1",
            ))
    };
    commit_changeset(&store, step(1, 0, 1)).await;
    let before = snapshot_store(&store).await;
    let cases = [
        (step(1, 1, 2), RecordKey::Message(1)),
        (step(2, 0, 2), turn_key("run/a", 0)),
        (step(2, 1, 1), RecordKey::Record(state.clone())),
    ];
    for (late, conflict) in cases {
        assert_conflict(&other, late, conflict).await;
    }
    assert_eq!(snapshot_store(&store).await, before);
    commit_changeset(&other, step(2, 1, 2)).await;
    commit_changeset(&store, step(3, 2, 3)).await;
    let found = read_turns(&other, "run/a", 0, 9).await;
    assert_eq!(
        found,
        [
            stored_turn(0, "1"),
            stored_turn(1, "2"),
            stored_turn(2, "3")
        ]
    );
    assert_eq!(read_record(&other, &state).await, Some((4, "1".to_owned())));
}

/// A turn's body may be computed from the receipt of its own commit, like the bodies of records in the same
/// commit.
pub async fn turn_body_can_contain_complete_receipt(factory: &dyn StoreFactory) {
    let handles = [open_store(factory).await, open_store(factory).await];
    let asking = (0..32_u64).map(|n| {
        let store = Arc::clone(&handles[usize::from(n % 2 == 0)]);
        let name = reply_record_name(&format!("answer {n}"));
        let all = empty_changeset()
            .with_write(create_task(&n.to_string()))
            .with_write(send_message(&new_message("a", "b", &n.to_string())))
            .with_write(put_receipt_record(&name))
            .with_write(StoreWrite::AppendTurn {
                member: "run/a".to_owned(),
                turn: n,
                body: RecordBody::FromReceipt(Arc::new(format_receipt)),
            })
            .with_event(task_event(1));
        tokio::spawn(async move { (n, name, commit_changeset(&store, all).await) })
    });
    for one in asking.collect::<Vec<_>>() {
        let (n, name, receipt) = one.await.unwrap();
        let text = format_receipt(&receipt);
        assert_eq!(
            read_turns(&handles[0], "run/a", n, 1).await,
            [stored_turn(n, &text)]
        );
        assert_eq!(read_record(&handles[0], &name).await, Some((1, text)));
    }
    assert_eq!(read_turns(&handles[1], "run/a", 0, 99).await.len(), 32);
}

/// Many members work concurrently, and two processes compete for one of them: each of its turns is written by
/// one process, its turns and its state agree, and other members are not affected.
pub async fn concurrent_processes_write_each_turn_once(factory: &dyn StoreFactory) {
    const TURNS: u64 = 12;
    let handles = [open_store(factory).await, open_store(factory).await];
    let mut all = tokio::task::JoinSet::new();
    for quiet in 0..16_usize {
        let store = Arc::clone(&handles[quiet % 2]);
        all.spawn(async move {
            let name = format!("run/quiet-{quiet}");
            for turn in 0..TURNS {
                assert!(
                    commit_step(&store, &name, turn, "alone").await,
                    "{name} {turn}"
                );
            }
            (TURNS, 0)
        });
    }
    for (process, store) in handles.iter().enumerate() {
        // Two duplicates per process, as if started by mistake.
        for twin in 0..2 {
            let (store, me) = (Arc::clone(store), format!("{process}.{twin}"));
            all.spawn(async move {
                let (mut committed, mut conflicts) = (0, 0);
                let mut turn = 0;
                while turn < TURNS {
                    if commit_step(&store, "run/wanted", turn, &me).await {
                        committed += 1;
                    } else {
                        conflicts += 1;
                    }
                    // The stored state decides, not the attempt.
                    let newest = store
                        .last_turns(&parse_member_key("run/wanted"), 1)
                        .await
                        .unwrap();
                    turn = newest.last().map_or(0, |last| last.turn + 1);
                }
                (committed, conflicts)
            });
        }
    }
    let mut committed = 0;
    while let Some(one) = all.join_next().await {
        committed += one.unwrap().0;
    }
    assert_eq!(
        committed,
        17 * TURNS,
        "each turn was written by one process"
    );
    let turns = read_turns(&handles[0], "run/wanted", 0, u32::MAX).await;
    let numbers: Vec<u64> = turns.iter().map(|turn| turn.turn).collect();
    assert_eq!(numbers, (0..TURNS).collect::<Vec<_>>());
    let state = RecordName::new(RecordKind::MemberState, "run/wanted");
    let last = turns.last().unwrap().body.clone();
    assert_eq!(read_record(&handles[1], &state).await, Some((TURNS, last)));
}

/// One step of a member: its turn, and its state at the matching revision. Returns whether it was committed.
async fn commit_step(store: &Arc<dyn Store>, member: &str, turn: u64, author: &str) -> bool {
    let state = RecordName::new(RecordKind::MemberState, member);
    let expect = match turn {
        0 => WritePrecondition::Absent,
        revision => WritePrecondition::Revision(revision),
    };
    let body = format!("{turn} by {author}");
    let all = single_write(append_turn(member, turn, &body))
        .with_write(put_record(&state, expect, &body));
    match store.commit(all).await.unwrap() {
        CommitOutcome::Committed(_) => true,
        CommitOutcome::Conflict(found) => {
            assert!(found == turn_key(member, turn) || found == RecordKey::Record(state));
            false
        }
    }
}
