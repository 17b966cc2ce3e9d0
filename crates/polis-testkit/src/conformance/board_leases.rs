//! Conformance tests of the store ports, for board leases (the exclusive write locks of boards): holder,
//! expiry and concurrent requests.

use std::sync::Arc;

use polis_core::board::{BoardHead, BoardWrite};
use polis_ops::port::CommitOutcome;

use super::board_fixtures::{
    append_to_global, assert_board_conflict, board_name, lease_until, millis_after_start,
    overwrite_global, put_board, put_lease, read_head, read_newest_text, splice_global, with_board,
};
use super::store_fixtures::{
    commit_changeset, open_store, single_write, snapshot_store, task_event,
};
use crate::StoreFactory;
use crate::store_factory::parse_agent_id;

/// While an agent holds a lease, changes by other agents conflict; the holder's own changes do not. After the
/// lease has expired no change conflicts.
pub async fn board_lease_blocks_other_agents_until_expiry(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let lease = lease_until("architect", "t", 1_000);
    let changes = single_write(put_board(overwrite_global(Some(0), "a"))).with_write(put_lease(
        "global",
        None,
        Some(&lease),
    ));
    commit_changeset(&store, changes).await;
    let before = snapshot_store(&store).await;
    let changeset_of = |actor: &str, now: i64, mut write: BoardWrite| {
        write.now = millis_after_start(now);
        let mut all = single_write(put_board(write)).with_event(task_event(1));
        all.actor = parse_agent_id(actor);
        all
    };
    for now in [-5_000, 0, 999] {
        for write in [
            overwrite_global(None, "x"),
            append_to_global("x"),
            splice_global(1, 0, 1, "x"),
        ] {
            assert_board_conflict(&store, "global", changeset_of("helper", now, write)).await;
        }
    }
    assert_eq!(snapshot_store(&store).await, before);
    commit_changeset(
        &store,
        changeset_of("architect", 999, append_to_global("b")),
    )
    .await;
    commit_changeset(&store, changeset_of("helper", 1_000, append_to_global("c"))).await;
    commit_changeset(
        &store,
        changeset_of("architect", 5_000, append_to_global("d")),
    )
    .await;
    assert_eq!(read_newest_text(&store, "global").await, "abcd");
    // Changing the text does not affect the lease.
    assert_eq!(read_head(&store, "global").await.lease, Some(lease));
    // Other boards are not affected.
    commit_changeset(
        &store,
        changeset_of("helper", 0, with_board("top", overwrite_global(None, "x"))),
    )
    .await;
}

/// Changing a lease requires the current lease as the expected one; otherwise it is a conflict.
pub async fn lease_change_requires_current_lease(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let first = lease_until("程序员", "tök-1", 1_000);
    let longer = lease_until("程序员", "tök-1", 2_000);
    let next = lease_until("architect", "t2", 3_000);
    let is = |was, to| single_write(put_lease("global", was, to)).with_event(task_event(1));
    assert_board_conflict(&store, "global", is(Some(&first), Some(&next))).await;
    assert_eq!(store.boards().await.unwrap(), []);
    commit_changeset(&store, is(None, Some(&first))).await;
    assert_eq!(read_head(&other, "global").await.lease, Some(first.clone()));
    let stale = [None, Some(&longer), Some(&next)];
    for was in stale {
        for to in [None, Some(&next)] {
            assert_board_conflict(&store, "global", is(was, to)).await;
        }
    }
    commit_changeset(&store, is(Some(&first), Some(&longer))).await;
    assert_board_conflict(&store, "global", is(Some(&first), None)).await;
    commit_changeset(&store, is(Some(&longer), Some(&next))).await;
    assert_eq!(read_head(&other, "global").await.lease, Some(next.clone()));
    commit_changeset(&store, is(Some(&next), None)).await;
    assert_eq!(read_head(&other, "global").await.lease, None);
    assert_board_conflict(&store, "global", is(Some(&next), None)).await;
    assert_eq!(store.last_sequence().await.unwrap(), 4);
}

/// A board that was only locked exists with version 0 and no text, and its first text is written like that of
/// any other board.
pub async fn board_with_lease_only_has_version_0(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let lease = lease_until("user", "t", 1_000);
    let receipt =
        commit_changeset(&store, single_write(put_lease("mid/a", None, Some(&lease)))).await;
    assert_eq!(receipt.board, None);
    let expected = BoardHead {
        lease: Some(lease.clone()),
        ..BoardHead::new(board_name("mid/a"))
    };
    assert_eq!(read_head(&store, "mid/a").await, expected);
    assert_eq!(store.boards().await.unwrap(), [expected]);
    for version in [0, 1] {
        let found = store
            .board_text(&board_name("mid/a"), version)
            .await
            .unwrap();
        assert_eq!(found, None);
    }
    assert_eq!(
        store.board_versions(&board_name("mid/a"), 9).await.unwrap(),
        []
    );
    assert_board_conflict(
        &store,
        "mid/a",
        single_write(put_board(with_board(
            "mid/a",
            overwrite_global(Some(1), "x"),
        ))),
    )
    .await;
    let changes = single_write(put_board(with_board(
        "mid/a",
        overwrite_global(Some(0), "x"),
    )));
    assert_eq!(commit_changeset(&store, changes).await.board, Some(1));
    assert_eq!(read_head(&store, "mid/a").await.lease, Some(lease));
    assert_eq!(read_newest_text(&store, "mid/a").await, "x");
}

/// If several agents take a lease concurrently from several handles, exactly one gets it.
pub async fn concurrent_lease_requests_one_succeeds(factory: &dyn StoreFactory) {
    let handles = [open_store(factory).await, open_store(factory).await];
    let mut lease = None;
    for round in 0..10_i64 {
        let rivals = (0..8_usize).map(|n| {
            let store = Arc::clone(&handles[n % 2]);
            let requested = lease_until("user", &format!("{round}.{n}"), round);
            let all = single_write(put_lease("global", lease.as_ref(), Some(&requested)))
                .with_event(task_event(1));
            tokio::spawn(async move { (requested, store.commit(all).await.unwrap()) })
        });
        let mut winners = Vec::new();
        for rival in rivals.collect::<Vec<_>>() {
            if let (requested, CommitOutcome::Committed(_)) = rival.await.unwrap() {
                winners.push(requested);
            }
        }
        lease = read_head(&handles[1], "global").await.lease;
        assert_eq!(winners, lease.iter().cloned().collect::<Vec<_>>());
    }
    assert_eq!(handles[0].last_sequence().await.unwrap(), 10);
}
