//! Group commit: one writer thread combines all pending changesets into one transaction and one fsync.
//!
//! Also contains the commit paths without a writer thread (single commands, streams, repairing a board's
//! file) and the WAL checkpoint policy.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use polis_core::board::{BoardHead, BoardName};
use polis_core::{Changeset, Code};
use polis_ops::port::{ChangesetSource, Noticed, Outcome};
use polis_ops::{PortError, Receipt};
use rusqlite::Connection;
use tokio::sync::{mpsc, oneshot};

use super::apply::Batch;
use super::blocking::aside;
use super::error::from_sqlite;
use super::lock::WriteLock;
use super::{Answer, Shared, Use};
use crate::prepared::{Prepared, Row};

/// Size of a WAL frame: a page and its header.
const FRAME: u64 = 4096 + 24;
/// Maximum length of a server's WAL while readers prevent it from being overwritten.
const LONGEST_LOG: u64 = 64 << 20;
/// Maximum number of changesets in one transaction, and the approximate maximum of their bytes.
const MOST: usize = 512;
const MOST_BYTES: usize = 8 << 20;
/// Size of the writer's page cache.
const CACHE_KIB: i64 = 32 << 10;
/// How many changesets a stream's source may be ahead of the thread that writes them.
const AHEAD: usize = 16;

struct Request {
    changes: Prepared,
    answer: oneshot::Sender<Answer>,
}

/// Handle of the writer thread; dropping it ends the thread and joins it.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(shared: Arc<Shared>) -> Self {
        let (queue, requests) = channel();
        // If the thread cannot be started, the receiver is dropped and every commit fails.
        let thread = std::thread::Builder::new()
            .name("polis-writer".to_owned())
            .spawn(move || serve(&shared, &requests))
            .ok();
        Self {
            queue: Some(queue),
            thread,
        }
    }

    pub(super) async fn commit(&self, changes: Changeset) -> Answer {
        // Rows and JSON are built by the caller, so that the writer thread only writes.
        let changes = Prepared::of(changes)?;
        let (answer, answered) = oneshot::channel();
        let gone = || PortError::internal("The writer thread", "it ended");
        let queue = self.queue.as_ref().ok_or_else(gone)?;
        queue
            .send(Request { changes, answer })
            .map_err(|_| gone())?;
        answered.await.map_err(|_| gone())?
    }
}

impl Drop for Writer {
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
fn roomy(connection: Connection) -> Connection {
    let _ = connection.pragma_update(None, "cache_size", -CACHE_KIB);
    connection
}

fn serve(shared: &Shared, requests: &Receiver<Request>) {
    let mut kept: Option<Connection> = None;
    while let Ok(first) = requests.recv() {
        let mut bytes = first.changes.size();
        let mut batch = vec![first];
        while batch.len() < MOST
            && bytes < MOST_BYTES
            && let Ok(request) = requests.try_recv()
        {
            bytes += request.changes.size();
            batch.push(request);
        }
        let ready = WriteLock::acquire(&shared.directory, shared.patience).and_then(|lock| {
            let connection = match kept.take() {
                Some(connection) => connection,
                None => roomy(shared.take()?),
            };
            Ok((lock, connection))
        });
        match ready {
            Ok((lock, connection)) => {
                commit_all(shared, &lock, &connection, batch);
                // A connection whose rollback failed is dropped, which rolls its transaction back.
                kept = Some(connection).filter(Connection::is_autocommit);
            }
            Err(error) => refuse_all(batch, &error),
        }
    }
    if let Some(connection) = kept
        && shared.usage == Use::Long
        && let Ok(_lock) = WriteLock::acquire(&shared.directory, shared.patience)
    {
        shorten_log(shared, &connection);
    }
}

/// Commits a batch. If it fails for a reason that may concern a single changeset, commits each one
/// separately.
fn commit_all(shared: &Shared, lock: &WriteLock, connection: &Connection, mut batch: Vec<Request>) {
    match commit_batch(shared, connection, &mut batch) {
        Ok(()) => {}
        Err(error) if batch.len() > 1 && may_be_ones_own(&error, &batch) => {
            for request in batch {
                let mut alone = vec![request];
                if let Err(error) = commit_batch(shared, connection, &mut alone) {
                    refuse_all(alone, &error);
                }
            }
        }
        Err(error) => refuse_all(batch, &error),
    }
    lock.announce();
    keep_log_short(shared, connection);
}

/// Whether an error may be caused by a single changeset rather than by the store: a damaged row or a board's
/// file.
fn may_be_ones_own(error: &PortError, batch: &[Request]) -> bool {
    let of_board = |row: &Row| matches!(row, Row::Board(_) | Row::Lease(_));
    error.code == Code::Internal
        || batch
            .iter()
            .any(|request| request.changes.writes.iter().any(of_board))
}

fn refuse_all(batch: Vec<Request>, error: &PortError) {
    for request in batch {
        let copy = PortError::new(error.code, error.message.clone(), error.hint.clone()).because(
            error
                .source
                .as_ref()
                .map_or_else(String::new, ToString::to_string),
        );
        let _ = request.answer.send(Err(copy));
    }
}

/// Commits a batch and answers its requests. On an error nothing was committed and no request was answered.
fn commit_batch(
    shared: &Shared,
    connection: &Connection,
    batch: &mut Vec<Request>,
) -> Result<(), PortError> {
    let (outcomes, boards) = in_transaction(connection, |transaction| {
        let mut open = Batch::begin(transaction, &shared.mirror)?;
        let outcomes = batch
            .iter()
            .map(|request| open.apply(&request.changes))
            .collect::<Result<Vec<_>, _>>()?;
        Ok((outcomes, open.close()?))
    })?;
    boards.finish(&shared.mirror);
    for (request, outcome) in batch.drain(..).zip(outcomes) {
        let _ = request.answer.send(Ok(outcome));
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

/// Commits a changeset inline.
pub(super) fn commit_alone(shared: &Shared, changes: Changeset) -> Answer {
    let changes = Prepared::of(changes)?;
    let lock = WriteLock::acquire(&shared.directory, shared.patience)?;
    let connection = shared.take()?;
    let answer = in_transaction(&connection, |transaction| {
        let mut open = Batch::begin(transaction, &shared.mirror)?;
        let outcome = open.apply(&changes)?;
        Ok((outcome, open.close()?))
    });
    let answer = answer.map(|(outcome, boards)| {
        boards.finish(&shared.mirror);
        lock.announce();
        keep_log_short(shared, &connection);
        outcome
    });
    shared.give_back(connection);
    answer
}

/// Truncates the WAL on exit, unless another process is writing.
pub(super) fn leave(shared: &Shared) {
    if let Ok(_lock) = WriteLock::acquire(&shared.directory, Duration::ZERO)
        && let Ok(connection) = shared.take()
        && log_length(&connection) > Use::Brief.log_limit()
    {
        shorten_log(shared, &connection);
    }
}

/// Reconciles a board's file with the store and repairs it, inline. `is_guarded`: the caller has locked the
/// file against other programs.
pub(super) fn mend(
    shared: &Shared,
    name: &BoardName,
    is_guarded: bool,
    patience: Duration,
) -> Result<Option<(BoardHead, Option<Noticed>)>, PortError> {
    let lock = WriteLock::acquire(&shared.directory, patience)?;
    let connection = shared.take()?;
    let mended = in_transaction(&connection, |transaction| {
        let open = Batch::begin(transaction, &shared.mirror)?;
        let mut open = open.with_guarded(is_guarded.then_some(name));
        open.meet(name)?;
        open.close()
    });
    let answer = mended.map(|boards| {
        let found = boards.finish(&shared.mirror).into_iter().next();
        if found.as_ref().is_some_and(|(_, noticed)| noticed.is_some()) {
            lock.announce();
        }
        found
    });
    shared.give_back(connection);
    answer
}

/// Commits a stream of changesets in one transaction; in a server on a separate thread, at most a few
/// changesets behind the source. If the stream ends early or the caller's future is dropped, the transaction
/// is rolled back.
pub(super) async fn commit_stream(
    shared: &Arc<Shared>,
    source: &mut dyn ChangesetSource,
) -> Answer {
    if !shared.serves_others() {
        return commit_all_of(shared, || source.next()?.map(Prepared::of).transpose());
    }
    let (queue, mut waiting) = mpsc::channel(AHEAD);
    let committing = aside(shared, move |shared| {
        commit_all_of(shared, || match waiting.blocking_recv() {
            Some(next) => Ok(next),
            None => Err(PortError::internal("The stream", "its source is gone")),
        })
    });
    let (answer, fed) = tokio::join!(committing, feed(source, queue));
    fed?;
    answer
}

/// Sends all changesets of a source, then an end marker; stops if the receiver is gone.
async fn feed(
    source: &mut dyn ChangesetSource,
    queue: mpsc::Sender<Option<Prepared>>,
) -> Result<(), PortError> {
    loop {
        let next = source.next()?.map(Prepared::of).transpose()?;
        let ended = next.is_none();
        if queue.send(next).await.is_err() || ended {
            return Ok(());
        }
    }
}

fn commit_all_of(
    shared: &Shared,
    mut next: impl FnMut() -> Result<Option<Prepared>, PortError>,
) -> Answer {
    let lock = WriteLock::acquire(&shared.directory, shared.patience)?;
    let connection = shared.take()?;
    let mut receipt = Receipt::default();
    let mut conflict = None;
    let streamed = in_transaction(&connection, |transaction| {
        let mut open = Batch::begin(transaction, &shared.mirror)?;
        while let Some(changes) = next()? {
            match open.apply(&changes)? {
                Outcome::Committed(one) => {
                    receipt.sequence = one.sequence;
                    receipt.unblocked.extend(one.unblocked);
                }
                Outcome::Conflict(key) => {
                    conflict = Some(key);
                    return Err(PortError::internal("The stream", "a conflict ends it"));
                }
            }
        }
        open.close()
    });
    let answer = match (streamed, conflict) {
        (_, Some(key)) => Ok(Outcome::Conflict(key)),
        (Err(error), None) => Err(error),
        (Ok(boards), None) => {
            boards.finish(&shared.mirror);
            lock.announce();
            shorten_log(shared, &connection);
            Ok(Outcome::Committed(receipt))
        }
    };
    shared.give_back(connection);
    answer
}

/// Checkpoints the WAL when it is long.
///
/// SQLite's own (passive) checkpoint does not suit commands: it leaves the WAL file as it is, to be
/// overwritten from the start by a process that knows how far it was copied back. In a sequence of
/// short-lived processes none of them knows, and the WAL would grow without bound. A server process does
/// know.
fn keep_log_short(shared: &Shared, connection: &Connection) {
    let length = log_length(connection);
    if length <= shared.usage.log_limit() {
        return;
    }
    match shared.usage {
        Use::Steady | Use::Long if length <= LONGEST_LOG => {
            let _ = connection.query_row("PRAGMA wal_checkpoint(PASSIVE)", [], |_| Ok(()));
        }
        Use::Brief | Use::Steady | Use::Long => shorten_log(shared, connection),
    }
}

/// Returns the number of bytes in use in the WAL, up to the last commit; anything after that is left over.
/// Determined through SQLite, because only SQLite may open its files: when a process closes any descriptor of
/// such a file, it loses all its POSIX locks on that file.
fn log_length(connection: &Connection) -> u64 {
    let frames = connection
        .prepare_cached("PRAGMA wal_checkpoint(NOOP)")
        .and_then(|mut ask| ask.query_row([], |row| row.get::<_, i64>(1)));
    frames.map_or(0, |frames| u64::try_from(frames).unwrap_or(0) * FRAME)
}

/// Checkpoints and truncates the WAL, unless a reader is using it. Failure is harmless; a later commit
/// retries.
fn shorten_log(shared: &Shared, connection: &Connection) {
    let _ = connection.busy_timeout(Duration::ZERO);
    let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    let _ = connection.busy_timeout(shared.patience);
}
