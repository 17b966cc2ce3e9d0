//! Conformance tests of `Ledger::commit`, through which operations write to a store: atomicity, optimistic
//! concurrency control, durability and fences.

use std::sync::Arc;

use polis_core::changeset::{Fence, StoreWrite};
use polis_core::{RecordKey, WritePrecondition};
use polis_ops::port::{CommentQuery, CommitOutcome};

use super::store_fixtures::{
    commit_changeset, create_task, default_workspace, empty_changeset, insert_task, insert_tasks,
    new_agent, new_comment, open_store, read_task, replace_task, single_write, snapshot_store,
    task_event, task_id, task_record, unnumbered_task,
};
use crate::StoreFactory;
use crate::store_factory::parse_agent_id;

/// All writes and events of a changeset become visible together, or none does: a conflict of the last write
/// undoes every kind of write before it.
pub async fn conflict_rolls_back_whole_changeset(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    insert_tasks(&store, &[task_record(1), task_record(2)]).await;
    let stale = read_task(&store, 2).await;
    commit_changeset(
        &store,
        single_write(replace_task(&stale, |t| t.owner = "a".to_owned())),
    )
    .await;
    let before = snapshot_store(&store).await;

    let first = read_task(&store, 1).await;
    let mut all = empty_changeset()
        .with_write(StoreWrite::CreateTask(Box::new(unnumbered_task("new"))))
        .with_write(replace_task(&first, |t| t.subject = "changed".to_owned()))
        .with_write(StoreWrite::CloseBlocker {
            dependents: vec![task_id(1)],
        })
        .with_write(StoreWrite::RaiseTaskNumber(50))
        .with_write(StoreWrite::AddComment {
            task: task_id(1),
            comment: new_comment("hello"),
        })
        .with_write(StoreWrite::PutAgent {
            expect: WritePrecondition::Absent,
            agent: new_agent("architect"),
        })
        .with_write(StoreWrite::PutWorkspace {
            expect: WritePrecondition::Absent,
            workspace: default_workspace("architect"),
        })
        .with_write(StoreWrite::TouchFence {
            fence: Fence::TaskGraph,
            expected: 0,
        })
        .with_write(StoreWrite::TouchFence {
            fence: Fence::Workspaces,
            expected: 0,
        })
        .with_event(task_event(1));
    all.writes
        .push(replace_task(&stale, |t| t.owner = "b".to_owned()));
    let outcome = store.commit(all).await.unwrap();
    assert_eq!(
        outcome,
        CommitOutcome::Conflict(RecordKey::Task(task_id(2)))
    );
    assert_eq!(snapshot_store(&store).await, before);
}

/// All writes and events of a changeset become visible together: a reader on another handle never sees one of
/// two tasks changed without the other.
pub async fn changeset_becomes_visible_atomically(factory: &dyn StoreFactory) {
    const ROUNDS: u64 = 40;
    let store = open_store(factory).await;
    let reader = open_store(factory).await;
    insert_tasks(&store, &[task_record(1), task_record(2)]).await;
    let writing = tokio::spawn(async move {
        for round in 0..ROUNDS {
            let (one, two) = (read_task(&store, 1).await, read_task(&store, 2).await);
            let both = empty_changeset()
                .with_write(replace_task(&one, |t| t.subject = round.to_string()))
                .with_write(replace_task(&two, |t| t.subject = round.to_string()))
                .with_event(task_event(1))
                .with_event(task_event(2));
            commit_changeset(&store, both).await;
        }
    });
    loop {
        let done = writing.is_finished();
        let tasks = reader.scan_tasks(None, 10).await.unwrap();
        assert_eq!(tasks[0].revision, tasks[1].revision);
        let last = reader.last_sequence().await.unwrap();
        assert_eq!(last % 2, 0, "only half of a changeset's events is visible");
        if done {
            break;
        }
        tokio::task::yield_now().await;
    }
    writing.await.unwrap();
}

/// An expectation that does not hold is a conflict that names its record, and changes nothing.
pub async fn conflict_names_mismatched_record(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    insert_tasks(&store, &[task_record(1)]).await;
    let architect = StoreWrite::PutAgent {
        expect: WritePrecondition::Absent,
        agent: new_agent("architect"),
    };
    commit_changeset(&store, single_write(architect.clone())).await;
    let workspace_write = StoreWrite::PutWorkspace {
        expect: WritePrecondition::Absent,
        workspace: default_workspace("architect"),
    };
    commit_changeset(&store, single_write(workspace_write.clone())).await;
    let fence = StoreWrite::TouchFence {
        fence: Fence::TaskGraph,
        expected: 0,
    };
    commit_changeset(&store, single_write(fence.clone())).await;
    let before = snapshot_store(&store).await;
    let mut other = task_record(1);
    other.revision = 7;
    let mut absent = task_record(9);
    absent.revision = 3;
    let unknown = StoreWrite::PutAgent {
        expect: WritePrecondition::Revision(1),
        agent: new_agent("nobody"),
    };
    let unknown_workspace = StoreWrite::PutWorkspace {
        expect: WritePrecondition::Revision(1),
        workspace: default_workspace("nobody"),
    };
    let cases = [
        (
            workspace_write,
            RecordKey::Workspace(parse_agent_id("architect")),
        ),
        (
            unknown_workspace,
            RecordKey::Workspace(parse_agent_id("nobody")),
        ),
        (insert_task(&task_record(1)), RecordKey::Task(task_id(1))),
        (replace_task(&other, |_| ()), RecordKey::Task(task_id(1))),
        (replace_task(&absent, |_| ()), RecordKey::Task(task_id(9))),
        (architect, RecordKey::Agent(parse_agent_id("architect"))),
        (unknown, RecordKey::Agent(parse_agent_id("nobody"))),
        (fence, RecordKey::Fence(Fence::TaskGraph)),
    ];
    for (write, key) in cases {
        let outcome = store
            .commit(single_write(write).with_event(task_event(1)))
            .await
            .unwrap();
        assert_eq!(outcome, CommitOutcome::Conflict(key));
    }
    assert_eq!(snapshot_store(&store).await, before);
}

/// Of several changesets that expect the same revision of a record, at most one is committed: for tasks,
/// agents, workspaces and fences, concurrently from several handles.
pub async fn concurrent_changesets_on_one_revision_one_commits(factory: &dyn StoreFactory) {
    let handles = [open_store(factory).await, open_store(factory).await];
    insert_tasks(&handles[0], &[task_record(1)]).await;
    for round in 0..12_u64 {
        let current = read_task(&handles[0], 1).await;
        let stored_agent = handles[0]
            .agent(&parse_agent_id("architect"))
            .await
            .unwrap();
        let expect = stored_agent.map_or(WritePrecondition::Absent, |found| {
            WritePrecondition::Revision(found.revision)
        });
        let stored_workspace = handles[0]
            .workspace(&parse_agent_id("architect"))
            .await
            .unwrap();
        let on = stored_workspace.map_or(WritePrecondition::Absent, |found| {
            WritePrecondition::Revision(found.revision)
        });
        let rivals = (0..8_u64).map(|n| {
            let owner = format!("rival-{n}");
            let write = match round % 4 {
                0 => replace_task(&current, |t| t.owner = owner),
                1 => StoreWrite::PutAgent {
                    expect,
                    agent: new_agent("architect"),
                },
                2 => StoreWrite::PutWorkspace {
                    expect: on,
                    workspace: default_workspace("architect"),
                },
                _ => StoreWrite::TouchFence {
                    fence: Fence::TaskGraph,
                    expected: round / 4,
                },
            };
            let store = Arc::clone(&handles[n as usize % handles.len()]);
            let all = single_write(write).with_event(task_event(n + 1));
            tokio::spawn(async move { store.commit(all).await.unwrap() })
        });
        let mut committed = 0;
        for rival in rivals.collect::<Vec<_>>() {
            committed += u32::from(matches!(rival.await.unwrap(), CommitOutcome::Committed(_)));
        }
        assert_eq!(committed, 1, "round {round}");
    }
    assert_eq!(handles[1].last_sequence().await.unwrap(), 12);
}

/// Commits are durable: what one handle committed is read by every other handle, including one that is opened
/// later.
pub async fn commit_is_readable_through_every_handle(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let receipt = commit_changeset(
        &store,
        single_write(create_task("first")).with_event(task_event(1)),
    )
    .await;
    assert_eq!(receipt.created, Some(task_id(1)));
    assert_eq!(receipt.sequence, 1);
    let expected = snapshot_store(&store).await;
    assert_eq!(snapshot_store(&other).await, expected);
    drop((store, other));
    assert_eq!(snapshot_store(&open_store(factory).await).await, expected);
}

/// Writes that only add have no expectation: committed concurrently, none conflicts.
pub async fn concurrent_additions_never_conflict(factory: &dyn StoreFactory) {
    let handles = [open_store(factory).await, open_store(factory).await];
    insert_tasks(&handles[0], &[task_record(1)]).await;
    let adding = (0..24_usize).map(|n| {
        let store = Arc::clone(&handles[n % 2]);
        let comment = new_comment(&n.to_string());
        let all = empty_changeset()
            .with_write(create_task("new"))
            .with_write(StoreWrite::AddComment {
                task: task_id(1),
                comment,
            })
            .with_event(task_event(1));
        tokio::spawn(async move { commit_changeset(&store, all).await })
    });
    for one in adding.collect::<Vec<_>>() {
        one.await.unwrap();
    }
    let found = snapshot_store(&handles[0]).await;
    assert_eq!(found, snapshot_store(&handles[1]).await);
    let comments = handles[0]
        .comments(&CommentQuery::for_task(task_id(1)))
        .await
        .unwrap();
    let numbers: Vec<u64> = comments.iter().map(|c| c.id).collect();
    assert_eq!(numbers, (1..=24).collect::<Vec<_>>());
}

/// A fence is 0 at first and increases by one with every touch; the other fence is not affected.
pub async fn fence_increases_with_every_touch(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    for expected in 0..3 {
        assert_eq!(
            store.fence_revision(Fence::TaskGraph).await.unwrap(),
            expected
        );
        let touch = StoreWrite::TouchFence {
            fence: Fence::TaskGraph,
            expected,
        };
        commit_changeset(&store, single_write(touch)).await;
    }
    assert_eq!(other.fence_revision(Fence::TaskGraph).await.unwrap(), 3);
    assert_eq!(other.fence_revision(Fence::Workspaces).await.unwrap(), 0);
}
