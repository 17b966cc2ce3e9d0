//! Conformance tests of the store ports, for task dependencies: counting the open blockers of tasks, and
//! reporting each unblocked task once.

use std::sync::Arc;

use polis_core::TaskStatus;
use polis_core::changeset::StoreWrite;

use super::store_fixtures::{
    commit_changeset, empty_changeset, insert_task, insert_tasks, open_store, read_task,
    replace_task, single_write, snapshot_store, task_event, task_id, task_record,
};
use crate::StoreFactory;

fn close_blocker(dependents: &[u64]) -> StoreWrite {
    StoreWrite::CloseBlocker {
        dependents: dependents.iter().map(|&n| task_id(n)).collect(),
    }
}

/// The receipt names the tasks that have no open blockers left: only pending ones, and only when the last
/// blocker is settled.
pub async fn receipt_names_unblocked_tasks(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let (mut one, mut two, mut three) = (task_record(1), task_record(2), task_record(3));
    one.open_blockers = 1;
    two.open_blockers = 2;
    three.open_blockers = 1;
    three.task.status = TaskStatus::InProgress;
    insert_tasks(&store, &[one, two, three]).await;
    let first = commit_changeset(&store, single_write(close_blocker(&[1, 2, 3, 99]))).await;
    assert_eq!(first.unblocked, [task_id(1)]);
    let second = commit_changeset(&store, single_write(close_blocker(&[2]))).await;
    assert_eq!(second.unblocked, [task_id(2)]);
    for number in 1..=3 {
        assert_eq!(read_task(&store, number).await.open_blockers, 0);
    }
}

/// When blockers are settled concurrently through several handles, exactly one receipt names the task they
/// blocked.
pub async fn unblocked_task_is_reported_once_under_concurrency(factory: &dyn StoreFactory) {
    const BLOCKERS: u32 = 6;
    let handles = [open_store(factory).await, open_store(factory).await];
    for round in 1..=6_u64 {
        let mut waiting = task_record(round);
        waiting.open_blockers = BLOCKERS;
        commit_changeset(&handles[0], single_write(insert_task(&waiting))).await;
        let settling = (0..BLOCKERS as usize).map(|n| {
            let store = Arc::clone(&handles[n % 2]);
            let all = single_write(close_blocker(&[round])).with_event(task_event(round));
            tokio::spawn(async move { commit_changeset(&store, all).await.unblocked })
        });
        let mut reports = Vec::new();
        for one in settling.collect::<Vec<_>>() {
            reports.extend(one.await.unwrap());
        }
        assert_eq!(reports, [task_id(round)]);
        assert_eq!(read_task(&handles[0], round).await.open_blockers, 0);
    }
}

/// Settling a blocker does not change the waiting task's revision: a decision made before is still committed,
/// and both take effect.
pub async fn settling_blocker_keeps_task_revision(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let mut waiting = task_record(1);
    waiting.open_blockers = 2;
    insert_tasks(&store, &[waiting]).await;
    let decided_on = read_task(&store, 1).await;
    commit_changeset(&store, single_write(close_blocker(&[1]))).await;
    assert_eq!(read_task(&store, 1).await.revision, decided_on.revision);
    let renamed = replace_task(&decided_on, |t| t.subject = "renamed".to_owned());
    commit_changeset(&store, single_write(renamed)).await;
    let after = read_task(&store, 1).await;
    assert_eq!(after.open_blockers, 1);
    assert_eq!(after.task.subject, "renamed");
}

/// A put changes the number of open blockers by the given difference, not to the value in its record.
pub async fn put_changes_open_blockers_by_difference(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let mut first = task_record(1);
    first.open_blockers = 3;
    insert_tasks(&store, &[first]).await;
    for (change, open) in [(2, 5), (-1, 4), (0, 4), (-4, 0)] {
        let mut current = read_task(&store, 1).await;
        current.open_blockers = 77;
        let mut write = replace_task(&current, |_| ());
        if let StoreWrite::PutTask { blocker_change, .. } = &mut write {
            *blocker_change = change;
        }
        commit_changeset(&store, single_write(write)).await;
        assert_eq!(read_task(&store, 1).await.open_blockers, open);
    }
}

/// A changeset that conflicts settles no blockers.
pub async fn conflict_settles_no_blockers(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let mut waiting = task_record(1);
    waiting.open_blockers = 1;
    insert_tasks(&store, &[waiting]).await;
    let before = snapshot_store(&store).await;
    let both = empty_changeset()
        .with_write(close_blocker(&[1]))
        .with_write(insert_task(&task_record(1)))
        .with_event(task_event(1));
    store.commit(both).await.unwrap();
    assert_eq!(snapshot_store(&store).await, before);
}
