//! The embedded store in a server: many concurrent requests on few threads. A request that waits for a lock
//! or for another program does not block other requests.

use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use polis_core::board::{Action, BoardName, BoardWrite, Change};
use polis_core::changeset::{Changeset, Expect, Receipt, Write};
use polis_core::message::NewMessage;
use polis_core::record::{RecordBody, RecordKind, RecordName};
use polis_core::{AgentId, NewEvent, Raw, Subject, Timestamp};
use polis_ops::PortError;
use polis_ops::port::{
    Agents as _, Boards as _, ChangesetSource, EventQuery, Events as _, Ledger as _, MailboxQuery,
    Messages as _, Noticed, Outcome, Records as _, Tasks as _,
};
use polis_store::EmbeddedStore;
use polis_store::embedded::{DATABASE, Use};
use rustix::fs::{FlockOperation, flock};
use tempfile::TempDir;
use tokio::sync::Notify;
use tokio::task::JoinSet;

const PATIENCE: Duration = Duration::from_secs(60);
/// The thread count of a small server.
const THREADS: usize = 2;
/// Number of concurrent requests.
const REQUESTS: u64 = 64;
const BLACKBOARD: &str = "blackboard/plan.md";

/// Runs a test on a runtime with two threads.
fn served<F: Future<Output = ()> + Send + 'static>(
    test: impl FnOnce(Arc<EmbeddedStore>, TempDir) -> F,
) {
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(THREADS)
        .enable_all()
        .build()
        .unwrap();
    let directory = tempfile::tempdir().unwrap();
    let store = EmbeddedStore::create(directory.path(), Use::Long, PATIENCE).unwrap();
    let test = test(Arc::new(store), directory);
    let limited = async { tokio::time::timeout(PATIENCE * 2, test).await };
    let ended = runtime.block_on(async { runtime.spawn(limited).await });
    runtime.shutdown_background();
    ended.unwrap().unwrap();
}

fn named(name: &str) -> BoardName {
    BoardName::from_stored(name).unwrap()
}

fn changes() -> Changeset {
    Changeset {
        actor: AgentId::user(),
        at: Timestamp::from_millis(1_000),
        writes: Vec::new(),
        events: Vec::new(),
    }
}

fn told() -> Changeset {
    let about = Subject::Agent(AgentId::user());
    changes().event(NewEvent::of("test.told", about, &"told"))
}

fn written(board: &str, text: &str) -> Changeset {
    changes().write(Write::ChangeBoard(Box::new(BoardWrite {
        board: named(board),
        expect: None,
        change: Change::Whole(text.to_owned()),
        action: Action::Written,
        now: 1_000,
        limit: 1 << 20,
        keep: 10,
    })))
}

async fn commit(store: &EmbeddedStore, changes: Changeset) -> Receipt {
    match store.commit(changes).await.unwrap() {
        Outcome::Committed(receipt) => receipt,
        Outcome::Conflict(key) => panic!("a conflict on {key:?}"),
    }
}

/// Locks a file as another program would.
fn lock(path: &Path) -> File {
    let file = File::open(path).unwrap();
    flock(&file, FlockOperation::LockExclusive).unwrap();
    file
}

/// Reads several times, like requests that need no lock.
async fn others_are_served(store: &Arc<EmbeddedStore>) {
    let store = Arc::clone(store);
    let reading = async move {
        for _ in 0..5 {
            store.agent(&AgentId::user()).await.unwrap();
            store.count_tasks().await.unwrap();
            tokio::task::yield_now().await;
        }
    };
    tokio::spawn(reading).await.unwrap();
}

#[test]
fn who_waits_for_another_program_keeps_nobody_waiting() {
    served(async |store, directory| {
        let boards = ["a", "b", "c", "d"].map(|name| format!("blackboard/{name}.md"));
        let mut theirs = Vec::new();
        for board in &boards {
            commit(&store, written(board, "begun\n")).await;
            let file = directory.path().join(board);
            theirs.push(lock(&file));
            fs::write(&file, "edited\n").unwrap();
        }
        let looking: Vec<_> = (0..REQUESTS / 4)
            .flat_map(|_| &boards)
            .map(|board| {
                let (store, board) = (Arc::clone(&store), named(board));
                tokio::spawn(async move { store.board(&board).await.unwrap().unwrap() })
            })
            .collect();
        others_are_served(&store).await;
        // Each reader waits for one second.
        let done = looking.iter().filter(|looker| looker.is_finished()).count();
        assert_eq!(done, 0, "some were served before those who need not wait");
        drop(theirs);
        let mut noticed = 0;
        for looker in looking {
            let state = looker.await.unwrap();
            noticed += usize::from(state.noticed == Some(Noticed::ChangedOutside));
        }
        assert!(noticed <= boards.len(), "{noticed} noticed four edits");
        for board in &boards {
            let state = store.board(&named(board)).await.unwrap().unwrap();
            let head = (state.head.version, state.head.by.as_str());
            assert_eq!(head, (2, AgentId::EXTERNAL));
        }
    });
}

#[test]
fn who_waits_for_the_right_to_write_keeps_nobody_waiting() {
    served(async |store, directory| {
        let boards = ["global", "top"].map(|name| directory.path().join(named(name).file()));
        commit(&store, written("global", "begun\n")).await;
        commit(&store, written("top", "begun\n")).await;
        let theirs = lock(&directory.path().join("polis.lock"));
        for board in &boards {
            fs::write(board, "edited\n").unwrap();
        }
        let mut waiting = JoinSet::new();
        for n in 0..8 {
            let store = Arc::clone(&store);
            waiting.spawn(async move {
                match n % 4 {
                    0 => {
                        let mut source = Some(told());
                        let all: &mut dyn ChangesetSource = &mut Given(|| source.take());
                        let outcome = store.commit_stream(all).await.unwrap();
                        assert!(matches!(outcome, Outcome::Committed(_)));
                    }
                    1 => {
                        commit(&store, told()).await;
                    }
                    2 => {
                        let state = store.board(&named("global")).await.unwrap().unwrap();
                        assert_eq!(state.head.version, 2);
                    }
                    _ => assert_eq!(store.boards().await.unwrap().len(), 2),
                }
            });
        }
        others_are_served(&store).await;
        assert_eq!(waiting.len(), 8);
        assert!(waiting.try_join_next().is_none(), "somebody did not wait");
        drop(theirs);
        while let Some(one) = waiting.join_next().await {
            one.unwrap();
        }
        let of_b = store.board(&named("top")).await.unwrap().unwrap();
        assert_eq!(of_b.head.version, 2);
    });
}

/// A source that yields what its closure returns.
struct Given<F>(F);

impl<F: FnMut() -> Option<Changeset> + Send> ChangesetSource for Given<F> {
    fn next(&mut self) -> Result<Option<Changeset>, PortError> {
        Ok((self.0)())
    }
}

#[test]
fn a_stream_that_nobody_waits_for_any_more_is_undone() {
    served(async |store, _directory| {
        let begun = Arc::new(Notify::new());
        let streaming = {
            let (store, begun) = (Arc::clone(&store), Arc::clone(&begun));
            let mut given = 0;
            tokio::spawn(async move {
                // It never ends by itself.
                let mut endless = Given(|| {
                    given += 1;
                    if given == 100 {
                        begun.notify_one();
                    }
                    Some(told())
                });
                store.commit_stream(&mut endless).await
            })
        };
        begun.notified().await;
        streaming.abort();
        assert!(streaming.await.unwrap_err().is_cancelled());
        let receipt = commit(&store, told()).await;
        assert_eq!(receipt.sequence, 1);
        assert_eq!(store.last_sequence().await.unwrap(), 1);
    });
}

#[test]
fn holders_of_a_file_take_turns() {
    served(async |store, directory| {
        commit(&store, written(BLACKBOARD, "begun\n")).await;
        let inside = Arc::new(AtomicBool::new(false));
        let mut holding = JoinSet::new();
        for _ in 0..REQUESTS {
            let (store, inside) = (Arc::clone(&store), Arc::clone(&inside));
            holding.spawn(async move {
                let held = store.hold_board(&named(BLACKBOARD), PATIENCE).await;
                let held = held.unwrap().expect("nobody else has it for long");
                assert!(!inside.swap(true, Ordering::SeqCst), "two have it");
                // The holder reads the board too.
                store.board(&named(BLACKBOARD)).await.unwrap();
                tokio::task::yield_now().await;
                inside.store(false, Ordering::SeqCst);
                drop(held);
            });
        }
        while let Some(one) = holding.join_next().await {
            one.unwrap();
        }
        let theirs = lock(&directory.path().join(BLACKBOARD));
        let briefly = Duration::from_millis(20);
        let board = named(BLACKBOARD);
        let (one, two) = tokio::join!(
            store.hold_board(&board, briefly),
            store.hold_board(&board, briefly),
        );
        assert!(one.unwrap().is_none() && two.unwrap().is_none());
        drop(theirs);
        let held = store
            .hold_board(&named(BLACKBOARD), PATIENCE)
            .await
            .unwrap();
        assert!(held.is_some());
    });
}

/// Returns the number of connections of this process to a database.
fn connections(directory: &Path) -> usize {
    let database = directory.join(DATABASE);
    let open = fs::read_dir("/proc/self/fd").unwrap();
    open.filter_map(|fd| fs::read_link(fd.unwrap().path()).ok())
        .filter(|file| *file == database)
        .count()
}

#[test]
#[cfg(target_os = "linux")]
fn many_readers_and_writers_share_few_connections() {
    const ROUNDS: u64 = 12;
    served(async |store, directory| {
        let large = "x".repeat(300 << 10);
        let record = |id: &str, body: &str| Write::PutRecord {
            name: RecordName::new(RecordKind::Artifact, id),
            expect: Expect::Absent,
            expires_at: None,
            body: RecordBody::Text(body.to_owned()),
        };
        commit(&store, changes().write(record("large", &large))).await;
        commit(&store, written("global", "begun\n")).await;
        let most = Arc::new(AtomicU64::new(0));
        let mut all = JoinSet::new();
        for request in 0..REQUESTS {
            let (store, most) = (Arc::clone(&store), Arc::clone(&most));
            let directory = directory.path().to_owned();
            let large = large.clone();
            all.spawn(async move {
                let me = AgentId::user();
                for round in 0..ROUNDS {
                    let message = NewMessage {
                        from: me.clone(),
                        to: me.clone(),
                        created_at: Timestamp::from_millis(0),
                        deliver_at: 0,
                        reply_to: None,
                        run: None,
                        payload: Raw::of(&round).unwrap(),
                    };
                    let id = format!("{request}.{round}");
                    let writing = told()
                        .write(record(&id, "small"))
                        .write(Write::SendMessage(Box::new(message)));
                    let sent = commit(&store, writing).await.messages[0];
                    let name = RecordName::new(RecordKind::Artifact, &id);
                    assert_eq!(store.record(&name).await.unwrap().unwrap().body, "small");
                    assert!(store.message(sent).await.unwrap().is_some());
                    let name = RecordName::new(RecordKind::Artifact, "large");
                    assert!(store.record(&name).await.unwrap().unwrap().body == large);
                    let page = EventQuery {
                        after: sent.saturating_sub(200),
                        limit: 500,
                        ..EventQuery::default()
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
                    store.count_tasks().await.unwrap();
                    store.board(&named("global")).await.unwrap().unwrap();
                    store
                        .board_text(&named("global"), 1)
                        .await
                        .unwrap()
                        .unwrap();
                    most.fetch_max(connections(&directory) as u64, Ordering::Relaxed);
                }
            });
        }
        while let Some(one) = all.join_next().await {
            one.unwrap();
        }
        let sent = REQUESTS * ROUNDS;
        assert_eq!(store.last_sequence().await.unwrap(), sent);
        assert!(store.message(sent).await.unwrap().is_some());
        assert!(store.message(sent + 1).await.unwrap().is_none());
        // One per thread, four for long reads, one for the writer.
        let most = most.load(Ordering::Relaxed);
        assert!(
            (1..=THREADS as u64 + 5).contains(&most),
            "{most} connections"
        );
    });
}
