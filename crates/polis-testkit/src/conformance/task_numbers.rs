//! Conformance tests of the store ports: assignment of task numbers and comment numbers, and pagination of
//! comments.

use std::collections::BTreeSet;
use std::sync::Arc;

use polis_core::changeset::StoreWrite;
use polis_core::{EventSubject, NewEvent};
use polis_ops::port::CommentQuery;

use super::store_fixtures::{
    commit_changeset, create_task, empty_changeset, insert_task, new_comment, open_store, read_log,
    read_task, replace_task, single_write, task_event, task_id, task_record,
};
use crate::StoreFactory;
use crate::sample_event::comment_payload;

/// Tasks created concurrently get distinct numbers, and each receipt names the task it created.
pub async fn concurrently_created_tasks_get_distinct_numbers(factory: &dyn StoreFactory) {
    let handles = [open_store(factory).await, open_store(factory).await];
    let creating = (0..40_usize).map(|n| {
        let store = Arc::clone(&handles[n % 2]);
        tokio::spawn(async move {
            let subject = format!("created by {n}");
            let receipt = commit_changeset(&store, single_write(create_task(&subject))).await;
            (receipt.created.unwrap(), subject)
        })
    });
    let mut numbers = BTreeSet::new();
    for one in creating.collect::<Vec<_>>() {
        let (number, subject) = one.await.unwrap();
        let found = read_task(&handles[0], number.number()).await;
        assert_eq!(found.task.subject, subject);
        assert!(numbers.insert(number), "number {number} was assigned twice");
    }
    assert_eq!(numbers, (1..=40).map(task_id).collect());
    assert_eq!(handles[1].last_task_number().await.unwrap(), 40);
}

/// A number is never reused, even if its task is deleted.
pub async fn task_numbers_are_never_reused(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    assert_eq!(store.last_task_number().await.unwrap(), 0);
    commit_changeset(&store, single_write(create_task("one"))).await;
    let one = read_task(&store, 1).await;
    let deletion = replace_task(&one, |t| t.status = polis_core::TaskStatus::Deleted);
    commit_changeset(&store, single_write(deletion)).await;
    let next = commit_changeset(&store, single_write(create_task("two"))).await;
    assert_eq!(next.created, Some(task_id(2)));
    commit_changeset(&store, single_write(insert_task(&task_record(7)))).await;
    let next = commit_changeset(&store, single_write(create_task("three"))).await;
    assert_eq!(next.created, Some(task_id(8)));
}

/// After raising the task number, new tasks get larger numbers; raising never lowers it.
pub async fn raised_task_number_is_not_assigned_again(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    commit_changeset(&store, single_write(StoreWrite::RaiseTaskNumber(10))).await;
    assert_eq!(store.last_task_number().await.unwrap(), 10);
    commit_changeset(&store, single_write(StoreWrite::RaiseTaskNumber(4))).await;
    assert_eq!(store.last_task_number().await.unwrap(), 10);
    let next = commit_changeset(&store, single_write(create_task("after"))).await;
    assert_eq!(next.created, Some(task_id(11)));
    let both = empty_changeset()
        .with_write(StoreWrite::RaiseTaskNumber(20))
        .with_write(create_task("in the same changeset"));
    assert_eq!(
        commit_changeset(&store, both).await.created,
        Some(task_id(21))
    );
    assert_eq!(store.last_task_number().await.unwrap(), 21);
}

/// The largest possible number can be stored, read and listed.
pub async fn largest_task_number_is_stored(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let largest = polis_core::TaskId::MAX;
    commit_changeset(&store, single_write(insert_task(&task_record(largest)))).await;
    assert_eq!(read_task(&store, largest).await, task_record(largest));
    let after = store
        .scan_tasks(Some(task_id(largest - 1)), 5)
        .await
        .unwrap();
    assert_eq!(after.len(), 1);
    assert!(
        store
            .commit(single_write(create_task("no number")))
            .await
            .is_err()
    );
}

/// The event of a creation is about the number the store assigned.
pub async fn creation_event_has_assigned_task_number(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    commit_changeset(&store, single_write(StoreWrite::RaiseTaskNumber(41))).await;
    let created = NewEvent::new(EventSubject::CreatedTask, comment_payload("x"));
    commit_changeset(&store, single_write(create_task("x")).with_event(created)).await;
    assert_eq!(read_log(&store).await[0].subject, "task/42");
}

/// Comments are numbered 1, 2, 3, … within each task, and the receipt names the last one added.
pub async fn comments_are_numbered_per_task(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let add = |task: u64, body: &str| StoreWrite::AddComment {
        task: task_id(task),
        comment: new_comment(body),
    };
    let both = empty_changeset()
        .with_write(insert_task(&task_record(1)))
        .with_write(insert_task(&task_record(2)))
        .with_write(add(1, "a"))
        .with_write(add(1, "b"));
    assert_eq!(commit_changeset(&store, both).await.comment, Some(2));
    let other = commit_changeset(&store, single_write(add(2, "c")).with_event(task_event(2))).await;
    assert_eq!(other.comment, Some(1));
    assert_eq!(
        commit_changeset(&store, single_write(add(1, "d")))
            .await
            .comment,
        Some(3)
    );
    let found = store
        .comments(&CommentQuery::for_task(task_id(1)))
        .await
        .unwrap();
    let expected: Vec<_> = ["a", "b", "d"]
        .iter()
        .zip(1..)
        .map(|(body, number)| new_comment(body).with_id(number))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(
        store
            .comments(&CommentQuery::for_task(task_id(3)))
            .await
            .unwrap(),
        []
    );
}

/// A page of comments contains those between two numbers, from either end, in order.
pub async fn comments_are_paginated(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let mut all = empty_changeset().with_write(insert_task(&task_record(1)));
    for body in ["a", "b", "c", "d", "e", "f"] {
        let (task, comment) = (task_id(1), new_comment(body));
        all = all.with_write(StoreWrite::AddComment { task, comment });
    }
    let other = StoreWrite::AddComment {
        task: task_id(2),
        comment: new_comment("x"),
    };
    commit_changeset(
        &store,
        all.with_write(insert_task(&task_record(2)))
            .with_write(other),
    )
    .await;
    for (after, before, newest, limit, expected) in [
        (0, None, false, 2, vec![1, 2]),
        (2, None, false, 2, vec![3, 4]),
        (5, None, false, 2, vec![6]),
        (6, None, false, 2, vec![]),
        (0, None, true, 2, vec![5, 6]),
        (0, Some(5), true, 2, vec![3, 4]),
        (0, Some(3), true, 9, vec![1, 2]),
        (0, Some(1), true, 9, vec![]),
        (2, Some(5), false, 9, vec![3, 4]),
        (2, Some(u64::MAX), true, 1, vec![6]),
        (0, None, true, 0, vec![]),
    ] {
        let query = CommentQuery {
            task: task_id(1),
            after,
            before,
            newest,
            limit,
        };
        let found = store.comments(&query).await.unwrap();
        let numbers: Vec<u64> = found.iter().map(|one| one.id).collect();
        assert_eq!(numbers, expected, "{query:?}");
    }
}
