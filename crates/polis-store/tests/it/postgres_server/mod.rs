//! Tests of the PostgreSQL store against a real server, beyond the conformance suite: two processes, lock
//! timeouts, read-only databases and connection errors. Fault injection is in `postgres_faults`.
//!
//! `POLIS_TEST_PG_FAULT_URL` names a dedicated server, which these tests may break; `POLIS_TEST_PG_RESTART`
//! is a command that crashes and restarts it.
mod postgres_faults;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use polis_core::changeset::{Fence, StoreWrite};
use polis_core::record::RecordBody;
use polis_core::society::MemberKey;
use polis_core::task::NewComment;
use polis_core::{
    AgentId, Changeset, EventSubject, NewEvent, RawObject, RecordKey, RefusalCode, Task, TaskId,
    TaskRecord, TaskStatus, Timestamp, WritePrecondition,
};
use polis_i18n::{Surface, UiLanguage};
use polis_ops::port::{
    CandidateQuery, ChangesetSource, CommentQuery, CommitOutcome, EventLogQuery,
    EventLogReader as _, Ledger as _, TaskQuery, TaskReader as _, TurnReader as _,
};
use polis_ops::{PortError, Receipt};
use polis_store::PostgresStore;
use polis_testkit::sample_event::comment_payload;
use tokio::sync::RwLock;
use tokio_postgres::{Client, NoTls};

/// Write-locked by tests that break the server, so that other tests are not affected.
static SERVER_LOCK: RwLock<()> = RwLock::const_new(());

const STORE_TIMEOUT: Duration = Duration::from_secs(10);

#[expect(clippy::disallowed_methods, reason = "a test's own setting")]
fn test_setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn server_url() -> String {
    test_setting("POLIS_TEST_PG_FAULT_URL").expect("POLIS_TEST_PG_FAULT_URL")
}

async fn connect_admin() -> Client {
    let (client, connection) = tokio_postgres::connect(&server_url(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Returns the address of a new, empty schema.
async fn create_schema(name: &str) -> String {
    let schema = format!("polis_{name}_{}", std::process::id());
    let sql = format!("DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}");
    connect_admin().await.batch_execute(&sql).await.unwrap();
    let url = server_url();
    let joint = if url.contains('?') { '&' } else { '?' };
    format!("{url}{joint}options=-c%20search_path%3D{schema}")
}

async fn connect_store(url: &str) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::connect(url, STORE_TIMEOUT).await.unwrap())
}

fn task_id(n: u64) -> TaskId {
    TaskId::new(n).unwrap()
}

fn task_record(n: u64, revision: u64) -> Box<TaskRecord> {
    let at = Timestamp::from_millis(1_700_000_000_000);
    Box::new(TaskRecord {
        task: Task {
            id: TaskId::new(n).unwrap_or(TaskId::UNASSIGNED),
            subject: format!("task {n} at {revision}"),
            description: "说明".to_owned(),
            active_form: None,
            status: TaskStatus::Pending,
            owner: String::new(),
            metadata: None,
            blocks: Vec::new(),
            blocked_by: Vec::new(),
            created_at: Some(at.clone()),
            updated_at: Some(at),
            required_role: None,
            version: revision,
            task_type: None,
            priority: None,
            claimed_at: None,
            started_at: None,
            completed_at: None,
            lease_ms: None,
            lease_expires_at: None,
            approval: None,
            extra: RawObject::default(),
        },
        revision,
        owner_role: None,
        open_blockers: 0,
    })
}

fn empty_changeset() -> Changeset {
    Changeset {
        actor: AgentId::user(),
        at: Timestamp::from_millis(1_700_000_000_000),
        writes: Vec::new(),
        events: Vec::new(),
    }
}

fn create_changeset() -> Changeset {
    empty_changeset()
        .with_write(StoreWrite::CreateTask(task_record(0, 1)))
        .with_event(NewEvent::new(
            EventSubject::CreatedTask,
            comment_payload("1"),
        ))
}

fn put_changeset(n: u64, from: u64) -> Changeset {
    put_record_changeset(*task_record(n, from + 1), from, 0)
}

fn put_record_changeset(record: TaskRecord, from: u64, blocker_change: i64) -> Changeset {
    let subject = EventSubject::Task(record.task.id);
    let expect = if from == 0 {
        WritePrecondition::Absent
    } else {
        WritePrecondition::Revision(from)
    };
    empty_changeset()
        .with_write(StoreWrite::PutTask {
            expect,
            record: Box::new(record),
            blocker_change,
        })
        .with_event(NewEvent::new(subject, comment_payload(&from.to_string())))
}

fn settle_changeset(dependents: &[u64]) -> Changeset {
    empty_changeset().with_write(StoreWrite::CloseBlocker {
        dependents: dependents.iter().map(|n| task_id(*n)).collect(),
    })
}

fn expect_receipt(outcome: CommitOutcome) -> Receipt {
    match outcome {
        CommitOutcome::Committed(receipt) => receipt,
        CommitOutcome::Conflict(key) => panic!("conflict on {key:?}"),
    }
}

async fn commit_ok(store: &PostgresStore, changes: Changeset) -> Receipt {
    expect_receipt(store.commit(changes).await.unwrap())
}

/// Asserts that the log is 1, 2, 3, … up to its head.
async fn assert_no_gaps(store: &PostgresStore) -> u64 {
    let mut after = 0;
    loop {
        let query = EventLogQuery {
            after,
            limit: 1000,
            ..EventLogQuery::default()
        };
        let page = store.events(&query).await.unwrap();
        if page.is_empty() {
            assert_eq!(store.last_sequence().await.unwrap(), after);
            return after;
        }
        for event in page {
            assert_eq!(event.seq, after + 1);
            after = event.seq;
        }
    }
}

#[tokio::test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn changeset_commits_or_conflicts() {
    let _shared = SERVER_LOCK.read().await;
    let store = connect_store(&create_schema("basic").await).await;
    assert_eq!(
        commit_ok(&store, create_changeset()).await.created,
        Some(task_id(1))
    );
    let second = commit_ok(&store, create_changeset()).await;
    assert_eq!((second.created, second.sequence), (Some(task_id(2)), 2));
    assert_eq!(commit_ok(&store, put_changeset(1, 1)).await.sequence, 3);
    let late = store.commit(put_changeset(1, 1)).await.unwrap();
    assert_eq!(late, CommitOutcome::Conflict(RecordKey::Task(task_id(1))));
    let again = store.commit(put_changeset(1, 0)).await.unwrap();
    assert_eq!(again, CommitOutcome::Conflict(RecordKey::Task(task_id(1))));
    let found = store
        .tasks(&[task_id(2), task_id(1), task_id(7)])
        .await
        .unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(found[0], *task_record(1, 2));

    commit_ok(
        &store,
        empty_changeset().with_write(StoreWrite::RaiseTaskNumber(41)),
    )
    .await;
    assert_eq!(store.last_task_number().await.unwrap(), 41);
    assert_eq!(
        commit_ok(&store, create_changeset()).await.created,
        Some(task_id(42))
    );

    let comment = |body: &str| StoreWrite::AddComment {
        task: task_id(2),
        comment: NewComment {
            author: "user".to_owned(),
            at: Timestamp::from_millis(0),
            body: body.to_owned(),
            reply_to: None,
            mentions: Vec::new(),
        },
    };
    let two = empty_changeset()
        .with_write(comment("a"))
        .with_write(comment("b"));
    assert_eq!(commit_ok(&store, two).await.comment, Some(2));
    assert_eq!(
        commit_ok(&store, empty_changeset().with_write(comment("c")))
            .await
            .comment,
        Some(3)
    );
    let comments = store
        .comments(&CommentQuery::for_task(task_id(2)))
        .await
        .unwrap();
    assert_eq!(comments[2].body, "c");

    let fence = |expected| {
        empty_changeset().with_write(StoreWrite::TouchFence {
            fence: Fence::TaskGraph,
            expected,
        })
    };
    commit_ok(&store, fence(0)).await;
    assert_eq!(store.fence_revision(Fence::TaskGraph).await.unwrap(), 1);
    assert_eq!(
        store.commit(fence(0)).await.unwrap(),
        CommitOutcome::Conflict(RecordKey::Fence(Fence::TaskGraph))
    );

    let query = TaskQuery {
        limit: 10,
        role: Some("lead".to_owned()),
        claimable_at: Some(0),
        ..TaskQuery::default()
    };
    assert_eq!(store.list_tasks(&query).await.unwrap().len(), 3);
    let query = CandidateQuery {
        agent: "a".to_owned(),
        role: "lead".to_owned(),
        now: 0,
        per_group: 2,
        skip: Default::default(),
    };
    let found = store.claim_candidates(&query).await.unwrap();
    assert_eq!(found[0].task.id, task_id(1));
    assert_eq!(found.len(), 2);
    assert_no_gaps(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn settled_blocker_unblocks_its_dependents() {
    let _shared = SERVER_LOCK.read().await;
    let store = connect_store(&create_schema("settle").await).await;
    commit_ok(&store, create_changeset()).await;
    commit_ok(&store, put_record_changeset(*task_record(1, 2), 1, 2)).await;
    assert_eq!(
        commit_ok(&store, settle_changeset(&[1, 9])).await.unblocked,
        []
    );
    assert_eq!(
        commit_ok(&store, settle_changeset(&[1])).await.unblocked,
        [task_id(1)]
    );

    // All in one batch: only the last one unblocks the task.
    commit_ok(&store, put_record_changeset(*task_record(1, 3), 2, 50)).await;
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let store = Arc::clone(&store);
        waiting.spawn(async move {
            commit_ok(&store, settle_changeset(&[1]))
                .await
                .unblocked
                .len()
        });
    }
    assert_eq!(waiting.join_all().await.into_iter().sum::<usize>(), 1);
    assert_eq!(
        store.tasks(&[task_id(1)]).await.unwrap()[0].open_blockers,
        0
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn writes_of_two_processes_are_not_lost() {
    let _shared = SERVER_LOCK.read().await;
    let url = create_schema("two").await;
    let (one, two) = tokio::join!(connect_store(&url), connect_store(&url));
    commit_ok(&one, create_changeset()).await;
    let conflicts = Arc::new(AtomicU64::new(0));
    let mut workers = tokio::task::JoinSet::new();
    for n in 0..128_u64 {
        let store = Arc::clone(if n % 2 == 0 { &one } else { &two });
        let conflicts = Arc::clone(&conflicts);
        workers.spawn(async move {
            for _ in 0..4 {
                commit_ok(&store, create_changeset()).await;
                // All of them raise the same task's revision.
                loop {
                    let at = store.tasks(&[task_id(1)]).await.unwrap()[0].revision;
                    match store.commit(put_changeset(1, at)).await.unwrap() {
                        CommitOutcome::Committed(_) => break,
                        CommitOutcome::Conflict(_) => {
                            conflicts.fetch_add(1, Ordering::Relaxed);
                        }
                    }
                }
            }
        });
    }
    let watcher = Arc::clone(&two);
    let watched = tokio::spawn(async move {
        let mut seen = 0;
        while seen < 1 + 128 * 4 * 2 {
            let last = watcher
                .wait_for_event_after(seen, Duration::from_secs(20))
                .await
                .unwrap();
            assert!(last > seen);
            let query = EventLogQuery {
                after: seen,
                limit: 10_000,
                ..EventLogQuery::default()
            };
            for event in watcher.events(&query).await.unwrap() {
                assert_eq!(event.seq, seen + 1, "visible events have no gaps");
                seen = event.seq;
            }
            assert!(seen >= last);
        }
    });
    workers.join_all().await;
    watched.await.unwrap();
    let first = &one.tasks(&[task_id(1)]).await.unwrap()[0];
    assert_eq!(first.revision, 1 + 128 * 4);
    assert_eq!(one.last_task_number().await.unwrap(), 1 + 128 * 4);
    assert_eq!(assert_no_gaps(&one).await, 1 + 128 * 4 * 2);
    println!("{} conflicts", conflicts.load(Ordering::Relaxed));
}

struct QueuedChangesets(std::vec::IntoIter<Changeset>);

impl ChangesetSource for QueuedChangesets {
    fn next(&mut self) -> Result<Option<Changeset>, PortError> {
        Ok(self.0.next())
    }
}

#[tokio::test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn stream_is_committed_atomically() {
    let _shared = SERVER_LOCK.read().await;
    let store = connect_store(&create_schema("stream").await).await;
    let mut all: Vec<Changeset> = (1..=2000).map(|n| put_changeset(n, 0)).collect();
    all.push(put_changeset(5, 7));
    let mut faulty = QueuedChangesets(all.clone().into_iter());
    assert_eq!(
        store.commit_stream(&mut faulty).await.unwrap(),
        CommitOutcome::Conflict(RecordKey::Task(task_id(5)))
    );
    assert_eq!(store.last_sequence().await.unwrap(), 0);
    assert_eq!(store.scan_tasks(None, 10).await.unwrap(), []);

    all.pop();
    all.push(put_changeset(5, 1));
    all.push(settle_changeset(&[6]));
    let streamed = store
        .commit_stream(&mut QueuedChangesets(all.into_iter()))
        .await;
    assert_eq!(expect_receipt(streamed.unwrap()).sequence, 2001);
    assert_eq!(store.count_tasks_by_status().await.unwrap().pending, 2000);
    assert_eq!(store.tasks(&[task_id(5)]).await.unwrap()[0].revision, 2);
    assert_no_gaps(&store).await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn commit_behind_a_lock_times_out() {
    let _shared = SERVER_LOCK.read().await;
    let url = create_schema("lock").await;
    // The tables are created by a connection with a longer timeout.
    drop(connect_store(&url).await);
    let store = PostgresStore::connect(&url, Duration::from_secs(3))
        .await
        .unwrap();
    commit_ok(&store, create_changeset()).await;
    let (holder, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    holder
        .batch_execute("BEGIN; SELECT * FROM marks WHERE name = 'log-head' FOR UPDATE")
        .await
        .unwrap();
    let begun = Instant::now();
    let error = store.commit(create_changeset()).await.unwrap_err();
    assert_eq!(error.code, RefusalCode::STORE_BUSY, "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!(
        store.last_task_number().await.unwrap(),
        1,
        "reads still work"
    );
    holder.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(
        commit_ok(&store, create_changeset()).await.created,
        Some(task_id(2))
    );
}

#[tokio::test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn read_only_database_is_reported() {
    let _shared = SERVER_LOCK.read().await;
    let url = create_schema("read_only").await;
    commit_ok(&*connect_store(&url).await, create_changeset()).await;
    let store = connect_store(&format!("{url}%20-c%20default_transaction_read_only%3Don")).await;
    assert_eq!(store.last_task_number().await.unwrap(), 1);
    let error = store.commit(create_changeset()).await.unwrap_err();
    assert_eq!(error.code, RefusalCode::STORE_READ_ONLY, "{error:?}");
    let mut stream = QueuedChangesets(vec![create_changeset()].into_iter());
    let error = store.commit_stream(&mut stream).await.unwrap_err();
    assert_eq!(error.code, RefusalCode::STORE_READ_ONLY, "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn invalid_changeset_does_not_fail_its_batch() {
    let _shared = SERVER_LOCK.read().await;
    let store = connect_store(&create_schema("bad").await).await;
    let mut waiting = tokio::task::JoinSet::new();
    for n in 1..=50_u64 {
        let store = Arc::clone(&store);
        waiting.spawn(async move {
            let mut record = *task_record(n, 1);
            if n == 25 {
                // The rules refuse this earlier; PostgreSQL cannot store it.
                record.task.description = "nul: \0".to_owned();
            }
            (n, store.commit(put_record_changeset(record, 0, 0)).await)
        });
    }
    for (n, answer) in waiting.join_all().await {
        assert_eq!(answer.is_ok(), n != 25, "{n}: {answer:?}");
    }
    assert_eq!(store.count_tasks_by_status().await.unwrap().pending, 49);
    assert_eq!(assert_no_gaps(&store).await, 49);
}

#[tokio::test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn connection_failure_is_explained_without_the_password() {
    let _shared = SERVER_LOCK.read().await;
    let away = "postgres://someone:geheim@127.0.0.1:1/board";
    let error = PostgresStore::connect(away, STORE_TIMEOUT)
        .await
        .unwrap_err();
    assert_eq!(error.code, RefusalCode::STORE_UNAVAILABLE);
    assert!(!format!("{error:?}").contains("geheim"));
    let tls = format!("{away}?sslmode=require");
    let error = PostgresStore::connect(&tls, STORE_TIMEOUT)
        .await
        .unwrap_err();
    assert!(
        error
            .render(Surface::Cli, UiLanguage::En)
            .message
            .contains("TLS"),
        "{error:?}"
    );
    let error = PostgresStore::connect("postgres://a:geheim@h:x/y", STORE_TIMEOUT)
        .await
        .unwrap_err();
    assert!(!format!("{error:?}").contains("geheim"));

    let url = create_schema("newer").await;
    drop(connect_store(&url).await);
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
        .batch_execute("INSERT INTO polis_schema VALUES (99)")
        .await
        .unwrap();
    let error = PostgresStore::connect(&url, STORE_TIMEOUT)
        .await
        .unwrap_err();
    assert_eq!(error.code, RefusalCode::STORE_TOO_NEW);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn concurrent_first_opens_all_succeed() {
    let _shared = SERVER_LOCK.read().await;
    let url = create_schema("start").await;
    let mut starting = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let url = url.clone();
        starting.spawn(async move {
            commit_ok(&*connect_store(&url).await, create_changeset())
                .await
                .created
        });
    }
    let mut created: Vec<_> = starting.join_all().await.into_iter().flatten().collect();
    created.sort_unstable();
    assert_eq!(created, (1..=12).map(task_id).collect::<Vec<_>>());
}
