//! Port guarantees: counting of open blockers and reporting of unblocked tasks.

use std::sync::Arc;

use polis_core::TaskStatus;
use polis_core::changeset::Write;

use super::sample::{
    changes, commit, contents, event, fill, id, insert, only, open, record, replace, task,
};
use crate::Ground;

fn settle(dependents: &[u64]) -> Write {
    Write::SettleBlocker {
        dependents: dependents.iter().map(|&n| id(n)).collect(),
    }
}

/// The receipt names the tasks that have no open blockers left: only pending ones, and only when the last
/// blocker is settled.
pub async fn the_receipt_names_tasks_that_were_unblocked(ground: &dyn Ground) {
    let store = open(ground).await;
    let (mut one, mut two, mut begun) = (record(1), record(2), record(3));
    one.open_blockers = 1;
    two.open_blockers = 2;
    begun.open_blockers = 1;
    begun.task.status = TaskStatus::InProgress;
    fill(&store, &[one, two, begun]).await;
    let first = commit(&store, only(settle(&[1, 2, 3, 99]))).await;
    assert_eq!(first.unblocked, [id(1)]);
    let second = commit(&store, only(settle(&[2]))).await;
    assert_eq!(second.unblocked, [id(2)]);
    for number in 1..=3 {
        assert_eq!(task(&store, number).await.open_blockers, 0);
    }
}

/// When blockers are settled concurrently through several handles, exactly one receipt names the task they
/// blocked.
pub async fn an_unblocked_task_is_reported_exactly_once(ground: &dyn Ground) {
    const BLOCKERS: u32 = 6;
    let handles = [open(ground).await, open(ground).await];
    for round in 1..=6_u64 {
        let mut waiting = record(round);
        waiting.open_blockers = BLOCKERS;
        commit(&handles[0], only(insert(&waiting))).await;
        let settling = (0..BLOCKERS as usize).map(|n| {
            let store = Arc::clone(&handles[n % 2]);
            let all = only(settle(&[round])).event(event(round));
            tokio::spawn(async move { commit(&store, all).await.unblocked })
        });
        let mut reports = Vec::new();
        for one in settling.collect::<Vec<_>>() {
            reports.extend(one.await.unwrap());
        }
        assert_eq!(reports, [id(round)]);
        assert_eq!(task(&handles[0], round).await.open_blockers, 0);
    }
}

/// Settling a blocker does not change the waiting task's revision: a decision made before is still committed,
/// and both take effect.
pub async fn settling_a_blocker_keeps_the_revision(ground: &dyn Ground) {
    let store = open(ground).await;
    let mut waiting = record(1);
    waiting.open_blockers = 2;
    fill(&store, &[waiting]).await;
    let decided_on = task(&store, 1).await;
    commit(&store, only(settle(&[1]))).await;
    assert_eq!(task(&store, 1).await.revision, decided_on.revision);
    let renamed = replace(&decided_on, |t| t.subject = "renamed".to_owned());
    commit(&store, only(renamed)).await;
    let after = task(&store, 1).await;
    assert_eq!(after.open_blockers, 1);
    assert_eq!(after.task.subject, "renamed");
}

/// A put changes the number of open blockers by the given difference, not to the value in its record.
pub async fn a_put_changes_open_blockers_relatively(ground: &dyn Ground) {
    let store = open(ground).await;
    let mut first = record(1);
    first.open_blockers = 3;
    fill(&store, &[first]).await;
    for (change, open) in [(2, 5), (-1, 4), (0, 4), (-4, 0)] {
        let mut current = task(&store, 1).await;
        current.open_blockers = 77;
        let mut write = replace(&current, |_| ());
        if let Write::PutTask { blocker_change, .. } = &mut write {
            *blocker_change = change;
        }
        commit(&store, only(write)).await;
        assert_eq!(task(&store, 1).await.open_blockers, open);
    }
}

/// A changeset that conflicts settles no blockers.
pub async fn a_conflict_settles_nothing(ground: &dyn Ground) {
    let store = open(ground).await;
    let mut waiting = record(1);
    waiting.open_blockers = 1;
    fill(&store, &[waiting]).await;
    let before = contents(&store).await;
    let both = changes()
        .write(settle(&[1]))
        .write(insert(&record(1)))
        .event(event(1));
    store.commit(both).await.unwrap();
    assert_eq!(contents(&store).await, before);
}
