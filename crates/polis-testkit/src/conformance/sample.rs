//! Fixtures for the conformance suite: records, changesets, random task sets, and a snapshot of everything in
//! a store.

use std::sync::Arc;

use polis_core::board::{BoardHead, VersionEntry};
use polis_core::changeset::{Fence, Write};
use polis_core::message::Message;
use polis_core::record::{RecordKind, Stored};
use polis_core::task::{Comment, NewComment};
use polis_core::workspace::record::Workspace;
use polis_core::{
    Agent, AgentId, AgentStatus, Changeset, Event, Expect, Fields, Layer, NewEvent, Raw, Subject,
    Task, TaskId, TaskRecord, TaskStatus, TaskType, Timestamp,
};
use polis_ops::Receipt;
use polis_ops::port::{BoardText, CommentQuery, EventQuery, Mailbox, Outcome, Store, StoredTurn};

use super::plain_sample::{all_of, mailbox, turns_of};
use crate::clock::BEGINNING;
use crate::test_store::agent;
use crate::{Dice, Ground};

/// The roles and agent names used in random tasks.
pub(super) const ROLES: [&str; 3] = ["architect", "backend-leader", "frontend-leader"];
pub(super) const AGENTS: [&str; 4] = ["architect", "backend-leader", "backend-leader-2", "helper"];
pub(super) const TYPES: [TaskType; 3] = [TaskType::BugFix, TaskType::Testing, TaskType::Other];

/// Further recipients of messages.
const MAILBOXES: [&str; 3] = ["b", "c", "user"];

/// Members with conversations.
pub(super) const MEMBERS: [&str; 3] = ["run/a", "run/b", "run-2/a"];

pub(super) async fn open(ground: &dyn Ground) -> Arc<dyn Store> {
    ground.open().await.unwrap()
}

pub(super) fn id(number: u64) -> TaskId {
    TaskId::new(number).unwrap()
}

pub(super) fn moment(after_beginning: i64) -> Timestamp {
    Timestamp::from_millis(BEGINNING + after_beginning)
}

/// An empty changeset by the user.
pub(super) fn changes() -> Changeset {
    Changeset {
        actor: AgentId::user(),
        at: moment(0),
        writes: Vec::new(),
        events: Vec::new(),
    }
}

/// A changeset with a single write.
pub(super) fn only(write: Write) -> Changeset {
    changes().write(write)
}

/// An event about a task.
pub(super) fn event(task: u64) -> NewEvent {
    NewEvent::of("test.event", Subject::Task(id(task)), &task)
}

/// A new task with this number.
pub(super) fn record(number: u64) -> TaskRecord {
    let task = Task {
        id: id(number),
        subject: format!("task {number}"),
        description: String::new(),
        active_form: None,
        status: TaskStatus::Pending,
        owner: String::new(),
        metadata: None,
        blocks: Vec::new(),
        blocked_by: Vec::new(),
        created_at: Some(moment(0)),
        updated_at: Some(moment(0)),
        required_role: None,
        version: 1,
        task_type: None,
        claimed_at: None,
        started_at: None,
        completed_at: None,
        lease_ms: None,
        lease_expires_at: None,
        approval: None,
        extra: Fields::default(),
    };
    TaskRecord {
        task,
        revision: 1,
        owner_role: None,
        open_blockers: 0,
    }
}

/// A task without a number.
pub(super) fn unnumbered(subject: &str) -> TaskRecord {
    let mut new = record(1);
    new.task.id = TaskId::UNASSIGNED;
    new.task.subject = subject.to_owned();
    new
}

pub(super) fn create(subject: &str) -> Write {
    Write::CreateTask(Box::new(unnumbered(subject)))
}

/// A put of a new task, with its open blockers.
pub(super) fn insert(record: &TaskRecord) -> Write {
    Write::PutTask {
        expect: Expect::Absent,
        record: Box::new(record.clone()),
        blocker_change: i64::from(record.open_blockers),
    }
}

/// A put of a record's successor: changed by `change`, at the next revision.
pub(super) fn replace(before: &TaskRecord, change: impl FnOnce(&mut Task)) -> Write {
    let mut after = before.clone();
    after.revision += 1;
    after.task.version += 1;
    change(&mut after.task);
    Write::PutTask {
        expect: Expect::Revision(before.revision),
        record: Box::new(after),
        blocker_change: 0,
    }
}

pub(super) fn comment(body: &str) -> NewComment {
    NewComment {
        author: "architect".to_owned(),
        at: moment(5),
        body: body.to_owned(),
        reply_to: None,
        mentions: Vec::new(),
    }
}

pub(super) fn member(name: &str) -> Agent {
    Agent {
        id: agent(name),
        name: format!("{name} 先生"),
        role: "architect".to_owned(),
        layer: Layer::Mid,
        supervisor: None,
        status: AgentStatus::Active,
        run: None,
        created_at: moment(0),
    }
}

/// A workspace in its default directory.
pub(super) fn workspace(of: &str) -> Workspace {
    Workspace {
        workspace_id: agent(of),
        workspace_path: None,
        created_at: moment(7),
    }
}

/// Commits a changeset that must not conflict.
pub(super) async fn commit(store: &Arc<dyn Store>, changes: Changeset) -> Receipt {
    match store.commit(changes).await.unwrap() {
        Outcome::Committed(receipt) => receipt,
        Outcome::Conflict(key) => panic!("a conflict on {key:?}"),
    }
}

/// Reads an existing task.
pub(super) async fn task(store: &Arc<dyn Store>, number: u64) -> TaskRecord {
    store.tasks(&[id(number)]).await.unwrap().pop().unwrap()
}

/// Returns the complete log.
pub(super) async fn log(store: &Arc<dyn Store>) -> Vec<Event> {
    let query = EventQuery {
        limit: u32::MAX,
        ..EventQuery::default()
    };
    store.events(&query).await.unwrap()
}

/// A snapshot of everything in a store.
#[derive(Debug, PartialEq)]
pub(super) struct Contents {
    tasks: Vec<TaskRecord>,
    comments: Vec<Vec<Comment>>,
    agents: Vec<Agent>,
    workspaces: Vec<Workspace>,
    boards: Vec<BoardHead>,
    versions: Vec<Vec<VersionEntry>>,
    texts: Vec<Option<BoardText>>,
    records: Vec<Vec<Stored>>,
    mail: Vec<Vec<Message>>,
    waiting: Vec<Vec<Mailbox>>,
    turns: Vec<Vec<StoredTurn>>,
    log: Vec<Event>,
    last_number: u64,
    fences: [u64; 2],
}

pub(super) async fn contents(store: &Arc<dyn Store>) -> Contents {
    let tasks = store.scan_tasks(None, u32::MAX).await.unwrap();
    let mut comments = Vec::new();
    for record in &tasks {
        comments.push(
            store
                .comments(&CommentQuery::of(record.task.id))
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
        records.push(all_of(store, kind).await);
    }
    for name in AGENTS.into_iter().chain(MAILBOXES) {
        mail.push(mailbox(store, name).await);
    }
    let (mut waiting, mut turns) = (Vec::new(), Vec::new());
    for now in [0, 1, 2] {
        let now = BEGINNING + now;
        waiting.push(store.waiting(now, None, u32::MAX).await.unwrap());
    }
    for of in MEMBERS {
        turns.push(turns_of(store, of, 0, u32::MAX).await);
    }
    Contents {
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
        log: log(store).await,
        last_number: store.last_task_number().await.unwrap(),
        fences: [
            store.fence(Fence::TaskGraph).await.unwrap(),
            store.fence(Fence::Workspaces).await.unwrap(),
        ],
    }
}

/// Creates `size` random tasks in every state and combination that lists distinguish.
pub(super) fn board(dice: &mut Dice, size: u64) -> Vec<TaskRecord> {
    (1..=size).map(|number| any_task(dice, number)).collect()
}

fn any_task(dice: &mut Dice, number: u64) -> TaskRecord {
    let mut one = record(number);
    one.open_blockers = u32::try_from(dice.below(3).saturating_sub(1)).unwrap();
    let task = &mut one.task;
    task.status = *dice.pick(&TaskStatus::ALL);
    task.required_role = dice.maybe(&ROLES).map(str::to_owned);
    task.task_type = dice.maybe(&TYPES);
    if !dice.once_in(3) {
        task.owner = (*dice.pick(&AGENTS)).to_owned();
        one.owner_role = dice.maybe(&ROLES).map(str::to_owned);
    }
    if dice.once_in(2) {
        task.lease_expires_at = Some(moment(dice.below(5) as i64 - 2));
    }
    if dice.once_in(2) {
        let word = *dice.pick(&["critical", "high", "low", "no such word"]);
        let priority = Raw::of(&word).unwrap();
        task.metadata = Some([("priority".to_owned(), priority)].into_iter().collect());
    }
    task.blocks = (0..dice.below(4)).map(|n| id(1_000 + n)).collect();
    one
}

/// Inserts all these tasks into a store.
pub(super) async fn fill(store: &Arc<dyn Store>, board: &[TaskRecord]) {
    let mut all = changes();
    all.writes.extend(board.iter().map(insert));
    commit(store, all).await;
}
