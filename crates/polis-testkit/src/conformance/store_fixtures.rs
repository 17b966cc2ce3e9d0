//! Fixtures for the conformance suite: records, changesets, random task sets, and a snapshot of everything in
//! a store.

use std::sync::Arc;

use polis_core::board::{BoardHead, VersionEntry};
use polis_core::changeset::{Fence, StoreWrite};
use polis_core::message::Message;
use polis_core::record::{RecordKind, StoredRecord};
use polis_core::task::{Comment, NewComment, TaskPriority};
use polis_core::workspace::workspace_record::Workspace;
use polis_core::{
    Agent, AgentId, AgentLayer, AgentStatus, Changeset, Event, EventSubject, NewEvent, RawJson,
    RawObject, Task, TaskId, TaskRecord, TaskStatus, TaskType, Timestamp, WritePrecondition,
};
use polis_ops::Receipt;
use polis_ops::port::{
    BoardText, CommentQuery, CommitOutcome, EventLogQuery, MailboxKey, Store, StoredTurn,
};

use super::record_fixtures::{list_records, read_mailbox, read_turns};
use crate::clock::START_MILLIS;
use crate::store_factory::parse_agent_id;
use crate::{SeededRng, StoreFactory};

/// The roles and agent names used in random tasks.
pub(super) const ROLE_NAMES: [&str; 3] = ["architect", "backend-leader", "frontend-leader"];
pub(super) const AGENT_NAMES: [&str; 4] =
    ["architect", "backend-leader", "backend-leader-2", "helper"];
pub(super) const TASK_TYPES: [TaskType; 3] = [TaskType::BugFix, TaskType::Testing, TaskType::Other];

/// Further recipients of messages.
const MAILBOX_OWNERS: [&str; 3] = ["b", "c", "user"];

/// Members with conversations.
pub(super) const MEMBER_NAMES: [&str; 3] = ["run/a", "run/b", "run-2/a"];

pub(super) async fn open_store(factory: &dyn StoreFactory) -> Arc<dyn Store> {
    factory.open().await.unwrap()
}

pub(super) fn task_id(number: u64) -> TaskId {
    TaskId::new(number).unwrap()
}

pub(super) fn timestamp_after_start(after_beginning: i64) -> Timestamp {
    Timestamp::from_millis(START_MILLIS + after_beginning)
}

/// An empty changeset by the person.
pub(super) fn empty_changeset() -> Changeset {
    Changeset {
        actor: AgentId::user(),
        at: timestamp_after_start(0),
        writes: Vec::new(),
        events: Vec::new(),
    }
}

/// A changeset with a single write.
pub(super) fn single_write(write: StoreWrite) -> Changeset {
    empty_changeset().with_write(write)
}

/// An event about a task.
pub(super) fn task_event(task: u64) -> NewEvent {
    NewEvent::new(
        EventSubject::Task(task_id(task)),
        crate::sample_event::comment_payload(&task.to_string()),
    )
}

/// A new task with this number.
pub(super) fn task_record(number: u64) -> TaskRecord {
    let task = Task {
        id: task_id(number),
        subject: format!("task {number}"),
        description: String::new(),
        active_form: None,
        status: TaskStatus::Pending,
        owner: String::new(),
        metadata: None,
        blocks: Vec::new(),
        blocked_by: Vec::new(),
        created_at: Some(timestamp_after_start(0)),
        updated_at: Some(timestamp_after_start(0)),
        required_role: None,
        version: 1,
        task_type: None,
        priority: None,
        claimed_at: None,
        started_at: None,
        completed_at: None,
        lease_ms: None,
        lease_expires_at: None,
        approval: None,
        extra: RawObject::default(),
    };
    TaskRecord {
        task,
        revision: 1,
        owner_role: None,
        open_blockers: 0,
    }
}

/// A task without a number.
pub(super) fn unnumbered_task(subject: &str) -> TaskRecord {
    let mut new = task_record(1);
    new.task.id = TaskId::UNASSIGNED;
    new.task.subject = subject.to_owned();
    new
}

pub(super) fn create_task(subject: &str) -> StoreWrite {
    StoreWrite::CreateTask(Box::new(unnumbered_task(subject)))
}

/// A put of a new task, with its open blockers.
pub(super) fn insert_task(record: &TaskRecord) -> StoreWrite {
    StoreWrite::PutTask {
        expect: WritePrecondition::Absent,
        record: Box::new(record.clone()),
        blocker_change: i64::from(record.open_blockers),
    }
}

/// A put of a record's successor: changed by `change`, at the next revision.
pub(super) fn replace_task(before: &TaskRecord, change: impl FnOnce(&mut Task)) -> StoreWrite {
    let mut after = before.clone();
    after.revision += 1;
    after.task.version += 1;
    change(&mut after.task);
    StoreWrite::PutTask {
        expect: WritePrecondition::Revision(before.revision),
        record: Box::new(after),
        blocker_change: 0,
    }
}

pub(super) fn new_comment(body: &str) -> NewComment {
    NewComment {
        author: "architect".to_owned(),
        at: timestamp_after_start(5),
        body: body.to_owned(),
        reply_to: None,
        mentions: Vec::new(),
    }
}

pub(super) fn new_agent(name: &str) -> Agent {
    Agent {
        id: parse_agent_id(name),
        name: format!("{name} 先生"),
        role: "architect".to_owned(),
        layer: AgentLayer::Mid,
        supervisor: None,
        status: AgentStatus::Active,
        run: None,
        created_at: timestamp_after_start(0),
    }
}

/// A workspace in its default directory.
pub(super) fn default_workspace(agent: &str) -> Workspace {
    Workspace {
        workspace_id: parse_agent_id(agent),
        workspace_path: None,
        created_at: timestamp_after_start(7),
    }
}

/// Commits a changeset that must not conflict.
pub(super) async fn commit_changeset(store: &Arc<dyn Store>, changes: Changeset) -> Receipt {
    match store.commit(changes).await.unwrap() {
        CommitOutcome::Committed(receipt) => receipt,
        CommitOutcome::Conflict(key) => panic!("a conflict on {key:?}"),
    }
}

/// Reads an existing task.
pub(super) async fn read_task(store: &Arc<dyn Store>, number: u64) -> TaskRecord {
    store
        .tasks(&[task_id(number)])
        .await
        .unwrap()
        .pop()
        .unwrap()
}

/// Returns the complete log.
pub(super) async fn read_log(store: &Arc<dyn Store>) -> Vec<Event> {
    let query = EventLogQuery {
        limit: u32::MAX,
        ..EventLogQuery::default()
    };
    store.events(&query).await.unwrap()
}

/// A snapshot of everything in a store.
#[derive(Debug, PartialEq)]
pub(super) struct StoreSnapshot {
    tasks: Vec<TaskRecord>,
    comments: Vec<Vec<Comment>>,
    agents: Vec<Agent>,
    workspaces: Vec<Workspace>,
    boards: Vec<BoardHead>,
    versions: Vec<Vec<VersionEntry>>,
    texts: Vec<Option<BoardText>>,
    records: Vec<Vec<StoredRecord>>,
    mail: Vec<Vec<Message>>,
    waiting: Vec<Vec<MailboxKey>>,
    turns: Vec<Vec<StoredTurn>>,
    log: Vec<Event>,
    last_task_number: u64,
    fences: [u64; 2],
}

pub(super) async fn snapshot_store(store: &Arc<dyn Store>) -> StoreSnapshot {
    let tasks = store.scan_tasks(None, u32::MAX).await.unwrap();
    let mut comments = Vec::new();
    for record in &tasks {
        comments.push(
            store
                .comments(&CommentQuery::for_task(record.task.id))
                .await
                .unwrap(),
        );
    }
    let boards = store.boards().await.unwrap();
    let (mut versions, mut texts) = (Vec::new(), Vec::new());
    for head in &boards {
        versions.push(store.board_versions(&head.name, u32::MAX).await.unwrap());
        texts.push(store.board_text(&head.name, head.version).await.unwrap());
    }
    let (mut records, mut mail) = (Vec::new(), Vec::new());
    for kind in RecordKind::ALL {
        records.push(list_records(store, kind).await);
    }
    for name in AGENT_NAMES.into_iter().chain(MAILBOX_OWNERS) {
        mail.push(read_mailbox(store, name).await);
    }
    let (mut waiting, mut turns) = (Vec::new(), Vec::new());
    for now in [0, 1, 2] {
        let now = START_MILLIS + now;
        waiting.push(store.unread_mailboxes(now, None, u32::MAX).await.unwrap());
    }
    for member in MEMBER_NAMES {
        turns.push(read_turns(store, member, 0, u32::MAX).await);
    }
    StoreSnapshot {
        waiting,
        turns,
        records,
        mail,
        tasks,
        comments,
        boards,
        versions,
        texts,
        agents: store.agents().await.unwrap(),
        workspaces: store.workspaces().await.unwrap(),
        log: read_log(store).await,
        last_task_number: store.last_task_number().await.unwrap(),
        fences: [
            store.fence_revision(Fence::TaskGraph).await.unwrap(),
            store.fence_revision(Fence::Workspaces).await.unwrap(),
        ],
    }
}

/// Creates `size` random tasks in every state and combination that lists distinguish.
pub(super) fn random_tasks(rng: &mut SeededRng, size: u64) -> Vec<TaskRecord> {
    (1..=size).map(|number| random_task(rng, number)).collect()
}

fn random_task(rng: &mut SeededRng, number: u64) -> TaskRecord {
    let mut one = task_record(number);
    one.open_blockers = u32::try_from(rng.below(3).saturating_sub(1)).unwrap();
    let task = &mut one.task;
    task.status = *rng.choose(&TaskStatus::ALL);
    task.required_role = rng.choose_optional(&ROLE_NAMES).map(str::to_owned);
    task.task_type = rng.choose_optional(&TASK_TYPES);
    if !rng.one_in(3) {
        task.owner = (*rng.choose(&AGENT_NAMES)).to_owned();
        one.owner_role = rng.choose_optional(&ROLE_NAMES).map(str::to_owned);
    }
    if rng.one_in(2) {
        task.lease_expires_at = Some(timestamp_after_start(rng.below(5) as i64 - 2));
    }
    if rng.one_in(2) {
        let word = *rng.choose(&["critical", "P1", "normal", "low", "no such word"]);
        let priority = RawJson::from_value(&word).unwrap();
        task.metadata = Some([("priority".to_owned(), priority)].into_iter().collect());
        task.priority = TaskPriority::from_metadata(task.metadata.as_ref());
    }
    task.blocks = (0..rng.below(4)).map(|n| task_id(1_000 + n)).collect();
    one
}

/// Inserts all these tasks into a store.
pub(super) async fn insert_tasks(store: &Arc<dyn Store>, board: &[TaskRecord]) {
    let mut all = empty_changeset();
    all.writes.extend(board.iter().map(insert_task));
    commit_changeset(store, all).await;
}
