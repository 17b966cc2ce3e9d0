//! Group commit: in a server, one writer thread combines all pending changesets into one transaction and one
//! fsync. If a batch fails for a reason that may concern a single changeset, each is committed separately.
//!
//! Also contains the commit paths without a writer thread (single commands, streams, repairing a board's
//! file) and the WAL checkpoint policy.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use polis_core::board::{BoardHead, BoardName};
use polis_core::{Changeset, RefusalCode};
use polis_ops::port::{BoardFileChange, ChangesetSource, CommitOutcome};
use polis_ops::{PortError, Receipt};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::apply::CommitBatch;
use super::blocking::run_blocking;
use super::error::from_sqlite;
use super::lock::WriteLock;
use super::{CommitResult, EmbeddedStoreState, StoreMode};
use crate::prepared_changeset::{PreparedChangeset, PreparedWrite};

/// Size of a WAL frame: a page and its header.
const WAL_FRAME_BYTES: u64 = 4096 + 24;
/// Maximum length of a long-running process's WAL while readers prevent it from being overwritten; beyond it,
/// every commit tries to truncate it.
const MAX_WAL_BYTES: u64 = 64 << 20;
/// Maximum number of changesets in one transaction, and the approximate maximum of their bytes.
const MAX_BATCH_CHANGESETS: usize = 512;
const MAX_BATCH_BYTES: usize = 8 << 20;
/// Size of the writer's page cache.
const PAGE_CACHE_KIB: i64 = 32 << 10;
/// How many changesets a stream's source may be ahead of the thread that writes them.
const STREAM_QUEUE_LENGTH: usize = 16;

struct CommitRequest {
    changes: PreparedChangeset,
    reply: oneshot::Sender<CommitResult>,
}

/// Handle of the writer thread; dropping it ends the thread and joins it.
#[derive(Debug)]
pub(super) struct WriterThread {
    queue: Option<Sender<CommitRequest>>,
    thread: Option<JoinHandle<()>>,
}

impl WriterThread {
    pub(super) fn start(shared: Arc<EmbeddedStoreState>) -> Self {
        let (queue, requests) = channel();
        // If the thread cannot be started, the receiver is dropped and every commit fails.
        let thread = std::thread::Builder::new()
            .name("polis-writer".to_owned())
            .spawn(move || run_writer_thread(&shared, &requests))
            .ok();
        Self {
            queue: Some(queue),
            thread,
        }
    }

    pub(super) async fn commit(&self, changes: Changeset) -> CommitResult {
        // Rows and JSON are built by the caller, so that the writer thread only writes.
        let changes = PreparedChangeset::from_changeset(changes)?;
        let (answer, answered) = oneshot::channel();
        let writer_ended = || PortError::internal("The writer thread", "it ended");
        let queue = self.queue.as_ref().ok_or_else(writer_ended)?;
        queue
            .send(CommitRequest {
                changes,
                reply: answer,
            })
            .map_err(|_| writer_ended())?;
        answered.await.map_err(|_| writer_ended())?
    }
}

impl Drop for WriterThread {
    fn drop(&mut self) {
        self.queue = None;
        // Joined so that nothing is written afterwards: the directory may be removed.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Enlarges the page cache of the writer's connection: with a large database the index pages would be read
/// again for every batch. If the setting fails, the writer is only slower.
fn enlarge_page_cache(connection: Connection) -> Connection {
    let _ = connection.pragma_update(None, "cache_size", -PAGE_CACHE_KIB);
    connection
}

fn run_writer_thread(shared: &EmbeddedStoreState, requests: &Receiver<CommitRequest>) {
    let mut idle_connection: Option<Connection> = None;
    while let Ok(first) = requests.recv() {
        let mut bytes = first.changes.approximate_size();
        let mut batch = vec![first];
        while batch.len() < MAX_BATCH_CHANGESETS
            && bytes < MAX_BATCH_BYTES
            && let Ok(request) = requests.try_recv()
        {
            bytes += request.changes.approximate_size();
            batch.push(request);
        }
        let ready = WriteLock::acquire(&shared.directory, shared.lock_timeout).and_then(|lock| {
            let connection = match idle_connection.take() {
                Some(connection) => connection,
                None => enlarge_page_cache(shared.take_connection()?),
            };
            Ok((lock, connection))
        });
        match ready {
            Ok((lock, connection)) => {
                commit_or_split_batch(shared, &lock, &connection, batch);
                // A connection whose rollback failed is dropped, which rolls its transaction back.
                idle_connection = Some(connection).filter(Connection::is_autocommit);
            }
            Err(error) => fail_all(batch, &error),
        }
    }
    if let Some(connection) = idle_connection
        && shared.mode == StoreMode::Server
        && let Ok(_lock) = WriteLock::acquire(&shared.directory, shared.lock_timeout)
    {
        truncate_wal(shared, &connection);
    }
}

/// Commits a batch. If it fails for a reason that may concern a single changeset, commits each one
/// separately.
fn commit_or_split_batch(
    shared: &EmbeddedStoreState,
    lock: &WriteLock,
    connection: &Connection,
    mut batch: Vec<CommitRequest>,
) {
    match commit_batch(shared, connection, &mut batch) {
        Ok(()) => {}
        Err(error) if batch.len() > 1 && may_concern_single_changeset(&error, &batch) => {
            for request in batch {
                let mut alone = vec![request];
                if let Err(error) = commit_batch(shared, connection, &mut alone) {
                    fail_all(alone, &error);
                }
            }
        }
        Err(error) => fail_all(batch, &error),
    }
    lock.notify_watchers();
    checkpoint_if_long(shared, connection);
}

/// Whether an error may be caused by a single changeset rather than by the store: an internal error, or any
/// error if a board is written, because its file may be the cause.
fn may_concern_single_changeset(error: &PortError, batch: &[CommitRequest]) -> bool {
    let of_board = |row: &PreparedWrite| {
        matches!(
            row,
            PreparedWrite::ChangeBoard(_) | PreparedWrite::LeaseBoard(_)
        )
    };
    error.code == RefusalCode::INTERNAL
        || batch
            .iter()
            .any(|request| request.changes.writes.iter().any(of_board))
}

fn fail_all(batch: Vec<CommitRequest>, error: &PortError) {
    for request in batch {
        let copy = error.without_source().with_source(
            error
                .source
                .as_ref()
                .map_or_else(String::new, ToString::to_string),
        );
        let _ = request.reply.send(Err(copy));
    }
}

/// Commits a batch and answers its requests. On an error nothing was committed and no request was answered.
fn commit_batch(
    shared: &EmbeddedStoreState,
    connection: &Connection,
    batch: &mut Vec<CommitRequest>,
) -> Result<(), PortError> {
    let (outcomes, boards) = in_transaction(connection, |transaction| {
        let mut open = CommitBatch::begin(transaction, &shared.mirror)?;
        let outcomes = batch
            .iter()
            .map(|request| open.apply_changeset(&request.changes))
            .collect::<Result<Vec<_>, _>>()?;
        Ok((outcomes, open.close_boards()?))
    })?;
    boards.apply_to_files(&shared.mirror);
    for (request, outcome) in batch.drain(..).zip(outcomes) {
        let _ = request.reply.send(Ok(outcome));
    }
    Ok(())
}

fn in_transaction<T>(
    connection: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, PortError>,
) -> Result<T, PortError> {
    let run = |sql: &str| {
        connection
            .prepare_cached(sql)
            .and_then(|mut s| s.execute([]).map(|_| ()))
    };
    run("BEGIN IMMEDIATE").map_err(from_sqlite)?;
    let done =
        work(connection).and_then(|answer| run("COMMIT").map_err(from_sqlite).map(|()| answer));
    if done.is_err() && !connection.is_autocommit() {
        // A failed rollback does no harm: the connection's next BEGIN reports it.
        let _ = run("ROLLBACK");
    }
    done
}

/// Commits a changeset on the calling thread, without the writer thread.
pub(super) fn commit_inline(shared: &EmbeddedStoreState, changes: Changeset) -> CommitResult {
    let changes = PreparedChangeset::from_changeset(changes)?;
    let lock = WriteLock::acquire(&shared.directory, shared.lock_timeout)?;
    let connection = shared.take_connection()?;
    let answer = in_transaction(&connection, |transaction| {
        let mut open = CommitBatch::begin(transaction, &shared.mirror)?;
        let outcome = open.apply_changeset(&changes)?;
        Ok((outcome, open.close_boards()?))
    });
    let answer = answer.map(|(outcome, boards)| {
        boards.apply_to_files(&shared.mirror);
        lock.notify_watchers();
        checkpoint_if_long(shared, &connection);
        outcome
    });
    shared.return_connection(connection);
    answer
}

/// Truncates the WAL on exit, unless another process is writing.
pub(super) fn checkpoint_on_exit(shared: &EmbeddedStoreState) {
    if let Ok(_lock) = WriteLock::acquire(&shared.directory, Duration::ZERO)
        && let Ok(connection) = shared.take_connection()
        && wal_bytes(&connection) > StoreMode::OneShot.max_wal_bytes()
    {
        truncate_wal(shared, &connection);
    }
}

/// Reconciles a board's file with the store and repairs it, inline. Returns the board's head and the detected
/// external change of its file, if any. `is_guarded`: the caller has locked the file against other programs.
pub(super) fn repair_board_file(
    shared: &EmbeddedStoreState,
    name: &BoardName,
    is_guarded: bool,
    timeout: Duration,
) -> Result<Option<(BoardHead, Option<BoardFileChange>)>, PortError> {
    let lock = WriteLock::acquire(&shared.directory, timeout)?;
    let connection = shared.take_connection()?;
    let mended = in_transaction(&connection, |transaction| {
        let open = CommitBatch::begin(transaction, &shared.mirror)?;
        let mut open = open.with_guarded_board(is_guarded.then_some(name));
        open.reconcile_file(name)?;
        open.close_boards()
    });
    let answer = mended.map(|boards| {
        let found = boards.apply_to_files(&shared.mirror).into_iter().next();
        if found
            .as_ref()
            .is_some_and(|(_, file_change)| file_change.is_some())
        {
            lock.notify_watchers();
        }
        found
    });
    shared.return_connection(connection);
    answer
}

/// Commits a stream of changesets in one transaction; in a server on a separate thread, at most a few
/// changesets behind the source. If the stream ends early or the caller's future is dropped, the transaction
/// is rolled back.
pub(super) async fn commit_stream(
    shared: &Arc<EmbeddedStoreState>,
    source: &mut dyn ChangesetSource,
) -> CommitResult {
    if !shared.should_offload_blocking() {
        return commit_stream_inline(shared, || {
            source
                .next()?
                .map(PreparedChangeset::from_changeset)
                .transpose()
        });
    }
    let (queue, mut waiting) = mpsc::channel(STREAM_QUEUE_LENGTH);
    let committing = run_blocking(shared, move |shared| {
        commit_stream_inline(shared, || match waiting.blocking_recv() {
            Some(next) => Ok(next),
            None => Err(PortError::internal("The stream", "its source is gone")),
        })
    });
    let (answer, fed) = tokio::join!(committing, feed_stream(source, queue));
    fed?;
    answer
}

/// Sends all changesets of a source, then an end marker; stops if the receiver is gone.
async fn feed_stream(
    source: &mut dyn ChangesetSource,
    queue: mpsc::Sender<Option<PreparedChangeset>>,
) -> Result<(), PortError> {
    loop {
        let next = source
            .next()?
            .map(PreparedChangeset::from_changeset)
            .transpose()?;
        let ended = next.is_none();
        if queue.send(next).await.is_err() || ended {
            return Ok(());
        }
    }
}

fn commit_stream_inline(
    shared: &EmbeddedStoreState,
    mut next: impl FnMut() -> Result<Option<PreparedChangeset>, PortError>,
) -> CommitResult {
    let lock = WriteLock::acquire(&shared.directory, shared.lock_timeout)?;
    let connection = shared.take_connection()?;
    let mut receipt = Receipt::default();
    let mut conflict = None;
    let streamed = in_transaction(&connection, |transaction| {
        let mut open = CommitBatch::begin(transaction, &shared.mirror)?;
        while let Some(changes) = next()? {
            match open.apply_changeset(&changes)? {
                CommitOutcome::Committed(one) => {
                    receipt.sequence = one.sequence;
                    receipt.unblocked.extend(one.unblocked);
                }
                CommitOutcome::Conflict(key) => {
                    conflict = Some(key);
                    return Err(PortError::internal("The stream", "a conflict ends it"));
                }
            }
        }
        open.close_boards()
    });
    let answer = match (streamed, conflict) {
        (_, Some(key)) => Ok(CommitOutcome::Conflict(key)),
        (Err(error), None) => Err(error),
        (Ok(boards), None) => {
            boards.apply_to_files(&shared.mirror);
            lock.notify_watchers();
            truncate_wal(shared, &connection);
            Ok(CommitOutcome::Committed(receipt))
        }
    };
    shared.return_connection(connection);
    answer
}

/// Checkpoints the WAL when it is long.
///
/// SQLite's own (passive) checkpoint does not suit commands: it leaves the WAL file as it is, to be
/// overwritten from the start by a process that knows how far it was copied back. In a sequence of
/// short-lived processes none of them knows, and the WAL would grow without bound. A server process does
/// know.
fn checkpoint_if_long(shared: &EmbeddedStoreState, connection: &Connection) {
    let length = wal_bytes(connection);
    if length <= shared.mode.max_wal_bytes() {
        return;
    }
    match shared.mode {
        StoreMode::SingleClient | StoreMode::Server if length <= MAX_WAL_BYTES => {
            let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
        StoreMode::OneShot | StoreMode::SingleClient | StoreMode::Server => {
            truncate_wal(shared, connection);
        }
    }
}

/// Returns the number of bytes in use in the WAL, up to the last commit; anything after that is left over.
/// Determined through SQLite, because only SQLite may open its files: when a process closes any descriptor of
/// such a file, it loses all its POSIX locks on that file.
fn wal_bytes(connection: &Connection) -> u64 {
    let frames = connection
        .prepare_cached("PRAGMA wal_checkpoint(NOOP)")
        .and_then(|mut statement| statement.query_row([], |row| row.get::<_, i64>(1)));
    frames.map_or(0, |frames| {
        u64::try_from(frames).unwrap_or(0) * WAL_FRAME_BYTES
    })
}

/// Checkpoints and truncates the WAL, unless a reader is using it. Failure is harmless; a later commit
/// retries.
fn truncate_wal(shared: &EmbeddedStoreState, connection: &Connection) {
    let _ = connection.busy_timeout(Duration::ZERO);
    let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    let _ = connection.busy_timeout(shared.lock_timeout);
}
