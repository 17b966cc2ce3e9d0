//! Guarantees of `Ledger::commit`: atomicity, optimistic concurrency control, durability and fences.

use std::sync::Arc;

use polis_core::changeset::{Fence, Write};
use polis_core::{Expect, RecordKey};
use polis_ops::port::{CommentQuery, Outcome};

use super::sample::{
    changes, comment, commit, contents, create, event, fill, id, insert, member, only, open,
    record, replace, task, unnumbered, workspace,
};
use crate::Ground;
use crate::test_store::agent;

/// All writes and events of a changeset become visible together, or none does: a conflict of the last write
/// undoes every kind of write before it.
pub async fn a_conflict_leaves_nothing_of_a_changeset(ground: &dyn Ground) {
    let store = open(ground).await;
    fill(&store, &[record(1), record(2)]).await;
    let stale = task(&store, 2).await;
    commit(&store, only(replace(&stale, |t| t.owner = "a".to_owned()))).await;
    let before = contents(&store).await;

    let first = task(&store, 1).await;
    let mut all = changes()
        .write(Write::CreateTask(Box::new(unnumbered("new"))))
        .write(replace(&first, |t| t.subject = "changed".to_owned()))
        .write(Write::SettleBlocker {
            dependents: vec![id(1)],
        })
        .write(Write::RaiseTaskNumber(50))
        .write(Write::AddComment {
            task: id(1),
            comment: comment("hello"),
        })
        .write(Write::PutAgent {
            expect: Expect::Absent,
            agent: member("architect"),
        })
        .write(Write::PutWorkspace {
            expect: Expect::Absent,
            workspace: workspace("architect"),
        })
        .write(Write::TouchFence {
            fence: Fence::TaskGraph,
            expected: 0,
        })
        .write(Write::TouchFence {
            fence: Fence::Workspaces,
            expected: 0,
        })
        .event(event(1));
    all.writes
        .push(replace(&stale, |t| t.owner = "b".to_owned()));
    let outcome = store.commit(all).await.unwrap();
    assert_eq!(outcome, Outcome::Conflict(RecordKey::Task(id(2))));
    assert_eq!(contents(&store).await, before);
}

/// All writes and events of a changeset become visible together: a reader on another handle never sees one of
/// two tasks changed without the other.
pub async fn a_changeset_becomes_visible_at_once(ground: &dyn Ground) {
    const ROUNDS: u64 = 40;
    let store = open(ground).await;
    let reader = open(ground).await;
    fill(&store, &[record(1), record(2)]).await;
    let writing = tokio::spawn(async move {
        for round in 0..ROUNDS {
            let (one, two) = (task(&store, 1).await, task(&store, 2).await);
            let both = changes()
                .write(replace(&one, |t| t.subject = round.to_string()))
                .write(replace(&two, |t| t.subject = round.to_string()))
                .event(event(1))
                .event(event(2));
            commit(&store, both).await;
        }
    });
    loop {
        let done = writing.is_finished();
        let seen = reader.scan_tasks(None, 10).await.unwrap();
        assert_eq!(seen[0].revision, seen[1].revision);
        let last = reader.last_sequence().await.unwrap();
        assert_eq!(last % 2, 0, "half of a changeset's events can be seen");
        if done {
            break;
        }
        tokio::task::yield_now().await;
    }
    writing.await.unwrap();
}

/// An expectation that does not hold is a conflict that names its record, and changes nothing.
pub async fn a_conflict_names_the_record(ground: &dyn Ground) {
    let store = open(ground).await;
    fill(&store, &[record(1)]).await;
    let architect = Write::PutAgent {
        expect: Expect::Absent,
        agent: member("architect"),
    };
    commit(&store, only(architect.clone())).await;
    let place = Write::PutWorkspace {
        expect: Expect::Absent,
        workspace: workspace("architect"),
    };
    commit(&store, only(place.clone())).await;
    let fence = Write::TouchFence {
        fence: Fence::TaskGraph,
        expected: 0,
    };
    commit(&store, only(fence.clone())).await;
    let before = contents(&store).await;
    let mut other = record(1);
    other.revision = 7;
    let mut absent = record(9);
    absent.revision = 3;
    let unknown = Write::PutAgent {
        expect: Expect::Revision(1),
        agent: member("nobody"),
    };
    let nowhere = Write::PutWorkspace {
        expect: Expect::Revision(1),
        workspace: workspace("nobody"),
    };
    let cases = [
        (place, RecordKey::Workspace(agent("architect"))),
        (nowhere, RecordKey::Workspace(agent("nobody"))),
        (insert(&record(1)), RecordKey::Task(id(1))),
        (replace(&other, |_| ()), RecordKey::Task(id(1))),
        (replace(&absent, |_| ()), RecordKey::Task(id(9))),
        (architect, RecordKey::Agent(agent("architect"))),
        (unknown, RecordKey::Agent(agent("nobody"))),
        (fence, RecordKey::Fence(Fence::TaskGraph)),
    ];
    for (write, key) in cases {
        let outcome = store.commit(only(write).event(event(1))).await.unwrap();
        assert_eq!(outcome, Outcome::Conflict(key));
    }
    assert_eq!(contents(&store).await, before);
}

/// Of several changesets that expect the same revision of a record, at most one is committed: for tasks,
/// agents, workspaces and fences, concurrently from several handles.
pub async fn of_changesets_on_one_revision_one_is_committed(ground: &dyn Ground) {
    let handles = [open(ground).await, open(ground).await];
    fill(&handles[0], &[record(1)]).await;
    for round in 0..12_u64 {
        let current = task(&handles[0], 1).await;
        let known = handles[0].agent(&agent("architect")).await.unwrap();
        let expect = known.map_or(Expect::Absent, |found| Expect::Revision(found.revision));
        let place = handles[0].workspace(&agent("architect")).await.unwrap();
        let on = place.map_or(Expect::Absent, |found| Expect::Revision(found.revision));
        let rivals = (0..8_u64).map(|n| {
            let owner = format!("rival-{n}");
            let write = match round % 4 {
                0 => replace(&current, |t| t.owner = owner),
                1 => Write::PutAgent {
                    expect,
                    agent: member("architect"),
                },
                2 => Write::PutWorkspace {
                    expect: on,
                    workspace: workspace("architect"),
                },
                _ => Write::TouchFence {
                    fence: Fence::TaskGraph,
                    expected: round / 4,
                },
            };
            let store = Arc::clone(&handles[n as usize % handles.len()]);
            let all = only(write).event(event(n + 1));
            tokio::spawn(async move { store.commit(all).await.unwrap() })
        });
        let mut committed = 0;
        for rival in rivals.collect::<Vec<_>>() {
            committed += u32::from(matches!(rival.await.unwrap(), Outcome::Committed(_)));
        }
        assert_eq!(committed, 1, "round {round}");
    }
    assert_eq!(handles[1].last_sequence().await.unwrap(), 12);
}

/// Commits are durable: what one handle committed is read by every other handle, including one that is opened
/// later.
pub async fn what_is_committed_is_read_through_every_handle(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let receipt = commit(&store, only(create("first")).event(event(1))).await;
    assert_eq!(receipt.created, Some(id(1)));
    assert_eq!(receipt.sequence, 1);
    let expected = contents(&store).await;
    assert_eq!(contents(&other).await, expected);
    drop((store, other));
    assert_eq!(contents(&open(ground).await).await, expected);
}

/// Writes that only add have no expectation: committed concurrently, none conflicts.
pub async fn additions_never_conflict(ground: &dyn Ground) {
    let handles = [open(ground).await, open(ground).await];
    fill(&handles[0], &[record(1)]).await;
    let adding = (0..24_usize).map(|n| {
        let store = Arc::clone(&handles[n % 2]);
        let words = comment(&n.to_string());
        let all = changes()
            .write(create("new"))
            .write(Write::AddComment {
                task: id(1),
                comment: words,
            })
            .event(event(1));
        tokio::spawn(async move { commit(&store, all).await })
    });
    for one in adding.collect::<Vec<_>>() {
        one.await.unwrap();
    }
    let found = contents(&handles[0]).await;
    assert_eq!(found, contents(&handles[1]).await);
    let comments = handles[0].comments(&CommentQuery::of(id(1))).await.unwrap();
    let numbers: Vec<u64> = comments.iter().map(|c| c.id).collect();
    assert_eq!(numbers, (1..=24).collect::<Vec<_>>());
}

/// A fence is 0 at first and increases by one with every touch; the other fence is not affected.
pub async fn a_fence_moves_on_with_every_touch(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    for expected in 0..3 {
        assert_eq!(store.fence(Fence::TaskGraph).await.unwrap(), expected);
        let touch = Write::TouchFence {
            fence: Fence::TaskGraph,
            expected,
        };
        commit(&store, only(touch)).await;
    }
    assert_eq!(other.fence(Fence::TaskGraph).await.unwrap(), 3);
    assert_eq!(other.fence(Fence::Workspaces).await.unwrap(), 0);
}
