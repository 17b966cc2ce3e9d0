//! The embedded store: one SQLite file that any number of processes share.
//!
//! Write-ahead log with full synchronisation. Reads run at once, on pooled connections. Commits go
//! through one writer thread for each server (`writer`), which puts what is waiting into one
//! transaction and one synchronisation; between processes it queues on a kernel lock (`lock`).

mod apply;
mod connection;
mod error;
mod feed;
mod lock;
mod read;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use polis_core::changeset::Fence;
use polis_core::task::{Comment, TaskSummary};
use polis_core::{Agent, AgentId, Changeset, Event, Registered, TaskId, TaskRecord, TaskType};
use polis_ops::PortError;
use polis_ops::port::{
    Agents, CandidateQuery, ChangesetSource, EventQuery, Events, Ledger, Outcome, PortFuture,
    StatusCounts, TaskQuery, Tasks,
};
use rusqlite::Connection;

use connection::Purpose;
use feed::Feed;
use writer::Writer;

/// The database's file name inside its directory.
pub const DATABASE: &str = "polis.db";

/// How a process uses the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// One command: keep the write-ahead log short, because the next process reads it whole.
    Brief,
    /// A server: keep it long, because copying it back costs synchronisations.
    Long,
}

impl Use {
    /// How many bytes of write-ahead log a commit leaves at the most.
    fn log_limit(self) -> u64 {
        match self {
            Self::Brief => 256 << 10,
            Self::Long => 64 << 20,
        }
    }
}

/// The embedded store.
#[derive(Debug)]
pub struct EmbeddedStore {
    shared: Arc<Shared>,
    writer: OnceLock<Writer>,
    feed: OnceLock<Feed>,
}

/// What readers, the writer and the feed have in common.
#[derive(Debug)]
struct Shared {
    directory: PathBuf,
    usage: Use,
    patience: Duration,
    idle: Mutex<Vec<Connection>>,
}

impl Shared {
    /// Runs a read on a pooled connection.
    ///
    /// Reads are index look-ups of microseconds or pages that their callers bound, so they run where
    /// they are called instead of being sent to another thread.
    fn read<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, PortError>,
    ) -> Result<T, PortError> {
        let connection = self.take()?;
        let answer = work(&connection);
        self.give_back(connection);
        answer
    }

    fn take(&self) -> Result<Connection, PortError> {
        let pooled = self
            .idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .pop();
        pooled.map_or_else(|| connection::open(&self.directory, self.patience), Ok)
    }

    fn give_back(&self, connection: Connection) {
        // One whose rollback failed would keep its transaction open, and every writer out.
        if !connection.is_autocommit() {
            return;
        }
        self.idle
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .push(connection);
    }
}

impl EmbeddedStore {
    /// Creates the store in a directory, or opens the one that is there.
    pub fn create(directory: &Path, usage: Use, patience: Duration) -> Result<Self, PortError> {
        connection::create(directory, patience)?;
        Self::begin(directory, usage, patience, Purpose::Create)
    }

    /// Opens the store of a directory, bringing its tables up to date.
    pub fn open(directory: &Path, usage: Use, patience: Duration) -> Result<Self, PortError> {
        Self::begin(directory, usage, patience, Purpose::Open)
    }

    fn begin(
        directory: &Path,
        usage: Use,
        patience: Duration,
        purpose: Purpose,
    ) -> Result<Self, PortError> {
        let connection = connection::open_current(directory, patience, purpose)?;
        let shared = Shared {
            directory: directory.to_owned(),
            usage,
            patience,
            idle: Mutex::new(vec![connection]),
        };
        Ok(Self {
            shared: Arc::new(shared),
            writer: OnceLock::new(),
            feed: OnceLock::new(),
        })
    }

    /// Checks the whole file; the answer lists what is wrong.
    pub fn check(&self) -> Result<Vec<String>, PortError> {
        self.shared.read(read::integrity)
    }

    fn writer(&self) -> &Writer {
        self.writer
            .get_or_init(|| Writer::start(Arc::clone(&self.shared)))
    }
}

/// A finished answer as a future.
fn ready<'a, T: Send + 'a>(answer: Result<T, PortError>) -> PortFuture<'a, T> {
    Box::pin(std::future::ready(answer))
}

impl Ledger for EmbeddedStore {
    fn fence(&self, fence: Fence) -> PortFuture<'_, u64> {
        ready(self.shared.read(|c| apply::mark(c, fence.as_str())))
    }

    fn commit(&self, changes: Changeset) -> PortFuture<'_, Outcome> {
        Box::pin(async move {
            match self.shared.usage {
                // A command commits once; a thread to group with nobody would only cost time.
                Use::Brief => writer::commit_alone(&self.shared, changes),
                Use::Long => self.writer().commit(changes).await,
            }
        })
    }

    fn commit_stream<'a>(&'a self, source: &'a mut dyn ChangesetSource) -> PortFuture<'a, Outcome> {
        Box::pin(async move { writer::commit_stream(&self.shared, source) })
    }
}

impl Tasks for EmbeddedStore {
    fn tasks<'a>(&'a self, ids: &'a [TaskId]) -> PortFuture<'a, Vec<TaskRecord>> {
        ready(self.shared.read(|c| read::tasks(c, ids)))
    }

    fn scan_tasks(&self, after: Option<TaskId>, limit: u32) -> PortFuture<'_, Vec<TaskRecord>> {
        ready(self.shared.read(|c| read::scan(c, after, limit)))
    }

    fn list_tasks<'a>(&'a self, query: &'a TaskQuery) -> PortFuture<'a, Vec<TaskSummary>> {
        ready(self.shared.read(|c| read::list(c, query)))
    }

    fn candidates<'a>(&'a self, query: &'a CandidateQuery) -> PortFuture<'a, Vec<TaskRecord>> {
        ready(self.shared.read(|c| read::candidates(c, query)))
    }

    fn blocks_of<'a>(&'a self, ids: &'a [TaskId]) -> PortFuture<'a, Vec<(TaskId, Vec<TaskId>)>> {
        ready(self.shared.read(|c| read::blocks_of(c, ids)))
    }

    fn comments(&self, id: TaskId) -> PortFuture<'_, Vec<Comment>> {
        ready(self.shared.read(|c| read::comments(c, id)))
    }

    fn completed_types<'a>(
        &'a self,
        owner: &'a str,
        limit: u32,
    ) -> PortFuture<'a, Vec<Option<TaskType>>> {
        ready(self.shared.read(|c| read::completed_types(c, owner, limit)))
    }

    fn last_task_number(&self) -> PortFuture<'_, u64> {
        ready(self.shared.read(apply::last_task_number))
    }

    fn count_tasks(&self) -> PortFuture<'_, StatusCounts> {
        ready(self.shared.read(read::count))
    }
}

impl Agents for EmbeddedStore {
    fn agent<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<Registered>> {
        ready(self.shared.read(|c| read::agent(c, id)))
    }

    fn agents(&self) -> PortFuture<'_, Vec<Agent>> {
        ready(self.shared.read(read::agents))
    }
}

impl Events for EmbeddedStore {
    fn events<'a>(&'a self, query: &'a EventQuery) -> PortFuture<'a, Vec<Event>> {
        ready(self.shared.read(|c| read::events(c, query)))
    }

    fn last_sequence(&self) -> PortFuture<'_, u64> {
        ready(self.shared.read(apply::last_sequence))
    }

    fn wait_beyond(&self, after: u64, at_most: Duration) -> PortFuture<'_, u64> {
        Box::pin(async move {
            let feed = self
                .feed
                .get_or_init(|| Feed::start(Arc::clone(&self.shared)));
            // Subscribe first, read after: what is committed in between wakes us.
            let mut signal = feed.subscribe();
            let deadline = tokio::time::Instant::now() + at_most;
            loop {
                let last = self.shared.read(apply::last_sequence)?;
                if last > after {
                    return Ok(last);
                }
                match tokio::time::timeout_at(deadline, signal.changed()).await {
                    Ok(Ok(())) => {}
                    // Without its thread the feed says nothing; the time is waited out all the same.
                    Ok(Err(_)) => tokio::time::sleep_until(deadline).await,
                    Err(_) => return Ok(last),
                }
                if tokio::time::Instant::now() >= deadline {
                    return self.shared.read(apply::last_sequence);
                }
            }
        })
    }
}

/// What a committed changeset's caller is told.
type Answer = Result<Outcome, PortError>;
