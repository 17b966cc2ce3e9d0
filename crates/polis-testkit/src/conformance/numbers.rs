//! Port guarantees: numbering of tasks and of comments.

use std::collections::BTreeSet;
use std::sync::Arc;

use polis_core::changeset::Write;
use polis_core::{NewEvent, Subject};
use polis_ops::port::CommentQuery;

use super::sample::{
    changes, comment, commit, create, event, id, insert, log, only, open, record, replace, task,
};
use crate::Ground;

/// Tasks created concurrently get distinct numbers, and each receipt names the task it created.
pub async fn created_numbers_are_distinct(ground: &dyn Ground) {
    let handles = [open(ground).await, open(ground).await];
    let creating = (0..40_usize).map(|n| {
        let store = Arc::clone(&handles[n % 2]);
        tokio::spawn(async move {
            let subject = format!("created by {n}");
            let receipt = commit(&store, only(create(&subject))).await;
            (receipt.created.unwrap(), subject)
        })
    });
    let mut numbers = BTreeSet::new();
    for one in creating.collect::<Vec<_>>() {
        let (number, subject) = one.await.unwrap();
        let found = task(&handles[0], number.number()).await;
        assert_eq!(found.task.subject, subject);
        assert!(numbers.insert(number), "{number} was given twice");
    }
    assert_eq!(numbers, (1..=40).map(id).collect());
    assert_eq!(handles[1].last_task_number().await.unwrap(), 40);
}

/// A number is never reused, even if its task is deleted.
pub async fn numbers_are_never_reused(ground: &dyn Ground) {
    let store = open(ground).await;
    assert_eq!(store.last_task_number().await.unwrap(), 0);
    commit(&store, only(create("one"))).await;
    let one = task(&store, 1).await;
    let gone = replace(&one, |t| t.status = polis_core::TaskStatus::Deleted);
    commit(&store, only(gone)).await;
    let next = commit(&store, only(create("two"))).await;
    assert_eq!(next.created, Some(id(2)));
    commit(&store, only(insert(&record(7)))).await;
    let next = commit(&store, only(create("three"))).await;
    assert_eq!(next.created, Some(id(8)));
}

/// After raising the task number, new tasks get larger numbers; raising never lowers it.
pub async fn a_raised_number_is_not_given_out(ground: &dyn Ground) {
    let store = open(ground).await;
    commit(&store, only(Write::RaiseTaskNumber(10))).await;
    assert_eq!(store.last_task_number().await.unwrap(), 10);
    commit(&store, only(Write::RaiseTaskNumber(4))).await;
    assert_eq!(store.last_task_number().await.unwrap(), 10);
    let next = commit(&store, only(create("after"))).await;
    assert_eq!(next.created, Some(id(11)));
    let both = changes()
        .write(Write::RaiseTaskNumber(20))
        .write(create("in the same changeset"));
    assert_eq!(commit(&store, both).await.created, Some(id(21)));
    assert_eq!(store.last_task_number().await.unwrap(), 21);
}

/// The largest possible number can be stored, read and listed.
pub async fn the_largest_number_is_kept(ground: &dyn Ground) {
    let store = open(ground).await;
    let largest = polis_core::TaskId::MAX;
    commit(&store, only(insert(&record(largest)))).await;
    assert_eq!(task(&store, largest).await, record(largest));
    let after = store.scan_tasks(Some(id(largest - 1)), 5).await.unwrap();
    assert_eq!(after.len(), 1);
    assert!(store.commit(only(create("no number"))).await.is_err());
}

/// The event of a creation is about the number the store assigned.
pub async fn a_creations_event_is_about_the_new_number(ground: &dyn Ground) {
    let store = open(ground).await;
    commit(&store, only(Write::RaiseTaskNumber(41))).await;
    let created = NewEvent::of("task.created", Subject::CreatedTask, &());
    commit(&store, only(create("x")).event(created)).await;
    assert_eq!(log(&store).await[0].subject, "task/42");
}

/// Comments are numbered 1, 2, 3, … within each task, and the receipt names the last one added.
pub async fn comments_are_numbered_within_their_task(ground: &dyn Ground) {
    let store = open(ground).await;
    let add = |task: u64, body: &str| Write::AddComment {
        task: id(task),
        comment: comment(body),
    };
    let both = changes()
        .write(insert(&record(1)))
        .write(insert(&record(2)))
        .write(add(1, "a"))
        .write(add(1, "b"));
    assert_eq!(commit(&store, both).await.comment, Some(2));
    let other = commit(&store, only(add(2, "c")).event(event(2))).await;
    assert_eq!(other.comment, Some(1));
    assert_eq!(commit(&store, only(add(1, "d"))).await.comment, Some(3));
    let found = store.comments(&CommentQuery::of(id(1))).await.unwrap();
    let expected: Vec<_> = ["a", "b", "d"]
        .iter()
        .zip(1..)
        .map(|(body, number)| comment(body).numbered(number))
        .collect();
    assert_eq!(found, expected);
    assert_eq!(store.comments(&CommentQuery::of(id(3))).await.unwrap(), []);
}

/// A page of comments contains those between two numbers, from either end, in order.
pub async fn comments_come_in_pages(ground: &dyn Ground) {
    let store = open(ground).await;
    let mut all = changes().write(insert(&record(1)));
    for body in ["a", "b", "c", "d", "e", "f"] {
        let (task, comment) = (id(1), comment(body));
        all = all.write(Write::AddComment { task, comment });
    }
    let other = Write::AddComment {
        task: id(2),
        comment: comment("x"),
    };
    commit(&store, all.write(insert(&record(2))).write(other)).await;
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
            task: id(1),
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
