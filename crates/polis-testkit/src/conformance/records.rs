//! Port guarantees: tasks, agents, workspaces and comments are read back exactly as written, field by field.

use polis_core::changeset::Write;
use polis_core::task::{Approval, NewComment};
use polis_core::workspace::record::{AssignedWorkspace, Workspace};
use polis_core::{
    AgentStatus, Expect, Fields, Layer, Raw, RecordKey, Registered, TaskRecord, TaskStatus,
    TaskType,
};
use polis_ops::port::{CommentQuery, Outcome};

use super::sample::{
    changes, commit, id, insert, member, moment, only, open, record, replace, task, workspace,
};
use crate::Ground;
use crate::test_store::agent;

/// Text with characters that a store could mishandle.
pub(super) const HARD: &str = "后端 🚀 'quoted\" \\ %_ $1 ? -- ;\r\n\ttab \u{202e}rtl e\u{301}";

fn fields(json: &[(&str, &str)]) -> Fields {
    json.iter()
        .map(|(key, text)| ((*key).to_owned(), Raw::parse(text).unwrap()))
        .collect()
}

/// A task with every field filled with difficult values.
fn full(number: u64) -> TaskRecord {
    let mut one = record(number);
    one.revision = 900_000_000_000;
    one.owner_role = Some("架构师".to_owned());
    one.open_blockers = 2;
    let task = &mut one.task;
    task.subject = HARD.to_owned();
    task.description = HARD.repeat(30);
    task.active_form = Some(HARD.to_owned());
    task.status = TaskStatus::InProgress;
    task.owner = "程序员-2".to_owned();
    task.metadata = Some(fields(&[
        ("big", "123456789012345678901234567890"),
        ("precise", "1.50"),
        ("exponent", "1E400"),
        ("escaped", r#""\u0000 \u00e9 \/ é""#),
        ("z", r#"{"b":1,"a":[1,[2,{"c":null}]]}"#),
        ("", "false"),
        ("priority", r#""high""#),
    ]));
    task.blocks = [2, 9, 5].map(id).into();
    task.blocked_by = [polis_core::TaskId::MAX, 1].map(id).into();
    task.required_role = Some("architect".to_owned());
    task.version = 4_000_000_000_000;
    task.task_type = Some(TaskType::ApiDesign);
    task.created_at = polis_core::Timestamp::parse("2026-01-02T03:04:05+08:00");
    task.updated_at = Some(moment(1));
    task.claimed_at = Some(moment(2));
    task.started_at = Some(moment(3));
    task.completed_at = Some(moment(4));
    task.lease_ms = Some(u64::MAX);
    task.lease_expires_at = Some(moment(5));
    task.approval = Some(Approval {
        by: agent("team-lead"),
        at: moment(6),
        note: Some(HARD.to_owned()),
    });
    task.extra = fields(&[
        ("x-other", "[1e5, 0.10]"),
        ("日本", r#"{"k":18446744073709551616}"#),
    ]);
    one
}

/// Every field of a task is read back exactly as written.
pub async fn every_field_of_a_task_is_kept(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let mut full = full(3);
    commit(&store, only(insert(&full))).await;
    assert_eq!(task(&store, 3).await, full);
    assert_eq!(task(&other, 3).await, full);
    // The creation time is set by the first put and never changes.
    let mut bare = record(4);
    bare.task.created_at.clone_from(&full.task.created_at);
    commit(&store, only(insert(&bare))).await;
    assert_eq!(task(&other, 4).await, bare);
    full.task.id = id(4);
    full.revision = 1;
    let write = replace(&full, |_| ());
    commit(&store, only(write)).await;
    let after = task(&other, 4).await;
    full.revision = 2;
    full.task.version += 1;
    full.open_blockers = 0;
    assert_eq!(after, full);
}

/// A field that is removed is gone.
pub async fn fields_taken_away_are_gone(ground: &dyn Ground) {
    let store = open(ground).await;
    let mut before = full(1);
    before.revision = 1;
    before.open_blockers = 0;
    commit(&store, only(insert(&before))).await;
    let mut bare = record(1);
    bare.task.created_at.clone_from(&before.task.created_at);
    bare.task.updated_at = None;
    let mut after = bare;
    after.revision = 2;
    let put = Write::PutTask {
        expect: Expect::Revision(1),
        record: Box::new(after.clone()),
        blocker_change: 0,
    };
    commit(&store, only(put)).await;
    assert_eq!(task(&store, 1).await, after);
}

/// Creating a task stores every field except the number, which the store assigns.
pub async fn creation_keeps_every_field(ground: &dyn Ground) {
    let store = open(ground).await;
    let mut new = full(1);
    new.task.id = polis_core::TaskId::UNASSIGNED;
    new.open_blockers = 0;
    commit(&store, only(Write::CreateTask(Box::new(new.clone())))).await;
    new.task.id = id(1);
    assert_eq!(task(&store, 1).await, new);
}

/// Every field of an agent is stored; its revision starts at 1 and increases by one with every put.
pub async fn every_field_of_an_agent_is_kept(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let mut first = member("程序员-2");
    first.name = "程序员 'two' \"quoted\" 🚀".to_owned();
    first.layer = Layer::Bottom;
    first.supervisor = Some(agent("architect"));
    let mut put = changes();
    for one in [&first, &member("architect"), &member("a.b_c")] {
        put.writes.push(Write::PutAgent {
            expect: Expect::Absent,
            agent: one.clone(),
        });
    }
    commit(&store, put).await;
    assert_eq!(
        other.agent(&first.id).await.unwrap(),
        Some(Registered {
            agent: first.clone(),
            revision: 1
        })
    );
    let mut retired = first.clone();
    retired.status = AgentStatus::Retired;
    let again = Write::PutAgent {
        expect: Expect::Revision(1),
        agent: retired.clone(),
    };
    commit(&store, only(again)).await;
    assert_eq!(
        other.agent(&first.id).await.unwrap(),
        Some(Registered {
            agent: retired.clone(),
            revision: 2
        })
    );
    assert_eq!(other.agent(&agent("nobody")).await.unwrap(), None);
    let all = [member("a.b_c"), member("architect"), retired];
    assert_eq!(other.agents().await.unwrap(), all);
}

/// Every field of a workspace is stored; its revision starts at 1 and increases by one with every put.
pub async fn every_field_of_a_workspace_is_kept(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let (first, second) = (workspace("程序员-2"), workspace("a.b_c"));
    let mut put = changes();
    for one in [&first, &second] {
        put.writes.push(Write::PutWorkspace {
            expect: Expect::Absent,
            workspace: one.clone(),
        });
    }
    commit(&store, put).await;
    let found = other.workspace(&first.workspace_id).await.unwrap();
    let expected = AssignedWorkspace {
        workspace: first.clone(),
        revision: 1,
    };
    assert_eq!(found, Some(expected));
    let bound = Workspace {
        workspace_path: Some(format!("/srv/{}", HARD.replace('/', ""))),
        ..first.clone()
    };
    let again = Write::PutWorkspace {
        expect: Expect::Revision(1),
        workspace: bound.clone(),
    };
    commit(&store, only(again)).await;
    let found = other.workspace(&first.workspace_id).await.unwrap();
    let expected = AssignedWorkspace {
        workspace: bound.clone(),
        revision: 2,
    };
    assert_eq!(found, Some(expected));
    assert_eq!(other.workspace(&agent("nobody")).await.unwrap(), None);
    assert_eq!(other.workspaces().await.unwrap(), [second, bound]);
}

/// A workspace and its agent become visible together, and a conflict on either leaves neither.
pub async fn an_agent_and_its_workspace_come_together(ground: &dyn Ground) {
    let (store, other) = (open(ground).await, open(ground).await);
    let both = |name: &str| {
        changes()
            .write(Write::PutAgent {
                expect: Expect::Absent,
                agent: member(name),
            })
            .write(Write::PutWorkspace {
                expect: Expect::Absent,
                workspace: workspace(name),
            })
    };
    commit(&store, both("ada")).await;
    let taken = Write::PutWorkspace {
        expect: Expect::Absent,
        workspace: workspace("bob"),
    };
    commit(&store, only(taken)).await;
    let outcome = store.commit(both("bob")).await.unwrap();
    assert_eq!(
        outcome,
        Outcome::Conflict(RecordKey::Workspace(agent("bob")))
    );
    assert_eq!(other.agents().await.unwrap(), [member("ada")]);
    let all = [workspace("ada"), workspace("bob")];
    assert_eq!(other.workspaces().await.unwrap(), all);
}

/// A description of the maximum length is stored.
pub async fn the_longest_text_is_kept(ground: &dyn Ground) {
    let store = open(ground).await;
    let mut long = record(1);
    long.task.description = "长".repeat(polis_core::task::text::MAX_TEXT_BYTES / 3);
    commit(&store, only(insert(&long))).await;
    assert!(task(&store, 1).await == long, "a long text was changed");
}

/// Every field of a comment is stored.
pub async fn every_field_of_a_comment_is_kept(ground: &dyn Ground) {
    let store = open(ground).await;
    let long = NewComment {
        author: "程序员-2".to_owned(),
        at: moment(9),
        body: HARD.repeat(20),
        reply_to: Some(1),
        mentions: vec!["architect".to_owned(), "程序员".to_owned()],
    };
    let both = changes()
        .write(insert(&record(1)))
        .write(Write::AddComment {
            task: id(1),
            comment: super::sample::comment("first"),
        })
        .write(Write::AddComment {
            task: id(1),
            comment: long.clone(),
        });
    commit(&store, both).await;
    assert_eq!(
        store.comments(&CommentQuery::of(id(1))).await.unwrap()[1],
        long.numbered(2)
    );
}
