//! Port guarantees: conversations and their turns.

use std::sync::Arc;

use polis_core::changeset::Write;
use polis_core::record::{RecordBody, RecordKind, RecordName};
use polis_core::{Expect, RecordKey};
use polis_ops::port::{Outcome, Store};

use super::plain_sample::{
    append, conflicts, letter, mark_read, put, put_receipt, receipt_text, reply, send, stored,
    turn_of, turns_of,
};
use super::records::HARD;
use super::sample::{changes, commit, contents, create, event, only, open};
use crate::Ground;
use crate::test_store::member;

/// The key that a conflicting turn reports.
fn key(of: &str, turn: u64) -> RecordKey {
    RecordKey::Turn {
        member: of.to_owned(),
        turn,
    }
}

/// A turn's body is stored unchanged at any length, and read through every handle.
pub async fn a_turn_keeps_what_it_was_given(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let bodies = [HARD.to_owned(), String::new(), "话".repeat(1 << 20)];
    for (turn, body) in (0..).zip(&bodies) {
        commit(&store, only(append("run/程序员", turn, body))).await;
    }
    let found = turns_of(&other, "run/程序员", 0, u32::MAX).await;
    assert_eq!(found.len(), bodies.len());
    for ((turn, body), found) in (0..).zip(&bodies).zip(&found) {
        assert_eq!(found.turn, turn);
        assert!(found.body == *body, "turn {turn} was changed");
    }
    let last = i64::MAX.unsigned_abs();
    commit(
        &store,
        only(append("run/程序员", last, "the last there can be")),
    )
    .await;
    let found = other.last_turns(&member("run/程序员"), 1).await.unwrap();
    assert_eq!(found, [turn_of(last, "the last there can be")]);
}

/// `turns` returns the turns of a conversation by number, from a given one, at most `limit`; only those of
/// this member, even if others have similar names.
pub async fn turns_are_read_by_number(ground: &dyn Ground) {
    let store = open(ground).await;
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
        for of in names {
            commit(&store, only(append(of, turn, &format!("{of} {turn}")))).await;
        }
    }
    let numbers = async |of: &str, from: u64, limit: u32| -> Vec<u64> {
        let found = turns_of(&store, of, from, limit).await;
        for one in &found {
            assert_eq!(one.body, format!("{of} {}", one.turn));
        }
        found.into_iter().map(|one| one.turn).collect()
    };
    for of in names {
        assert_eq!(numbers(of, 0, u32::MAX).await, [0, 1, 2, 3, 10, 100]);
        assert_eq!(numbers(of, 2, 3).await, [2, 3, 10]);
        assert_eq!(numbers(of, 4, 9).await, [10, 100]);
        assert_eq!(numbers(of, 101, 9).await, [0; 0]);
        assert_eq!(numbers(of, u64::MAX, 9).await, [0; 0]);
        assert_eq!(numbers(of, 0, 0).await, [0; 0]);
    }
    assert_eq!(numbers("run/b", 0, u32::MAX).await, [0; 0]);
}

/// `last_turns` returns the newest turns of a conversation, at most `limit`, by number.
pub async fn the_newest_turns_are_read(ground: &dyn Ground) {
    let store = open(ground).await;
    for turn in 0..12 {
        commit(&store, only(append("run/a", turn, "a"))).await;
        commit(&store, only(append("run/b", turn * 2, "b"))).await;
    }
    let newest = async |of: &str, limit: u32| -> Vec<u64> {
        let found = store.last_turns(&member(of), limit).await.unwrap();
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
pub async fn a_turn_is_added_once(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let first = only(append("run/a", 0, "first")).write(append("run/a", 1, "second"));
    commit(&store, first).await;
    let before = contents(&store).await;
    for turn in [0, 1] {
        let all = only(create("new"))
            .write(append("run/a", 2, "third"))
            .write(append("run/a", turn, "again"))
            .event(event(1));
        conflicts(&other, all, key("run/a", turn)).await;
    }
    let twice = only(append("run/a", 2, "third"))
        .write(append("run/b", 2, "third"))
        .write(append("run/a", 2, "third"));
    conflicts(&other, twice, key("run/a", 2)).await;
    assert_eq!(contents(&store).await, before);
    commit(&other, only(append("run/a", 2, "third"))).await;
}

/// A member's step is one changeset: marks its messages as read, appends its turn, rewrites its state. If any
/// of them was changed concurrently, none of it is applied.
pub async fn a_step_is_committed_whole_or_not_at_all(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let state = RecordName::new(RecordKind::MemberState, "run/a");
    commit(&store, only(put(&state, Expect::Absent, "0"))).await;
    for _ in 0..3 {
        commit(&store, only(send(&letter("b", "a", "hello")))).await;
    }
    let step = |message: u64, turn: u64, revision: u64| {
        only(mark_read("a", &[message]))
            .write(append("run/a", turn, &message.to_string()))
            .write(put(&state, Expect::Revision(revision), "1"))
    };
    commit(&store, step(1, 0, 1)).await;
    let before = contents(&store).await;
    let cases = [
        (step(1, 1, 2), RecordKey::Message(1)),
        (step(2, 0, 2), key("run/a", 0)),
        (step(2, 1, 1), RecordKey::Record(state.clone())),
    ];
    for (late, conflict) in cases {
        conflicts(&other, late, conflict).await;
    }
    assert_eq!(contents(&store).await, before);
    commit(&other, step(2, 1, 2)).await;
    commit(&store, step(3, 2, 3)).await;
    let found = turns_of(&other, "run/a", 0, 9).await;
    assert_eq!(found, [turn_of(0, "1"), turn_of(1, "2"), turn_of(2, "3")]);
    assert_eq!(stored(&other, &state).await, Some((4, "1".to_owned())));
}

/// A turn's body may be computed from the receipt of its own commit, together with records that are.
pub async fn a_turn_is_made_of_the_whole_receipt(ground: &dyn Ground) {
    let handles = [open(ground).await, open(ground).await];
    let asking = (0..32_u64).map(|n| {
        let store = Arc::clone(&handles[usize::from(n % 2 == 0)]);
        let name = reply(&format!("answer {n}"));
        let all = changes()
            .write(create(&n.to_string()))
            .write(send(&letter("a", "b", &n.to_string())))
            .write(put_receipt(&name))
            .write(Write::AppendTurn {
                member: "run/a".to_owned(),
                turn: n,
                body: RecordBody::OfReceipt(Arc::new(receipt_text)),
            })
            .event(event(1));
        tokio::spawn(async move { (n, name, commit(&store, all).await) })
    });
    for one in asking.collect::<Vec<_>>() {
        let (n, name, receipt) = one.await.unwrap();
        let text = receipt_text(&receipt);
        assert_eq!(
            turns_of(&handles[0], "run/a", n, 1).await,
            [turn_of(n, &text)]
        );
        assert_eq!(stored(&handles[0], &name).await, Some((1, text)));
    }
    assert_eq!(turns_of(&handles[1], "run/a", 0, 99).await.len(), 32);
}

/// Many members work concurrently, and two processes compete for one of them: each of its turns is written by
/// one process, its turns and its state agree, and other members are not affected.
pub async fn of_processes_that_drive_a_member_one_wins_each_turn(ground: &dyn Ground) {
    const TURNS: u64 = 12;
    let handles = [open(ground).await, open(ground).await];
    let mut all = tokio::task::JoinSet::new();
    for quiet in 0..16_usize {
        let store = Arc::clone(&handles[quiet % 2]);
        all.spawn(async move {
            let name = format!("run/quiet-{quiet}");
            for turn in 0..TURNS {
                assert!(step(&store, &name, turn, "alone").await, "{name} {turn}");
            }
            (TURNS, 0)
        });
    }
    for (process, store) in handles.iter().enumerate() {
        // Two duplicates per process, as if started by mistake.
        for twin in 0..2 {
            let (store, me) = (Arc::clone(store), format!("{process}.{twin}"));
            all.spawn(async move {
                let (mut won, mut lost) = (0, 0);
                let mut turn = 0;
                while turn < TURNS {
                    match step(&store, "run/wanted", turn, &me).await {
                        true => won += 1,
                        false => lost += 1,
                    }
                    // The stored state decides, not the attempt.
                    let newest = store.last_turns(&member("run/wanted"), 1).await.unwrap();
                    turn = newest.last().map_or(0, |last| last.turn + 1);
                }
                (won, lost)
            });
        }
    }
    let mut won = 0;
    while let Some(one) = all.join_next().await {
        won += one.unwrap().0;
    }
    assert_eq!(won, 17 * TURNS, "each turn is one's");
    let wanted = turns_of(&handles[0], "run/wanted", 0, u32::MAX).await;
    let numbers: Vec<u64> = wanted.iter().map(|turn| turn.turn).collect();
    assert_eq!(numbers, (0..TURNS).collect::<Vec<_>>());
    let state = RecordName::new(RecordKind::MemberState, "run/wanted");
    let last = wanted.last().unwrap().body.clone();
    assert_eq!(stored(&handles[1], &state).await, Some((TURNS, last)));
}

/// One step of a member: its turn, and its state at the matching revision. Returns whether it was committed.
async fn step(store: &Arc<dyn Store>, of: &str, turn: u64, by: &str) -> bool {
    let state = RecordName::new(RecordKind::MemberState, of);
    let expect = match turn {
        0 => Expect::Absent,
        revision => Expect::Revision(revision),
    };
    let body = format!("{turn} by {by}");
    let all = only(append(of, turn, &body)).write(put(&state, expect, &body));
    match store.commit(all).await.unwrap() {
        Outcome::Committed(_) => true,
        Outcome::Conflict(found) => {
            assert!(found == key(of, turn) || found == RecordKey::Record(state));
            false
        }
    }
}
