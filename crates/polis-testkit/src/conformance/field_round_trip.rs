//! Conformance tests of the store ports: tasks, agents, workspaces and comments are read back exactly as
//! written, field by field.

use polis_core::changeset::StoreWrite;
use polis_core::task::{NewComment, TaskApproval, TaskPriority};
use polis_core::workspace::workspace_record::{AssignedWorkspace, Workspace};
use polis_core::{
    AgentLayer, AgentStatus, RawJson, RawObject, RecordKey, RegisteredAgent, TaskRecord,
    TaskStatus, TaskType, WritePrecondition,
};
use polis_ops::port::{CommentQuery, CommitOutcome};

use super::store_fixtures::{
    commit_changeset, default_workspace, empty_changeset, insert_task, new_agent, open_store,
    read_task, replace_task, single_write, task_id, task_record, timestamp_after_start,
};
use crate::StoreFactory;
use crate::store_factory::parse_agent_id;

/// Text with characters that a store could mishandle.
pub(super) const DIFFICULT_TEXT: &str =
    "后端 🚀 'quoted\" \\ %_ $1 ? -- ;\r\n\ttab \u{202e}rtl e\u{301}";

fn raw_object(json: &[(&str, &str)]) -> RawObject {
    json.iter()
        .map(|(key, text)| ((*key).to_owned(), RawJson::parse(text).unwrap()))
        .collect()
}

/// A task with every field filled with difficult values.
fn task_with_every_field(number: u64) -> TaskRecord {
    let mut one = task_record(number);
    one.revision = 900_000_000_000;
    one.owner_role = Some("架构师".to_owned());
    one.open_blockers = 2;
    let task = &mut one.task;
    task.subject = DIFFICULT_TEXT.to_owned();
    task.description = DIFFICULT_TEXT.repeat(30);
    task.active_form = Some(DIFFICULT_TEXT.to_owned());
    task.status = TaskStatus::InProgress;
    task.owner = "程序员-2".to_owned();
    task.metadata = Some(raw_object(&[
        ("big", "123456789012345678901234567890"),
        ("precise", "1.50"),
        ("exponent", "1E400"),
        ("escaped", r#""\u0000 \u00e9 \/ é""#),
        ("z", r#"{"b":1,"a":[1,[2,{"c":null}]]}"#),
        ("", "false"),
        ("priority", r#""high""#),
    ]));
    task.blocks = [2, 9, 5].map(task_id).into();
    task.blocked_by = [polis_core::TaskId::MAX, 1].map(task_id).into();
    task.required_role = Some("architect".to_owned());
    task.version = 4_000_000_000_000;
    task.task_type = Some(TaskType::ApiDesign);
    task.priority = Some(TaskPriority::High);
    task.created_at = polis_core::Timestamp::parse("2026-01-02T03:04:05+08:00");
    task.updated_at = Some(timestamp_after_start(1));
    task.claimed_at = Some(timestamp_after_start(2));
    task.started_at = Some(timestamp_after_start(3));
    task.completed_at = Some(timestamp_after_start(4));
    task.lease_ms = Some(u64::MAX);
    task.lease_expires_at = Some(timestamp_after_start(5));
    task.approval = Some(TaskApproval {
        by: parse_agent_id("team-lead"),
        at: timestamp_after_start(6),
        note: Some(DIFFICULT_TEXT.to_owned()),
    });
    task.extra = raw_object(&[
        ("x-other", "[1e5, 0.10]"),
        ("日本", r#"{"k":18446744073709551616}"#),
    ]);
    one
}

/// Every field of a task is read back exactly as written.
pub async fn every_task_field_is_stored(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let mut full = task_with_every_field(3);
    commit_changeset(&store, single_write(insert_task(&full))).await;
    assert_eq!(read_task(&store, 3).await, full);
    assert_eq!(read_task(&other, 3).await, full);
    // The creation time is set by the first put and never changes.
    let mut bare = task_record(4);
    bare.task.created_at.clone_from(&full.task.created_at);
    commit_changeset(&store, single_write(insert_task(&bare))).await;
    assert_eq!(read_task(&other, 4).await, bare);
    full.task.id = task_id(4);
    full.revision = 1;
    let write = replace_task(&full, |_| ());
    commit_changeset(&store, single_write(write)).await;
    let after = read_task(&other, 4).await;
    full.revision = 2;
    full.task.version += 1;
    full.open_blockers = 0;
    assert_eq!(after, full);
}

/// A field that is removed is gone.
pub async fn removed_task_fields_are_deleted(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let mut before = task_with_every_field(1);
    before.revision = 1;
    before.open_blockers = 0;
    commit_changeset(&store, single_write(insert_task(&before))).await;
    let mut bare = task_record(1);
    bare.task.created_at.clone_from(&before.task.created_at);
    bare.task.updated_at = None;
    let mut after = bare;
    after.revision = 2;
    let write = StoreWrite::PutTask {
        expect: WritePrecondition::Revision(1),
        record: Box::new(after.clone()),
        blocker_change: 0,
    };
    commit_changeset(&store, single_write(write)).await;
    assert_eq!(read_task(&store, 1).await, after);
}

/// Creating a task stores every field except the number, which the store assigns.
pub async fn created_task_has_every_field(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let mut new = task_with_every_field(1);
    new.task.id = polis_core::TaskId::UNASSIGNED;
    new.open_blockers = 0;
    commit_changeset(
        &store,
        single_write(StoreWrite::CreateTask(Box::new(new.clone()))),
    )
    .await;
    new.task.id = task_id(1);
    assert_eq!(read_task(&store, 1).await, new);
}

/// Every field of an agent is stored; its revision starts at 1 and increases by one with every put.
pub async fn every_agent_field_is_stored(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let mut first = new_agent("程序员-2");
    first.name = "程序员 'two' \"quoted\" 🚀".to_owned();
    first.layer = AgentLayer::Bottom;
    first.supervisor = Some(parse_agent_id("architect"));
    let mut changes = empty_changeset();
    for one in [&first, &new_agent("architect"), &new_agent("a.b_c")] {
        changes.writes.push(StoreWrite::PutAgent {
            expect: WritePrecondition::Absent,
            agent: one.clone(),
        });
    }
    commit_changeset(&store, changes).await;
    assert_eq!(
        other.agent(&first.id).await.unwrap(),
        Some(RegisteredAgent {
            agent: first.clone(),
            revision: 1
        })
    );
    let mut retired = first.clone();
    retired.status = AgentStatus::Retired;
    let again = StoreWrite::PutAgent {
        expect: WritePrecondition::Revision(1),
        agent: retired.clone(),
    };
    commit_changeset(&store, single_write(again)).await;
    assert_eq!(
        other.agent(&first.id).await.unwrap(),
        Some(RegisteredAgent {
            agent: retired.clone(),
            revision: 2
        })
    );
    assert_eq!(other.agent(&parse_agent_id("nobody")).await.unwrap(), None);
    let all = [new_agent("a.b_c"), new_agent("architect"), retired];
    assert_eq!(other.agents().await.unwrap(), all);
}

/// Every field of a workspace is stored; its revision starts at 1 and increases by one with every put.
pub async fn every_workspace_field_is_stored(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let (first, second) = (default_workspace("程序员-2"), default_workspace("a.b_c"));
    let mut changes = empty_changeset();
    for one in [&first, &second] {
        changes.writes.push(StoreWrite::PutWorkspace {
            expect: WritePrecondition::Absent,
            workspace: one.clone(),
        });
    }
    commit_changeset(&store, changes).await;
    let found = other.workspace(&first.workspace_id).await.unwrap();
    let expected = AssignedWorkspace {
        workspace: first.clone(),
        revision: 1,
    };
    assert_eq!(found, Some(expected));
    let bound = Workspace {
        workspace_path: Some(format!("/srv/{}", DIFFICULT_TEXT.replace('/', ""))),
        ..first.clone()
    };
    let again = StoreWrite::PutWorkspace {
        expect: WritePrecondition::Revision(1),
        workspace: bound.clone(),
    };
    commit_changeset(&store, single_write(again)).await;
    let found = other.workspace(&first.workspace_id).await.unwrap();
    let expected = AssignedWorkspace {
        workspace: bound.clone(),
        revision: 2,
    };
    assert_eq!(found, Some(expected));
    assert_eq!(
        other.workspace(&parse_agent_id("nobody")).await.unwrap(),
        None
    );
    assert_eq!(other.workspaces().await.unwrap(), [second, bound]);
}

/// A workspace and its agent become visible together, and a conflict on either leaves neither.
pub async fn agent_and_workspace_commit_atomically(factory: &dyn StoreFactory) {
    let (store, other) = (open_store(factory).await, open_store(factory).await);
    let both = |name: &str| {
        empty_changeset()
            .with_write(StoreWrite::PutAgent {
                expect: WritePrecondition::Absent,
                agent: new_agent(name),
            })
            .with_write(StoreWrite::PutWorkspace {
                expect: WritePrecondition::Absent,
                workspace: default_workspace(name),
            })
    };
    commit_changeset(&store, both("ada")).await;
    let existing = StoreWrite::PutWorkspace {
        expect: WritePrecondition::Absent,
        workspace: default_workspace("bob"),
    };
    commit_changeset(&store, single_write(existing)).await;
    let outcome = store.commit(both("bob")).await.unwrap();
    assert_eq!(
        outcome,
        CommitOutcome::Conflict(RecordKey::Workspace(parse_agent_id("bob")))
    );
    assert_eq!(other.agents().await.unwrap(), [new_agent("ada")]);
    let all = [default_workspace("ada"), default_workspace("bob")];
    assert_eq!(other.workspaces().await.unwrap(), all);
}

/// A description of the maximum length is stored.
pub async fn longest_description_is_stored(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let mut long = task_record(1);
    long.task.description = "长".repeat(polis_core::task::text_limits::MAX_TEXT_BYTES / 3);
    commit_changeset(&store, single_write(insert_task(&long))).await;
    assert!(
        read_task(&store, 1).await == long,
        "a long text was changed"
    );
}

/// Every field of a comment is stored.
pub async fn every_comment_field_is_stored(factory: &dyn StoreFactory) {
    let store = open_store(factory).await;
    let long = NewComment {
        author: "程序员-2".to_owned(),
        at: timestamp_after_start(9),
        body: DIFFICULT_TEXT.repeat(20),
        reply_to: Some(1),
        mentions: vec!["architect".to_owned(), "程序员".to_owned()],
    };
    let both = empty_changeset()
        .with_write(insert_task(&task_record(1)))
        .with_write(StoreWrite::AddComment {
            task: task_id(1),
            comment: super::store_fixtures::new_comment("first"),
        })
        .with_write(StoreWrite::AddComment {
            task: task_id(1),
            comment: long.clone(),
        });
    commit_changeset(&store, both).await;
    assert_eq!(
        store
            .comments(&CommentQuery::for_task(task_id(1)))
            .await
            .unwrap()[1],
        long.with_id(2)
    );
}
