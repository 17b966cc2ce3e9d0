//! Group commit: one thread, one transaction and one synchronisation for all that wait.

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

/// The size of a frame: a page and its header.
const FRAME: u64 = 4096 + 24;
/// How long a server's log may become while readers keep it from being written over.
const LONGEST_LOG: u64 = 64 << 20;
/// The most changesets in one transaction, and about the most bytes.
const MOST: usize = 512;
const MOST_BYTES: usize = 8 << 20;
/// How much of the database the writer keeps in memory.
const CACHE_KIB: i64 = 32 << 10;
/// How many changesets a stream's source may be ahead of the thread that writes them.
const AHEAD: usize = 16;

struct Request {
    changes: Prepared,
    answer: oneshot::Sender<Answer>,
}

/// The way to the writer thread, which ends, and is waited for, when this is dropped.
#[derive(Debug)]
pub(super) struct Writer {
    queue: Option<Sender<Request>>,
    thread: Option<JoinHandle<()>>,
}

impl Writer {
    pub(super) fn start(shared: Arc<Shared>) -> Self {
        let (queue, requests) = channel();
        // If the thread cannot be started the receiver is gone, and every commit says so.
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
        // Rows and JSON are made here, by the caller, so that the one thread only writes.
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
        // Nothing is written after this: a directory may be removed.
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// Lets the one who writes keep more pages: those of a large board's indexes would be read again for
/// every batch. Without the room it is only slower.
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
                // One whose rollback failed is dropped, and its transaction with it.
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

/// Commits a batch, and each changeset alone if the batch fails for a reason that may be one's own.
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

/// Whether a failure may come from one changeset, not from the store: a damaged row, a board's file.
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

/// Commits a batch and answers it. On an error nothing was committed and nobody answered.
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
        // A failed rollback leaves nothing behind either: the connection's next begin says so.
        let _ = run("ROLLBACK");
    }
    done
}

/// Commits a changeset here and now.
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

/// Leaves a short log behind, if nobody is writing just now.
pub(super) fn leave(shared: &Shared) {
    if let Ok(_lock) = WriteLock::acquire(&shared.directory, Duration::ZERO)
        && let Ok(connection) = shared.take()
        && log_length(&connection) > Use::Brief.log_limit()
    {
        shorten_log(shared, &connection);
    }
}

/// Finds out what became of a board's file and mends it, here and now. `is_guarded`: the caller keeps other programs from
/// writing to it.
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

/// Commits a stream of changesets in one transaction of its own; in a server, on a thread of its own,
/// a few changesets behind their source. Whatever ends the stream early undoes it, and so does giving
/// up waiting for it.
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

/// Sends all that a source gives, and that it has ended, unless nobody wants it any more.
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

/// Copies the write-ahead log back when it is long.
///
/// SQLite's own checkpoint is no good for commands: it leaves the log as it is, to be overwritten
/// from the start by a process that remembers how far it was copied back. With one process after
/// another nobody does, and the log would grow for ever. A server does remember.
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

/// How many bytes of the write-ahead log count: those of the last commit and before it. What lies
/// beyond is left over. Asked of SQLite, which alone may open its files: when a process closes one of
/// them, it loses every lock that it has on it.
fn log_length(connection: &Connection) -> u64 {
    let frames = connection
        .prepare_cached("PRAGMA wal_checkpoint(NOOP)")
        .and_then(|mut ask| ask.query_row([], |row| row.get::<_, i64>(1)));
    frames.map_or(0, |frames| u64::try_from(frames).unwrap_or(0) * FRAME)
}

/// Copies the write-ahead log back and cuts it off, unless somebody is reading from it just now. Not
/// being able to is no fault; a later commit does it.
fn shorten_log(shared: &Shared, connection: &Connection) {
    let _ = connection.busy_timeout(Duration::ZERO);
    let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    let _ = connection.busy_timeout(shared.patience);
}
