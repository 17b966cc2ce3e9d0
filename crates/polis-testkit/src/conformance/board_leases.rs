//! Port guarantees: leases (locks) of boards.

use std::sync::Arc;

use polis_core::board::{BoardHead, BoardWrite};
use polis_ops::port::Outcome;

use super::board_sample::{
    add, conflicts, head, lease, leased, millis, named, on, splice, text, whole, written,
};
use super::sample::{commit, contents, event, only, open};
use crate::Ground;
use crate::test_store::agent;

/// While an agent holds a lease, changes by other agents conflict; the holder's own changes do not. After the
/// lease has expired no change conflicts.
pub async fn a_lease_binds_all_others_until_it_ends(ground: &dyn Ground) {
    let store = open(ground).await;
    let held = lease("architect", "t", 1_000);
    let begun = only(written(whole(Some(0), "a"))).write(leased("global", None, Some(&held)));
    commit(&store, begun).await;
    let before = contents(&store).await;
    let by = |who: &str, now: i64, mut write: BoardWrite| {
        write.now = millis(now);
        let mut all = only(written(write)).event(event(1));
        all.actor = agent(who);
        all
    };
    for now in [-5_000, 0, 999] {
        for write in [whole(None, "x"), add("x"), splice(1, 0, 1, "x")] {
            conflicts(&store, "global", by("helper", now, write)).await;
        }
    }
    assert_eq!(contents(&store).await, before);
    commit(&store, by("architect", 999, add("b"))).await;
    commit(&store, by("helper", 1_000, add("c"))).await;
    commit(&store, by("architect", 5_000, add("d"))).await;
    assert_eq!(text(&store, "global").await, "abcd");
    // Changing the text does not affect the lease.
    assert_eq!(head(&store, "global").await.lease, Some(held));
    // Other boards are not affected.
    commit(&store, by("helper", 0, on("top", whole(None, "x")))).await;
}

/// Changing a lease requires the current lease as the expected one; otherwise it is a conflict.
pub async fn a_lease_is_changed_by_who_knows_it(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let first = lease("程序员", "tök-1", 1_000);
    let longer = lease("程序员", "tök-1", 2_000);
    let next = lease("architect", "t2", 3_000);
    let is = |was, to| only(leased("global", was, to)).event(event(1));
    conflicts(&store, "global", is(Some(&first), Some(&next))).await;
    assert_eq!(store.boards().await.unwrap(), []);
    commit(&store, is(None, Some(&first))).await;
    assert_eq!(head(&other, "global").await.lease, Some(first.clone()));
    let stale = [None, Some(&longer), Some(&next)];
    for was in stale {
        for to in [None, Some(&next)] {
            conflicts(&store, "global", is(was, to)).await;
        }
    }
    commit(&store, is(Some(&first), Some(&longer))).await;
    conflicts(&store, "global", is(Some(&first), None)).await;
    commit(&store, is(Some(&longer), Some(&next))).await;
    assert_eq!(head(&other, "global").await.lease, Some(next.clone()));
    commit(&store, is(Some(&next), None)).await;
    assert_eq!(head(&other, "global").await.lease, None);
    conflicts(&store, "global", is(Some(&next), None)).await;
    assert_eq!(store.last_sequence().await.unwrap(), 4);
}

/// A board that was only locked exists with version 0 and no text, and its first text is written like that of
/// any other board.
pub async fn a_board_that_was_only_locked_has_version_0(ground: &dyn Ground) {
    let store = open(ground).await;
    let held = lease("user", "t", 1_000);
    let receipt = commit(&store, only(leased("mid/a", None, Some(&held)))).await;
    assert_eq!(receipt.board, None);
    let expected = BoardHead {
        lease: Some(held.clone()),
        ..BoardHead::new(named("mid/a"))
    };
    assert_eq!(head(&store, "mid/a").await, expected);
    assert_eq!(store.boards().await.unwrap(), [expected]);
    for version in [0, 1] {
        let found = store.board_text(&named("mid/a"), version).await.unwrap();
        assert_eq!(found, None);
    }
    assert_eq!(store.board_versions(&named("mid/a"), 9).await.unwrap(), []);
    conflicts(
        &store,
        "mid/a",
        only(written(on("mid/a", whole(Some(1), "x")))),
    )
    .await;
    let begun = only(written(on("mid/a", whole(Some(0), "x"))));
    assert_eq!(commit(&store, begun).await.board, Some(1));
    assert_eq!(head(&store, "mid/a").await.lease, Some(held));
    assert_eq!(text(&store, "mid/a").await, "x");
}

/// If several agents take a lease concurrently from several handles, exactly one gets it.
pub async fn of_rivals_for_a_lease_one_gets_it(ground: &dyn Ground) {
    let handles = [open(ground).await, open(ground).await];
    let mut held = None;
    for round in 0..10_i64 {
        let rivals = (0..8_usize).map(|n| {
            let store = Arc::clone(&handles[n % 2]);
            let wanted = lease("user", &format!("{round}.{n}"), round);
            let all = only(leased("global", held.as_ref(), Some(&wanted))).event(event(1));
            tokio::spawn(async move { (wanted, store.commit(all).await.unwrap()) })
        });
        let mut winners = Vec::new();
        for rival in rivals.collect::<Vec<_>>() {
            if let (wanted, Outcome::Committed(_)) = rival.await.unwrap() {
                winners.push(wanted);
            }
        }
        held = head(&handles[1], "global").await.lease;
        assert_eq!(winners, held.iter().cloned().collect::<Vec<_>>());
    }
    assert_eq!(handles[0].last_sequence().await.unwrap(), 10);
}
