//! The PostgreSQL store against a real server: what the conformance suite cannot test, such as two processes
//! and speed. Fault injection is in `faults`.
//!
//! `POLIS_TEST_PG_FAULT_URL` names a dedicated server, which these tests may break; `POLIS_TEST_PG_RESTART`
//! is a command that crashes and restarts it.
mod faults;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use polis_core::changeset::{Fence, Write};
use polis_core::record::RecordBody;
use polis_core::society::MemberKey;
use polis_core::task::NewComment;
use polis_core::{
    AgentId, Changeset, Code, Expect, Fields, NewEvent, RecordKey, Subject, Task, TaskId,
    TaskRecord, TaskStatus, Timestamp,
};
use polis_ops::port::{
    CandidateQuery, ChangesetSource, CommentQuery, EventQuery, Events as _, Ledger as _, Outcome,
    TaskQuery, Tasks as _, Turns as _,
};
use polis_ops::{PortError, Receipt};
use polis_store::PostgresStore;
use tokio::sync::RwLock;
use tokio_postgres::{Client, NoTls};

/// Write-locked by tests that break the server, so that other tests are not affected.
static SERVER: RwLock<()> = RwLock::const_new(());

const PATIENCE: Duration = Duration::from_secs(10);

#[expect(clippy::disallowed_methods, reason = "a test's own setting")]
fn setting(name: &str) -> Option<String> {
    std::env::var(name).ok()
}

fn server() -> String {
    setting("POLIS_TEST_PG_FAULT_URL").expect("POLIS_TEST_PG_FAULT_URL")
}

async fn admin() -> Client {
    let (client, connection) = tokio_postgres::connect(&server(), NoTls).await.unwrap();
    tokio::spawn(connection);
    client
}

/// Returns the address of a new, empty schema.
async fn board(name: &str) -> String {
    let schema = format!("polis_{name}_{}", std::process::id());
    let sql = format!("DROP SCHEMA IF EXISTS {schema} CASCADE; CREATE SCHEMA {schema}");
    admin().await.batch_execute(&sql).await.unwrap();
    let url = server();
    let joint = if url.contains('?') { '&' } else { '?' };
    format!("{url}{joint}options=-c%20search_path%3D{schema}")
}

async fn open(url: &str) -> Arc<PostgresStore> {
    Arc::new(PostgresStore::connect(url, PATIENCE).await.unwrap())
}

fn id(n: u64) -> TaskId {
    TaskId::new(n).unwrap()
}

fn task(n: u64, revision: u64) -> Box<TaskRecord> {
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
            claimed_at: None,
            started_at: None,
            completed_at: None,
            lease_ms: None,
            lease_expires_at: None,
            approval: None,
            extra: Fields::default(),
        },
        revision,
        owner_role: None,
        open_blockers: 0,
    })
}

fn changes() -> Changeset {
    Changeset {
        actor: AgentId::user(),
        at: Timestamp::from_millis(1_700_000_000_000),
        writes: Vec::new(),
        events: Vec::new(),
    }
}

fn create() -> Changeset {
    changes()
        .write(Write::CreateTask(task(0, 1)))
        .event(NewEvent::of("task.created", Subject::CreatedTask, &1))
}

fn put(n: u64, from: u64) -> Changeset {
    put_with(*task(n, from + 1), from, 0)
}

fn put_with(record: TaskRecord, from: u64, blocker_change: i64) -> Changeset {
    let subject = Subject::Task(record.task.id);
    let expect = if from == 0 {
        Expect::Absent
    } else {
        Expect::Revision(from)
    };
    changes()
        .write(Write::PutTask {
            expect,
            record: Box::new(record),
            blocker_change,
        })
        .event(NewEvent::of("task.updated", subject, &from))
}

fn settle(dependents: &[u64]) -> Changeset {
    changes().write(Write::SettleBlocker {
        dependents: dependents.iter().map(|n| id(*n)).collect(),
    })
}

fn receipt(outcome: Outcome) -> Receipt {
    match outcome {
        Outcome::Committed(receipt) => receipt,
        Outcome::Conflict(key) => panic!("conflict on {key:?}"),
    }
}

async fn done(store: &PostgresStore, changes: Changeset) -> Receipt {
    receipt(store.commit(changes).await.unwrap())
}

/// Asserts that the log is 1, 2, 3, … up to its head.
async fn assert_no_gaps(store: &PostgresStore) -> u64 {
    let mut after = 0;
    loop {
        let query = EventQuery {
            after,
            limit: 1000,
            ..EventQuery::default()
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
async fn changes_are_committed_or_conflict() {
    let _shared = SERVER.read().await;
    let store = open(&board("basic").await).await;
    assert_eq!(done(&store, create()).await.created, Some(id(1)));
    let second = done(&store, create()).await;
    assert_eq!((second.created, second.sequence), (Some(id(2)), 2));
    assert_eq!(done(&store, put(1, 1)).await.sequence, 3);
    let late = store.commit(put(1, 1)).await.unwrap();
    assert_eq!(late, Outcome::Conflict(RecordKey::Task(id(1))));
    let again = store.commit(put(1, 0)).await.unwrap();
    assert_eq!(again, Outcome::Conflict(RecordKey::Task(id(1))));
    let found = store.tasks(&[id(2), id(1), id(7)]).await.unwrap();
    assert_eq!(found.len(), 2);
    assert_eq!(found[0], *task(1, 2));

    done(&store, changes().write(Write::RaiseTaskNumber(41))).await;
    assert_eq!(store.last_task_number().await.unwrap(), 41);
    assert_eq!(done(&store, create()).await.created, Some(id(42)));

    let comment = |body: &str| Write::AddComment {
        task: id(2),
        comment: NewComment {
            author: "user".to_owned(),
            at: Timestamp::from_millis(0),
            body: body.to_owned(),
            reply_to: None,
            mentions: Vec::new(),
        },
    };
    let two = changes().write(comment("a")).write(comment("b"));
    assert_eq!(done(&store, two).await.comment, Some(2));
    assert_eq!(
        done(&store, changes().write(comment("c"))).await.comment,
        Some(3)
    );
    let comments = store.comments(&CommentQuery::of(id(2))).await.unwrap();
    assert_eq!(comments[2].body, "c");

    let fence = |expected| {
        changes().write(Write::TouchFence {
            fence: Fence::TaskGraph,
            expected,
        })
    };
    done(&store, fence(0)).await;
    assert_eq!(store.fence(Fence::TaskGraph).await.unwrap(), 1);
    assert_eq!(
        store.commit(fence(0)).await.unwrap(),
        Outcome::Conflict(RecordKey::Fence(Fence::TaskGraph))
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
    let found = store.candidates(&query).await.unwrap();
    assert_eq!(found[0].task.id, id(1));
    assert_eq!(found.len(), 2);
    assert_no_gaps(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn a_settled_blocker_frees_who_waited() {
    let _shared = SERVER.read().await;
    let store = open(&board("settle").await).await;
    done(&store, create()).await;
    done(&store, put_with(*task(1, 2), 1, 2)).await;
    assert_eq!(done(&store, settle(&[1, 9])).await.unblocked, []);
    assert_eq!(done(&store, settle(&[1])).await.unblocked, [id(1)]);

    // All in one batch: only the last one unblocks the task.
    done(&store, put_with(*task(1, 3), 2, 50)).await;
    let mut waiting = tokio::task::JoinSet::new();
    for _ in 0..50 {
        let store = Arc::clone(&store);
        waiting.spawn(async move { done(&store, settle(&[1])).await.unblocked.len() });
    }
    assert_eq!(waiting.join_all().await.into_iter().sum::<usize>(), 1);
    assert_eq!(store.tasks(&[id(1)]).await.unwrap()[0].open_blockers, 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn two_processes_lose_nothing() {
    let _shared = SERVER.read().await;
    let url = board("two").await;
    let (one, two) = tokio::join!(open(&url), open(&url));
    done(&one, create()).await;
    let conflicts = Arc::new(AtomicU64::new(0));
    let mut workers = tokio::task::JoinSet::new();
    for n in 0..128_u64 {
        let store = Arc::clone(if n % 2 == 0 { &one } else { &two });
        let conflicts = Arc::clone(&conflicts);
        workers.spawn(async move {
            for _ in 0..4 {
                done(&store, create()).await;
                // All of them raise the same task's revision.
                loop {
                    let at = store.tasks(&[id(1)]).await.unwrap()[0].revision;
                    match store.commit(put(1, at)).await.unwrap() {
                        Outcome::Committed(_) => break,
                        Outcome::Conflict(_) => {
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
                .wait_beyond(seen, Duration::from_secs(20))
                .await
                .unwrap();
            assert!(last > seen);
            let query = EventQuery {
                after: seen,
                limit: 10_000,
                ..EventQuery::default()
            };
            for event in watcher.events(&query).await.unwrap() {
                assert_eq!(event.seq, seen + 1, "what is visible has no gaps");
                seen = event.seq;
            }
            assert!(seen >= last);
        }
    });
    workers.join_all().await;
    watched.await.unwrap();
    let first = &one.tasks(&[id(1)]).await.unwrap()[0];
    assert_eq!(first.revision, 1 + 128 * 4);
    assert_eq!(one.last_task_number().await.unwrap(), 1 + 128 * 4);
    assert_eq!(assert_no_gaps(&one).await, 1 + 128 * 4 * 2);
    println!("{} conflicts", conflicts.load(Ordering::Relaxed));
}

struct Many(std::vec::IntoIter<Changeset>);

impl ChangesetSource for Many {
    fn next(&mut self) -> Result<Option<Changeset>, PortError> {
        Ok(self.0.next())
    }
}

#[tokio::test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn a_stream_is_all_or_nothing() {
    let _shared = SERVER.read().await;
    let store = open(&board("stream").await).await;
    let mut all: Vec<Changeset> = (1..=2000).map(|n| put(n, 0)).collect();
    all.push(put(5, 7));
    let mut faulty = Many(all.clone().into_iter());
    assert_eq!(
        store.commit_stream(&mut faulty).await.unwrap(),
        Outcome::Conflict(RecordKey::Task(id(5)))
    );
    assert_eq!(store.last_sequence().await.unwrap(), 0);
    assert_eq!(store.scan_tasks(None, 10).await.unwrap(), []);

    all.pop();
    all.push(put(5, 1));
    all.push(settle(&[6]));
    let streamed = store.commit_stream(&mut Many(all.into_iter())).await;
    assert_eq!(receipt(streamed.unwrap()).sequence, 2001);
    assert_eq!(store.count_tasks().await.unwrap().pending, 2000);
    assert_eq!(store.tasks(&[id(5)]).await.unwrap()[0].revision, 2);
    assert_no_gaps(&store).await;
}

#[tokio::test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn others_wait_no_longer_than_their_patience() {
    let _shared = SERVER.read().await;
    let url = board("lock").await;
    // The tables are created by a connection with a longer timeout.
    drop(open(&url).await);
    let store = PostgresStore::connect(&url, Duration::from_secs(3))
        .await
        .unwrap();
    done(&store, create()).await;
    let (holder, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    holder
        .batch_execute("BEGIN; SELECT * FROM marks WHERE name = 'log-head' FOR UPDATE")
        .await
        .unwrap();
    let begun = Instant::now();
    let error = store.commit(create()).await.unwrap_err();
    assert_eq!(error.code, Code::StoreBusy, "{error:?}");
    assert!(begun.elapsed() < Duration::from_secs(30));
    assert_eq!(store.last_task_number().await.unwrap(), 1, "reads go on");
    holder.batch_execute("ROLLBACK").await.unwrap();
    assert_eq!(done(&store, create()).await.created, Some(id(2)));
}

#[tokio::test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn a_database_that_only_reads_says_so() {
    let _shared = SERVER.read().await;
    let url = board("read_only").await;
    done(&*open(&url).await, create()).await;
    let store = open(&format!("{url}%20-c%20default_transaction_read_only%3Don")).await;
    assert_eq!(store.last_task_number().await.unwrap(), 1);
    let error = store.commit(create()).await.unwrap_err();
    assert_eq!(error.code, Code::StoreReadOnly, "{error:?}");
    let mut stream = Many(vec![create()].into_iter());
    let error = store.commit_stream(&mut stream).await.unwrap_err();
    assert_eq!(error.code, Code::StoreReadOnly, "{error:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn one_bad_changeset_does_not_hurt_the_others() {
    let _shared = SERVER.read().await;
    let store = open(&board("bad").await).await;
    let mut waiting = tokio::task::JoinSet::new();
    for n in 1..=50_u64 {
        let store = Arc::clone(&store);
        waiting.spawn(async move {
            let mut record = *task(n, 1);
            if n == 25 {
                // The rules refuse this earlier; PostgreSQL cannot store it.
                record.task.description = "nul: \0".to_owned();
            }
            (n, store.commit(put_with(record, 0, 0)).await)
        });
    }
    for (n, answer) in waiting.join_all().await {
        assert_eq!(answer.is_ok(), n != 25, "{n}: {answer:?}");
    }
    assert_eq!(store.count_tasks().await.unwrap().pending, 49);
    assert_eq!(assert_no_gaps(&store).await, 49);
}

#[tokio::test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn what_cannot_be_opened_says_why() {
    let _shared = SERVER.read().await;
    let away = "postgres://someone:geheim@127.0.0.1:1/board";
    let error = PostgresStore::connect(away, PATIENCE).await.unwrap_err();
    assert_eq!(error.code, Code::StoreUnavailable);
    assert!(!format!("{error:?}").contains("geheim"));
    let tls = format!("{away}?sslmode=require");
    let error = PostgresStore::connect(&tls, PATIENCE).await.unwrap_err();
    assert!(error.message.contains("TLS"), "{error:?}");
    let error = PostgresStore::connect("postgres://a:geheim@h:x/y", PATIENCE)
        .await
        .unwrap_err();
    assert!(!format!("{error:?}").contains("geheim"));

    let url = board("newer").await;
    drop(open(&url).await);
    let (client, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    client
        .batch_execute("INSERT INTO polis_schema VALUES (99)")
        .await
        .unwrap();
    let error = PostgresStore::connect(&url, PATIENCE).await.unwrap_err();
    assert_eq!(error.code, Code::StoreTooNew);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
async fn many_may_start_at_once() {
    let _shared = SERVER.read().await;
    let url = board("start").await;
    let mut starting = tokio::task::JoinSet::new();
    for _ in 0..12 {
        let url = url.clone();
        starting.spawn(async move { done(&*open(&url).await, create()).await.created });
    }
    let mut created: Vec<_> = starting.join_all().await.into_iter().flatten().collect();
    created.sort_unstable();
    assert_eq!(created, (1..=12).map(id).collect::<Vec<_>>());
}
