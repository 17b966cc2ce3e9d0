//! Concurrency tests of the embedded store in a server: many requests on few threads. A request that waits
//! for a file lock or the write lock does not block other requests, and connections are shared.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use polis_core::board::{BoardChange, BoardName, BoardWrite, VersionAction};
use polis_core::changeset::{Changeset, Receipt, StoreWrite, WritePrecondition};
use polis_core::message::NewMessage;
use polis_core::record::{RecordBody, RecordKind, RecordName};
use polis_core::{AgentId, EventSubject, NewEvent, RawJson, Timestamp};
use polis_ops::PortError;
use polis_ops::port::{
    AgentReader as _, BoardFileChange, BoardReader as _, ChangesetSource, CommitOutcome,
    EventLogQuery, EventLogReader as _, Ledger as _, MailboxQuery, MessageReader as _,
    RecordReader as _, TaskReader as _,
};
use polis_store::EmbeddedStore;
use polis_store::embedded::{DATABASE_FILE, StoreMode};
use polis_testkit::sample_event::comment_payload;
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::task::JoinSet;

const STORE_TIMEOUT: Duration = Duration::from_secs(60);
/// The thread count of a small server.
const WORKER_THREADS: usize = 2;
/// Number of concurrent requests.
const CONCURRENT_REQUESTS: u64 = 64;
const BLACKBOARD: &str = "blackboard/plan.md";

/// Runs a test on a runtime with two threads.
fn run_on_small_runtime<F: Future<Output = ()> + Send + 'static>(
    test: impl FnOnce(Arc<EmbeddedStore>, TempDir) -> F,
) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(WORKER_THREADS)
        .enable_all()
        .build()
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::create(directory.path(), StoreMode::Server, STORE_TIMEOUT).unwrap();
    let test = test(Arc::new(store), directory);
    let limited = async { tokio::time::timeout(STORE_TIMEOUT * 2, test).await };
    let ended = runtime.block_on(async { runtime.spawn(limited).await });
    runtime.shutdown_background();
    ended.unwrap().unwrap();
}

fn board_name(name: &str) -> BoardName {
    BoardName::from_stored(name).unwrap()
}

fn empty_changeset() -> Changeset {
    Changeset {
        actor: AgentId::user(),
        at: Timestamp::from_millis(1_000),
        writes: Vec::new(),
        events: Vec::new(),
    }
}

fn event_changeset() -> Changeset {
    let about = EventSubject::Agent(AgentId::user());
    empty_changeset().with_event(NewEvent::new(about, comment_payload("told")))
}

fn board_changeset(board: &str, text: &str) -> Changeset {
    empty_changeset().with_write(StoreWrite::ChangeBoard(Box::new(BoardWrite {
        board: board_name(board),
        expect: None,
        change: BoardChange::Whole(text.to_owned()),
        action: VersionAction::Written,
        now: 1_000,
        max_bytes: 1 << 20,
        max_versions: 10,
    })))
}

async fn commit_ok(store: &EmbeddedStore, changes: Changeset) -> Receipt {
    match store.commit(changes).await.unwrap() {
        CommitOutcome::Committed(receipt) => receipt,
        CommitOutcome::Conflict(key) => panic!("a conflict on {key:?}"),
    }
}

/// Locks a file as another program would.
fn lock_file(path: &Path) -> File {
    let file = File::open(path).unwrap();
    flock(&file, FlockOperation::LockExclusive).unwrap();
    file
}

/// Reads several times, like requests that need no lock.
async fn check_reads_are_served(store: &Arc<EmbeddedStore>) {
    let store = Arc::clone(store);
    let reading = async move {
        for _ in 0..5 {
            store.agent(&AgentId::user()).await.unwrap();
            store.count_tasks_by_status().await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    tokio::spawn(reading).await.unwrap();
}

#[test]
fn read_waiting_for_a_file_lock_does_not_block_others() {
    run_on_small_runtime(async |store, directory| {
        let boards = ["a", "b", "c", "d"].map(|name| format!("blackboard/{name}.md"));
        let mut theirs = Vec::new();
        for board in &boards {
            commit_ok(&store, board_changeset(board, "begun\n")).await;
            let file = directory.path().join(board);
            theirs.push(lock_file(&file));
            fs::write(&file, "edited\n").unwrap();
        }
        let looking: Vec<_> = (0..CONCURRENT_REQUESTS / 4)
            .flat_map(|_| &boards)
            .map(|board| {
                let (store, board) = (Arc::clone(&store), board_name(board));
                tokio::spawn(async move { store.board(&board).await.unwrap().unwrap() })
            })
            .collect();
        check_reads_are_served(&store).await;
        // Each reader waits for one second.
        let done = looking.iter().filter(|looker| looker.is_finished()).count();
        assert_eq!(
            done, 0,
            "a waiting reader finished before those that need no lock"
        );
        drop(theirs);
        let mut noticed = 0;
        for looker in looking {
            let state = looker.await.unwrap();
            noticed += usize::from(state.file_change == Some(BoardFileChange::ExternalEdit));
        }
        assert!(noticed <= boards.len(), "{noticed} noticed four edits");
        for board in &boards {
            let state = store.board(&board_name(board)).await.unwrap().unwrap();
            let head = (state.head.version, state.head.modified_by.as_str());
            assert_eq!(head, (2, AgentId::EXTERNAL));
        }
    });
}

#[test]
fn request_waiting_for_the_write_lock_does_not_block_others() {
    run_on_small_runtime(async |store, directory| {
        let boards =
            ["global", "top"].map(|name| directory.path().join(board_name(name).file_path()));
        commit_ok(&store, board_changeset("global", "begun\n")).await;
        commit_ok(&store, board_changeset("top", "begun\n")).await;
        let theirs = lock_file(&directory.path().join("polis.lock"));
        for board in &boards {
            fs::write(board, "edited\n").unwrap();
        }
        let mut waiting = JoinSet::new();
        for n in 0..8 {
            let store = Arc::clone(&store);
            waiting.spawn(async move {
                match n % 4 {
                    0 => {
                        let mut source = Some(event_changeset());
                        let all: &mut dyn ChangesetSource = &mut ClosureSource(|| source.take());
                        let outcome = store.commit_stream(all).await.unwrap();
                        assert!(matches!(outcome, CommitOutcome::Committed(_)));
                    }
                    1 => {
                        commit_ok(&store, event_changeset()).await;
                    }
                    2 => {
                        let state = store.board(&board_name("global")).await.unwrap().unwrap();
                        assert_eq!(state.head.version, 2);
                    }
                    _ => assert_eq!(store.boards().await.unwrap().len(), 2),
                }
            });
        }
        check_reads_are_served(&store).await;
        assert_eq!(waiting.len(), 8);
        assert!(
            waiting.try_join_next().is_none(),
            "a writer did not wait for the lock"
        );
        drop(theirs);
        while let Some(one) = waiting.join_next().await {
            one.unwrap();
        }
        let of_b = store.board(&board_name("top")).await.unwrap().unwrap();
        assert_eq!(of_b.head.version, 2);
    });
}

/// A source that yields what its closure returns.
struct ClosureSource<F>(F);

impl<F: FnMut() -> Option<Changeset> + Send> ChangesetSource for ClosureSource<F> {
    fn next(&mut self) -> Result<Option<Changeset>, PortError> {
        Ok((self.0)())
    }
}

#[test]
fn cancelled_stream_is_rolled_back() {
    run_on_small_runtime(async |store, _directory| {
        let begun = Arc::new(Notify::new());
        let streaming = {
            let (store, begun) = (Arc::clone(&store), Arc::clone(&begun));
            let mut given = 0;
            tokio::spawn(async move {
                // It never ends by itself.
                let mut endless = ClosureSource(|| {
                    given += 1;
                    if given == 100 {
                        begun.notify_one();
                    }
                    Some(event_changeset())
                });
                store.commit_stream(&mut endless).await
            })
        };
        begun.notified().await;
        streaming.abort();
        assert!(streaming.await.unwrap_err().is_cancelled());
        let receipt = commit_ok(&store, event_changeset()).await;
        assert_eq!(receipt.sequence, 1);
        assert_eq!(store.last_sequence().await.unwrap(), 1);
    });
}

#[test]
fn board_file_is_held_by_one_request_at_a_time() {
    run_on_small_runtime(async |store, directory| {
        commit_ok(&store, board_changeset(BLACKBOARD, "begun\n")).await;
        let inside = Arc::new(AtomicBool::new(false));
        let mut holding = JoinSet::new();
        for _ in 0..CONCURRENT_REQUESTS {
            let (store, inside) = (Arc::clone(&store), Arc::clone(&inside));
            holding.spawn(async move {
                let held = store
                    .lock_board_file(&board_name(BLACKBOARD), STORE_TIMEOUT)
                    .await;
                let held = held.unwrap().expect("the lock is free within the timeout");
                assert!(
                    !inside.swap(true, Ordering::SeqCst),
                    "two tasks hold the file"
                );
                // The holder reads the board too.
                store.board(&board_name(BLACKBOARD)).await.unwrap();
                tokio::task::yield_now().await;
                inside.store(false, Ordering::SeqCst);
                drop(held);
            });
        }
        while let Some(one) = holding.join_next().await {
            one.unwrap();
        }
        let theirs = lock_file(&directory.path().join(BLACKBOARD));
        let briefly = Duration::from_millis(20);
        let board = board_name(BLACKBOARD);
        let (one, two) = tokio::join!(
            store.lock_board_file(&board, briefly),
            store.lock_board_file(&board, briefly),
        );
        assert!(one.unwrap().is_none() && two.unwrap().is_none());
        drop(theirs);
        let held = store
            .lock_board_file(&board_name(BLACKBOARD), STORE_TIMEOUT)
            .await
            .unwrap();
        assert!(held.is_some());
    });
}

/// Returns the number of connections of this process to a database.
fn count_connections(directory: &Path) -> usize {
    let database = directory.join(DATABASE_FILE);
    let open = fs::read_dir("/proc/self/fd").unwrap();
    open.filter_map(|fd| fs::read_link(fd.unwrap().path()).ok())
        .filter(|file| *file == database)
        .count()
}

#[test]
#[cfg(target_os = "linux")]
fn many_readers_and_writers_share_few_connections() {
    const ROUNDS_PER_REQUEST: u64 = 12;
    run_on_small_runtime(async |store, directory| {
        let large = "x".repeat(300 << 10);
        let record = |id: &str, body: &str| StoreWrite::PutRecord {
            name: RecordName::new(RecordKind::Artifact, id),
            expect: WritePrecondition::Absent,
            expires_at: None,
            body: RecordBody::Text(body.to_owned()),
        };
        commit_ok(
            &store,
            empty_changeset().with_write(record("large", &large)),
        )
        .await;
        commit_ok(&store, board_changeset("global", "begun\n")).await;
        let most = Arc::new(AtomicU64::new(0));
        let mut all = JoinSet::new();
        for request in 0..CONCURRENT_REQUESTS {
            let (store, most) = (Arc::clone(&store), Arc::clone(&most));
            let directory = directory.path().to_owned();
            let large = large.clone();
            all.spawn(async move {
                let me = AgentId::user();
                for round in 0..ROUNDS_PER_REQUEST {
                    let message = NewMessage {
                        from: me.clone(),
                        to: me.clone(),
                        created_at: Timestamp::from_millis(0),
                        deliver_at: 0,
                        reply_to: None,
                        run: None,
                        payload: RawJson::from_value(&round).unwrap(),
                    };
                    let id = format!("{request}.{round}");
                    let writing = event_changeset()
                        .with_write(record(&id, "small"))
                        .with_write(StoreWrite::SendMessage(Box::new(message)));
                    let sent = commit_ok(&store, writing).await.messages[0];
                    let name = RecordName::new(RecordKind::Artifact, &id);
                    assert_eq!(store.record(&name).await.unwrap().unwrap().body, "small");
                    assert!(store.message(sent).await.unwrap().is_some());
                    let name = RecordName::new(RecordKind::Artifact, "large");
                    assert!(store.record(&name).await.unwrap().unwrap().body == large);
                    let page = EventLogQuery {
                        after: sent.saturating_sub(200),
                        limit: 500,
                        ..EventLogQuery::default()
                    };
                    assert!(!store.events(&page).await.unwrap().is_empty());
                    let mailbox = MailboxQuery {
                        recipient: me.clone(),
                        run: None,
                        unread: true,
                        now: 0,
                        after: sent - 1,
                        limit: 100,
                    };
                    assert_eq!(store.mailbox(&mailbox).await.unwrap()[0].id, sent);
                    store.count_tasks_by_status().await.unwrap();
                    store.board(&board_name("global")).await.unwrap().unwrap();
                    store
                        .board_text(&board_name("global"), 1)
                        .await
                        .unwrap()
                        .unwrap();
                    most.fetch_max(count_connections(&directory) as u64, Ordering::Relaxed);
                }
            });
        }
        while let Some(one) = all.join_next().await {
            one.unwrap();
        }
        let sent = CONCURRENT_REQUESTS * ROUNDS_PER_REQUEST;
        assert_eq!(store.last_sequence().await.unwrap(), sent);
        assert!(store.message(sent).await.unwrap().is_some());
        assert!(store.message(sent + 1).await.unwrap().is_none());
        // One per thread, four for long reads, one for the writer.
        let most = most.load(Ordering::Relaxed);
        assert!(
            (1..=WORKER_THREADS as u64 + 5).contains(&most),
            "{most} connections"
        );
    });
}
