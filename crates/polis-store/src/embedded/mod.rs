//! The embedded store: one SQLite file shared by any number of processes.
//!
//! It uses a write-ahead log (WAL) with fsync on every commit. Reads run concurrently on pooled connections.
//! In a server, commits go through one writer thread (`writer`), which combines all pending changesets into
//! one transaction and one fsync (group commit); between processes, writers queue on a kernel lock (`lock`).
//! Boards are mirrored as Markdown files (`mirror`).

mod apply;
mod blocking;
mod board_batch;
mod board_read;
mod boards;
mod connection;
mod error;
mod feed;
mod lock;
mod messages;
mod mirror;
mod read;
mod records;
mod turns;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use polis_core::changeset::Fence;
use polis_core::message::Message;
use polis_core::record::{RecordKind, RecordName, Stored};
use polis_core::society::{MemberKey, RunId};
use polis_core::task::{Comment, TaskSummary};
use polis_core::workspace::record::{AssignedWorkspace, Workspace};
use polis_core::{Agent, AgentId, Changeset, Event, Registered, TaskId, TaskRecord, TaskType};
use polis_ops::PortError;
use polis_ops::port::{
    self, Agents, CandidateQuery, ChangesetSource, CommentQuery, EventQuery, Events, Ledger,
    Mailbox, MailboxQuery, Messages, Outcome, PersonMailQuery, PortFuture, Records, StatusCounts,
    StoredTurn, TaskQuery, Tasks, Workspaces,
};
use rusqlite::Connection;
use tokio::sync::Semaphore;

use blocking::{LONG_READS, Turns, ready};
use connection::Purpose;
use feed::Feed;
use mirror::Mirror;
use records::Sized;
use writer::Writer;

/// File name of the database inside its directory.
pub const DATABASE: &str = "polis.db";

/// Maximum number of idle connections kept in the pool.
const MOST_IDLE: usize = 32;

/// How a process uses the store; decides how the WAL is checkpointed and where commits run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// A single command: keeps the WAL short, because the next process has to read all of it.
    Brief,
    /// A long-running process with a single client: commits inline like a command, and reuses the WAL like a
    /// server, because fsync is slower on a growing file.
    Steady,
    /// A server: lets the WAL grow to some extent, because a checkpoint costs fsyncs, and then overwrites it
    /// from the start, because fsync is slower on a growing file.
    Long,
}

impl Use {
    /// Maximum length of the WAL, in bytes, that a commit leaves without a checkpoint.
    fn log_limit(self) -> u64 {
        match self {
            Self::Brief => 256 << 10,
            Self::Steady => 1 << 20,
            Self::Long => 16 << 20,
        }
    }
}

/// The embedded store.
#[derive(Debug)]
pub struct EmbeddedStore {
    shared: Arc<Shared>,
    writer: OnceLock<Writer>,
    feed: OnceLock<Feed>,
    /// Per-board locks for repairing a board's file.
    mending: Turns,
    /// Per-board locks for keeping other programs away from a board's file.
    holding: Turns,
}

/// State shared by readers, the writer and the feed.
#[derive(Debug)]
struct Shared {
    directory: PathBuf,
    usage: Use,
    patience: Duration,
    idle: Mutex<Vec<Connection>>,
    long_reads: Arc<Semaphore>,
    mirror: Mirror,
}

impl Shared {
    /// Runs a read inline on a pooled connection (see [`aside`] for long reads).
    ///
    /// A connection is used by one thread and never held across an await, so there are at most as many
    /// connections as threads that read concurrently.
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
        // A connection whose rollback failed would keep its transaction open and block every writer.
        if !connection.is_autocommit() {
            return;
        }
        let mut idle = self.idle.lock().unwrap_or_else(PoisonError::into_inner);
        if idle.len() < MOST_IDLE {
            idle.push(connection);
        }
    }
}

impl EmbeddedStore {
    /// Creates the store in a directory, or opens the existing one.
    pub fn create(directory: &Path, usage: Use, patience: Duration) -> Result<Self, PortError> {
        connection::create(directory, patience)?;
        Self::begin(directory, usage, patience, Purpose::Create)
    }

    /// Like [`EmbeddedStore::create`], with the blackboard's files in `blackboard/` next to the directory,
    /// unless it already contains some. The location is stored, so later opens find the files there.
    pub fn create_beside_blackboard(
        directory: &Path,
        usage: Use,
        patience: Duration,
    ) -> Result<Self, PortError> {
        connection::create(directory, patience)?;
        Self::begin(directory, usage, patience, Purpose::CreateBeside)
    }

    /// Opens the existing store of a directory and applies missing migrations.
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
        if purpose == Purpose::CreateBeside {
            boards::put_blackboard_beside(&connection)?;
        }
        let beside = apply::mark(&connection, boards::BLACKBOARD_BESIDE)? > 0;
        let shared = Shared {
            directory: directory.to_owned(),
            usage,
            patience,
            idle: Mutex::new(vec![connection]),
            long_reads: Arc::new(Semaphore::new(LONG_READS)),
            mirror: Mirror::new(directory, beside),
        };
        Ok(Self {
            shared: Arc::new(shared),
            writer: OnceLock::new(),
            feed: OnceLock::new(),
            mending: Turns::default(),
            holding: Turns::default(),
        })
    }

    /// Sets how many versions are kept of a board whose file was changed externally. Changes made through
    /// polis carry their own limit.
    #[must_use]
    pub fn keeping(self, versions: u32) -> Self {
        self.shared.mirror.set_keep(versions);
        self
    }

    /// Checks the integrity of the database file and returns the problems found.
    pub fn check(&self) -> Result<Vec<String>, PortError> {
        self.shared.read(read::integrity)
    }

    fn writer(&self) -> &Writer {
        self.writer
            .get_or_init(|| Writer::start(Arc::clone(&self.shared)))
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        // Otherwise the next process would have to read the whole WAL. A server's writer thread does this
        // itself.
        if self.shared.usage == Use::Steady {
            writer::leave(&self.shared);
        }
    }
}

impl Ledger for EmbeddedStore {
    fn fence(&self, fence: Fence) -> PortFuture<'_, u64> {
        self.read(|c| apply::mark(c, fence.as_str()))
    }

    fn commit(&self, changes: Changeset) -> PortFuture<'_, Outcome> {
        Box::pin(async move {
            match self.shared.usage {
                // A command commits once: a writer thread would have nothing to group and would only cost
                // time.
                Use::Brief | Use::Steady => writer::commit_alone(&self.shared, changes),
                Use::Long => self.writer().commit(changes).await,
            }
        })
    }

    fn commit_stream<'a>(&'a self, source: &'a mut dyn ChangesetSource) -> PortFuture<'a, Outcome> {
        Box::pin(writer::commit_stream(&self.shared, source))
    }
}

/// The number of rows requested by id, for [`EmbeddedStore::read_rows`].
fn rows(ids: &[TaskId]) -> u32 {
    u32::try_from(ids.len()).unwrap_or(u32::MAX)
}

impl Tasks for EmbeddedStore {
    fn tasks<'a>(&'a self, ids: &'a [TaskId]) -> PortFuture<'a, Vec<TaskRecord>> {
        let ids = ids.to_vec();
        self.read_rows(rows(&ids), move |c| read::tasks(c, &ids))
    }

    fn scan_tasks(&self, after: Option<TaskId>, limit: u32) -> PortFuture<'_, Vec<TaskRecord>> {
        self.read_rows(limit, move |c| read::scan(c, after, limit))
    }

    fn list_tasks<'a>(&'a self, query: &'a TaskQuery) -> PortFuture<'a, Vec<TaskSummary>> {
        let query = query.clone();
        // A word search scans every task.
        let weight = match query.search.words() {
            [] => query.limit,
            _ => u32::MAX,
        };
        self.read_rows(weight, move |c| read::list(c, &query))
    }

    fn candidates<'a>(&'a self, query: &'a CandidateQuery) -> PortFuture<'a, Vec<TaskRecord>> {
        let query = query.clone();
        self.read_long(move |c| read::candidates(c, &query))
    }

    fn blocks_of<'a>(&'a self, ids: &'a [TaskId]) -> PortFuture<'a, Vec<(TaskId, Vec<TaskId>)>> {
        let ids = ids.to_vec();
        self.read_rows(rows(&ids), move |c| read::blocks_of(c, &ids))
    }

    fn comments<'a>(&'a self, query: &'a CommentQuery) -> PortFuture<'a, Vec<Comment>> {
        // A comment may be long, so a row counts as several.
        let (query, weight) = (query.clone(), query.limit.saturating_mul(4));
        self.read_rows(weight, move |c| read::comments(c, &query))
    }

    fn completed_types<'a>(
        &'a self,
        owner: &'a str,
        limit: u32,
    ) -> PortFuture<'a, Vec<Option<TaskType>>> {
        let owner = owner.to_owned();
        self.read_rows(limit, move |c| read::completed_types(c, &owner, limit))
    }

    fn last_task_number(&self) -> PortFuture<'_, u64> {
        self.read(apply::last_task_number)
    }

    fn count_list<'a>(&'a self, query: &'a TaskQuery) -> PortFuture<'a, u64> {
        let query = query.clone();
        self.read_long(move |c| read::count_list(c, &query))
    }

    fn loads(&self) -> PortFuture<'_, Vec<(String, u64)>> {
        self.read_long(read::loads)
    }

    fn held_tasks(&self, limit: u32) -> PortFuture<'_, Vec<TaskSummary>> {
        self.read_long(move |c| read::held(c, limit))
    }

    fn count_tasks(&self) -> PortFuture<'_, StatusCounts> {
        self.read_long(read::count)
    }
}

impl Agents for EmbeddedStore {
    fn agent<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<Registered>> {
        self.read(|c| read::agent(c, id))
    }

    fn agents(&self) -> PortFuture<'_, Vec<Agent>> {
        self.read_long(read::agents)
    }

    fn named<'a>(&'a self, ids: &'a [AgentId]) -> PortFuture<'a, Vec<Agent>> {
        let ids = ids.to_vec();
        let weight = u32::try_from(ids.len()).unwrap_or(u32::MAX);
        self.read_rows(weight, move |c| read::named(c, &ids))
    }

    fn agents_of_run<'a>(
        &'a self,
        run: Option<&'a RunId>,
        role: Option<&'a str>,
    ) -> PortFuture<'a, Vec<Agent>> {
        let (run, role) = (run.cloned(), role.map(str::to_owned));
        self.read_long(move |c| read::agents_of_run(c, run.as_ref(), role.as_deref()))
    }
}

impl Workspaces for EmbeddedStore {
    fn workspace<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<AssignedWorkspace>> {
        self.read(|c| read::workspace(c, id))
    }

    fn workspaces(&self) -> PortFuture<'_, Vec<Workspace>> {
        self.read_long(read::workspaces)
    }
}

impl Records for EmbeddedStore {
    fn record<'a>(&'a self, name: &'a RecordName) -> PortFuture<'a, Option<Stored>> {
        match self.shared.read(|c| records::small(c, name)) {
            Ok(Sized::Small(found)) => ready(Ok(found)),
            Ok(Sized::Large) => {
                let name = name.clone();
                self.read_long(move |c| records::one(c, &name))
            }
            Err(error) => ready(Err(error)),
        }
    }

    fn records<'a>(
        &'a self,
        kind: RecordKind,
        after: Option<&'a str>,
        limit: u32,
    ) -> PortFuture<'a, Vec<Stored>> {
        // A body may be several megabytes.
        let after = after.map(str::to_owned);
        self.read_long(move |c| records::page(c, kind, after.as_deref(), limit))
    }

    fn records_of<'a>(
        &'a self,
        kind: RecordKind,
        owner: &'a str,
        after: Option<&'a str>,
        limit: u32,
    ) -> PortFuture<'a, Vec<Stored>> {
        let (owner, after) = (owner.to_owned(), after.map(str::to_owned));
        // Bodies of these kinds may be several megabytes; the other kinds are small.
        let weight = match kind {
            RecordKind::Artifact | RecordKind::Reply | RecordKind::CommandOutput => u32::MAX,
            _ => limit.saturating_mul(2),
        };
        self.read_rows(weight, move |c| {
            records::page_of(c, kind, &owner, after.as_deref(), limit)
        })
    }

    fn commands_of_all<'a>(&'a self, after: &'a str, limit: u32) -> PortFuture<'a, Vec<Stored>> {
        let (after, weight) = (after.to_owned(), limit.saturating_mul(2));
        self.read_rows(weight, move |c| records::commands_of_all(c, &after, limit))
    }
}

impl Messages for EmbeddedStore {
    fn mailbox<'a>(&'a self, query: &'a MailboxQuery) -> PortFuture<'a, Vec<Message>> {
        // A payload may be large, so a row counts as several.
        let (query, weight) = (query.clone(), query.limit.saturating_mul(4));
        self.read_rows(weight, move |c| messages::mailbox(c, &query))
    }

    fn person_mail<'a>(&'a self, query: &'a PersonMailQuery) -> PortFuture<'a, Vec<Message>> {
        let (query, weight) = (query.clone(), query.limit.saturating_mul(4));
        self.read_rows(weight, move |c| messages::person_mail(c, &query))
    }

    fn message(&self, id: u64) -> PortFuture<'_, Option<Message>> {
        self.read(|c| messages::one(c, id))
    }

    fn next_delivery<'a>(
        &'a self,
        recipient: &'a AgentId,
        now: i64,
    ) -> PortFuture<'a, Option<i64>> {
        self.read(|c| messages::next_delivery(c, recipient, now))
    }

    fn waiting<'a>(
        &'a self,
        now: i64,
        after: Option<&'a Mailbox>,
        limit: u32,
    ) -> PortFuture<'a, Vec<Mailbox>> {
        let after = after.cloned();
        self.read_rows(limit, move |c| {
            messages::waiting(c, now, after.as_ref(), limit)
        })
    }

    fn next_delivery_of_any(&self, now: i64) -> PortFuture<'_, Option<i64>> {
        self.read(|c| messages::next_delivery_of_any(c, now))
    }
}

impl port::Turns for EmbeddedStore {
    fn turns<'a>(
        &'a self,
        member: &'a MemberKey,
        from: u64,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredTurn>> {
        let member = member.clone();
        self.read_rows(limit, move |c| turns::from(c, &member, from, limit))
    }

    fn last_turns<'a>(
        &'a self,
        member: &'a MemberKey,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredTurn>> {
        let member = member.clone();
        self.read_rows(limit, move |c| turns::last(c, &member, limit))
    }
}

impl Events for EmbeddedStore {
    fn events<'a>(&'a self, query: &'a EventQuery) -> PortFuture<'a, Vec<Event>> {
        let query = query.clone();
        self.read_rows(query.limit, move |c| read::events(c, &query))
    }

    fn last_sequence(&self) -> PortFuture<'_, u64> {
        self.read(apply::last_sequence)
    }

    fn wait_beyond(&self, after: u64, at_most: Duration) -> PortFuture<'_, u64> {
        Box::pin(async move {
            let feed = self
                .feed
                .get_or_init(|| Feed::start(Arc::clone(&self.shared)));
            // Subscribe before reading, so that a commit in between wakes us.
            let mut signal = feed.subscribe();
            let deadline = tokio::time::Instant::now() + at_most;
            loop {
                let last = self.shared.read(apply::last_sequence)?;
                if last > after {
                    return Ok(last);
                }
                match tokio::time::timeout_at(deadline, signal.changed()).await {
                    Ok(Ok(())) => {}
                    // Without its thread the feed never notifies; wait until the deadline.
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

/// Result of committing a changeset.
type Answer = Result<Outcome, PortError>;
