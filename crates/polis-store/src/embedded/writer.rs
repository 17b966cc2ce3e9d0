//! Group commit: one thread, one transaction and one synchronisation for all that wait.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;
use std::time::Duration;

use polis_core::{Changeset, Code};
use polis_ops::port::{ChangesetSource, Outcome};
use polis_ops::{PortError, Receipt};
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::apply::Batch;
use super::error::from_sqlite;
use super::lock::WriteLock;
use super::{Answer, Shared, Use};
use crate::prepared::Prepared;

/// The write-ahead log's file name.
const LOG: &str = "polis.db-wal";
/// The most changesets in one transaction.
const MOST: usize = 512;

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

fn serve(shared: &Shared, requests: &Receiver<Request>) {
    let mut kept: Option<Connection> = None;
    while let Ok(first) = requests.recv() {
        let mut batch = vec![first];
        batch.extend(requests.try_iter().take(MOST - 1));
        let ready = WriteLock::acquire(&shared.directory, shared.patience).and_then(|lock| {
            let connection = kept.take().map_or_else(|| shared.take(), Ok)?;
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
    if let Some(connection) = kept {
        if shared.usage == Use::Long
            && let Ok(_lock) = WriteLock::acquire(&shared.directory, shared.patience)
        {
            shorten_log(shared, &connection);
        }
        shared.give_back(connection);
    }
}

/// Commits a batch, and each changeset alone if the batch fails for a reason that may be one's own.
fn commit_all(shared: &Shared, lock: &WriteLock, connection: &Connection, mut batch: Vec<Request>) {
    match commit_batch(connection, &mut batch) {
        Ok(()) => {}
        Err(error) if error.code == Code::Internal && batch.len() > 1 => {
            for request in batch {
                let mut alone = vec![request];
                if let Err(error) = commit_batch(connection, &mut alone) {
                    refuse_all(alone, &error);
                }
            }
        }
        Err(error) => refuse_all(batch, &error),
    }
    lock.announce();
    keep_log_short(shared, connection);
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
fn commit_batch(connection: &Connection, batch: &mut Vec<Request>) -> Result<(), PortError> {
    let outcomes = in_transaction(connection, |transaction| {
        let mut open = Batch::begin(transaction)?;
        batch
            .iter()
            .map(|request| open.apply(&request.changes))
            .collect::<Result<Vec<_>, _>>()
    })?;
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
        Batch::begin(transaction)?.apply(&changes)
    });
    if answer.is_ok() {
        lock.announce();
        keep_log_short(shared, &connection);
    }
    shared.give_back(connection);
    answer
}

/// Commits a stream of changesets in one transaction of its own.
pub(super) fn commit_stream(shared: &Shared, source: &mut dyn ChangesetSource) -> Answer {
    let lock = WriteLock::acquire(&shared.directory, shared.patience)?;
    let connection = shared.take()?;
    let mut receipt = Receipt::default();
    let mut conflict = None;
    let streamed = in_transaction(&connection, |transaction| {
        let mut open = Batch::begin(transaction)?;
        while let Some(changes) = source.next()? {
            match open.apply(&Prepared::of(changes)?)? {
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
        Ok(())
    });
    let answer = match (streamed, conflict) {
        (_, Some(key)) => Ok(Outcome::Conflict(key)),
        (Err(error), None) => Err(error),
        (Ok(()), None) => {
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
/// another nobody does, and the log would grow for ever.
fn keep_log_short(shared: &Shared, connection: &Connection) {
    let log = shared.directory.join(LOG);
    if std::fs::metadata(log).is_ok_and(|found| found.len() > shared.usage.log_limit()) {
        shorten_log(shared, connection);
    }
}

/// Copies the write-ahead log back and cuts it off, unless somebody is reading from it just now. Not
/// being able to is no fault; a later commit does it.
fn shorten_log(shared: &Shared, connection: &Connection) {
    let _ = connection.busy_timeout(Duration::ZERO);
    let _ = connection.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()));
    let _ = connection.busy_timeout(shared.patience);
}
