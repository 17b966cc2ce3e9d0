//! The embedded store: one SQLite file shared by any number of processes.
//!
//! It uses a write-ahead log (WAL) with fsync on every commit. Reads run concurrently on pooled connections;
//! in a server, long reads run on tokio's blocking threads (`blocking`) and commits go through one writer
//! thread (`writer`), which combines all pending changesets into one transaction and one fsync (group
//! commit). Other processes commit on the calling thread. Between processes, writers queue on a kernel lock
//! (`lock`), and readers that wait for events are woken through its file (`feed`). Boards are mirrored as
//! Markdown files (`mirror`).

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
mod read_queries;
mod records;
mod turns;
mod writer;

use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::Mutex;
use polis_core::changeset::Fence;
use polis_core::message::Message;
use polis_core::number::saturating_cast;
use polis_core::record::{RecordKind, RecordName, StoredRecord};
use polis_core::society::{MemberKey, RunId};
use polis_core::task::{Comment, TaskSummary};
use polis_core::workspace::workspace_record::{AssignedWorkspace, Workspace};
use polis_core::{Agent, AgentId, Changeset, Event, RegisteredAgent, TaskId, TaskRecord, TaskType};
use polis_ops::PortError;
use polis_ops::port::{
    self, AgentReader, CandidateQuery, ChangesetSource, CommentQuery, CommitOutcome, EventLogQuery,
    EventLogReader, Ledger, MailboxKey, MailboxQuery, MessageReader, PersonMailQuery, PortFuture,
    RecordReader, StatusCounts, StoredTurn, TaskQuery, TaskReader, WorkspaceReader,
};
use rusqlite::Connection;
use tokio::sync::Semaphore;

use blocking::{BoardLocks, MAX_LONG_READS, ready_future};
use connection::OpenPurpose;
use feed::LockFileEventFeed;
use mirror::Mirror;
use records::RecordLookup;
use writer::WriterThread;

/// File name of the database inside its directory.
pub const DATABASE_FILE: &str = "polis.db";

/// Maximum number of idle connections kept in the pool.
const MAX_IDLE_CONNECTIONS: usize = 32;

/// How a process uses the store: determines when the WAL is checkpointed, and on which thread commits and
/// long reads run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreMode {
    /// A single command: keeps the WAL short, because the next process has to read all of it.
    OneShot,
    /// A long-running process with a single client: commits inline like a command, and reuses the WAL like a
    /// server, because fsync is slower on a growing file.
    SingleClient,
    /// A server: lets the WAL grow to some extent, because a checkpoint costs fsyncs, and then overwrites it
    /// from the start, because fsync is slower on a growing file.
    Server,
}

impl StoreMode {
    /// Maximum length of the WAL, in bytes, that a commit leaves without a checkpoint.
    fn max_wal_bytes(self) -> u64 {
        match self {
            Self::OneShot => 256 << 10,
            Self::SingleClient => 1 << 20,
            Self::Server => 16 << 20,
        }
    }
}

/// The embedded store: SQLite, with the boards mirrored as Markdown files.
#[derive(Debug)]
pub struct EmbeddedStore {
    shared: Arc<EmbeddedStoreState>,
    writer: OnceLock<WriterThread>,
    feed: OnceLock<LockFileEventFeed>,
    /// Per-board locks for repairing a board's file.
    repair_locks: BoardLocks,
    /// Per-board locks for keeping other programs away from a board's file.
    hold_locks: BoardLocks,
}

/// State shared by readers, the writer and the feed.
#[derive(Debug)]
struct EmbeddedStoreState {
    directory: PathBuf,
    mode: StoreMode,
    lock_timeout: Duration,
    idle_connections: Mutex<Vec<Connection>>,
    long_read_permits: Arc<Semaphore>,
    mirror: Mirror,
}

impl EmbeddedStoreState {
    /// Runs a read inline on a pooled connection (see [`blocking`] for long reads).
    ///
    /// A connection is used by one thread and never held across an await, so there are at most as many
    /// connections as threads that read concurrently.
    fn read_inline<T>(
        &self,
        work: impl FnOnce(&Connection) -> Result<T, PortError>,
    ) -> Result<T, PortError> {
        let connection = self.take_connection()?;
        let answer = work(&connection);
        self.return_connection(connection);
        answer
    }

    fn take_connection(&self) -> Result<Connection, PortError> {
        let pooled = self.idle_connections.lock().pop();
        pooled.map_or_else(
            || connection::open_connection(&self.directory, self.lock_timeout),
            Ok,
        )
    }

    fn return_connection(&self, connection: Connection) {
        // A connection whose rollback failed would keep its transaction open and block every writer.
        if !connection.is_autocommit() {
            return;
        }
        let mut idle = self.idle_connections.lock();
        if idle.len() < MAX_IDLE_CONNECTIONS {
            idle.push(connection);
        }
    }
}

impl EmbeddedStore {
    /// Creates the store in a directory, or opens the existing one and applies missing migrations.
    ///
    /// `timeout` is how long to wait for other processes, here and at every commit. Fails with `StoreBusy`
    /// after that, and with `StoreTooNew` if a newer polis has written the store.
    pub fn create(
        directory: &Path,
        usage: StoreMode,
        timeout: Duration,
    ) -> Result<Self, PortError> {
        connection::create_database(directory, timeout)?;
        Self::open_with_purpose(directory, usage, timeout, OpenPurpose::Create)
    }

    /// Like [`EmbeddedStore::create`], with the blackboard's files in `blackboard/` next to the directory,
    /// unless it already contains some. The location is stored, so later opens find the files there. Fails
    /// in the same cases.
    pub fn create_with_adjacent_blackboard(
        directory: &Path,
        usage: StoreMode,
        timeout: Duration,
    ) -> Result<Self, PortError> {
        connection::create_database(directory, timeout)?;
        Self::open_with_purpose(
            directory,
            usage,
            timeout,
            OpenPurpose::CreateWithAdjacentBlackboard,
        )
    }

    /// Opens the existing store of a directory and applies missing migrations. Fails like
    /// [`EmbeddedStore::create`], and also with `StoreUnavailable` if there is no database, and with
    /// `StoreCorrupt` if it has no tables.
    pub fn open(directory: &Path, usage: StoreMode, timeout: Duration) -> Result<Self, PortError> {
        Self::open_with_purpose(directory, usage, timeout, OpenPurpose::Open)
    }

    fn open_with_purpose(
        directory: &Path,
        usage: StoreMode,
        timeout: Duration,
        purpose: OpenPurpose,
    ) -> Result<Self, PortError> {
        let connection = connection::open_and_migrate(directory, timeout, purpose)?;
        if purpose == OpenPurpose::CreateWithAdjacentBlackboard {
            boards::mark_blackboard_adjacent(&connection)?;
        }
        let beside = apply::read_mark(&connection, boards::ADJACENT_BLACKBOARD_MARK)? > 0;
        let shared = EmbeddedStoreState {
            directory: directory.to_owned(),
            mode: usage,
            lock_timeout: timeout,
            idle_connections: Mutex::new(vec![connection]),
            long_read_permits: Arc::new(Semaphore::new(MAX_LONG_READS)),
            mirror: Mirror::new(directory, beside),
        };
        Ok(Self {
            shared: Arc::new(shared),
            writer: OnceLock::new(),
            feed: OnceLock::new(),
            repair_locks: BoardLocks::default(),
            hold_locks: BoardLocks::default(),
        })
    }

    /// Sets how many versions are kept of a board whose file was changed externally. Changes made through
    /// polis carry their own limit.
    #[must_use]
    pub fn with_kept_versions(self, versions: u32) -> Self {
        self.shared.mirror.set_kept_versions(versions);
        self
    }

    /// Checks the integrity of the database file. Returns the problems found: at most 20, none if it is
    /// intact. Fails if the database cannot be read.
    pub fn check_integrity(&self) -> Result<Vec<String>, PortError> {
        self.shared.read_inline(read_queries::quick_check)
    }

    fn writer(&self) -> &WriterThread {
        self.writer
            .get_or_init(|| WriterThread::start(Arc::clone(&self.shared)))
    }
}

impl Drop for EmbeddedStore {
    fn drop(&mut self) {
        // Otherwise the next process would have to read the whole WAL. A server's writer thread does this
        // itself.
        if self.shared.mode == StoreMode::SingleClient {
            writer::checkpoint_on_exit(&self.shared);
        }
    }
}

impl Ledger for EmbeddedStore {
    fn fence_revision(&self, fence: Fence) -> PortFuture<'_, u64> {
        self.read_short(|c| apply::read_mark(c, fence.as_str()))
    }

    fn commit(&self, changes: Changeset) -> PortFuture<'_, CommitOutcome> {
        Box::pin(async move {
            match self.shared.mode {
                // A command commits once: a writer thread would have nothing to group and would only cost
                // time.
                StoreMode::OneShot | StoreMode::SingleClient => {
                    writer::commit_inline(&self.shared, changes)
                }
                StoreMode::Server => self.writer().commit(changes).await,
            }
        })
    }

    fn commit_stream<'a>(
        &'a self,
        source: &'a mut dyn ChangesetSource,
    ) -> PortFuture<'a, CommitOutcome> {
        Box::pin(writer::commit_stream(&self.shared, source))
    }
}

/// The number of rows requested by id, for [`EmbeddedStore::read_rows`].
fn row_count(ids: &[TaskId]) -> u32 {
    saturating_cast::<u32>(ids.len())
}

impl TaskReader for EmbeddedStore {
    fn tasks<'a>(&'a self, ids: &'a [TaskId]) -> PortFuture<'a, Vec<TaskRecord>> {
        let ids = ids.to_vec();
        self.read_rows(row_count(&ids), move |c| {
            read_queries::select_tasks_by_id(c, &ids)
        })
    }

    fn scan_tasks(&self, after: Option<TaskId>, limit: u32) -> PortFuture<'_, Vec<TaskRecord>> {
        self.read_rows(limit, move |c| read_queries::scan_tasks(c, after, limit))
    }

    fn list_tasks<'a>(&'a self, query: &'a TaskQuery) -> PortFuture<'a, Vec<TaskSummary>> {
        let query = query.clone();
        // A word search scans every task.
        let weight = match query.search.words() {
            [] => query.limit,
            _ => u32::MAX,
        };
        self.read_rows(weight, move |c| read_queries::select_task_list(c, &query))
    }

    fn claim_candidates<'a>(
        &'a self,
        query: &'a CandidateQuery,
    ) -> PortFuture<'a, Vec<TaskRecord>> {
        let query = query.clone();
        self.read_long(move |c| read_queries::select_candidates(c, &query))
    }

    fn tasks_waiting_for<'a>(
        &'a self,
        ids: &'a [TaskId],
    ) -> PortFuture<'a, Vec<(TaskId, Vec<TaskId>)>> {
        let ids = ids.to_vec();
        self.read_rows(row_count(&ids), move |c| {
            read_queries::select_blocks(c, &ids)
        })
    }

    fn comments<'a>(&'a self, query: &'a CommentQuery) -> PortFuture<'a, Vec<Comment>> {
        // A comment may be long, so a row counts as several.
        let (query, weight) = (query.clone(), query.limit.saturating_mul(4));
        self.read_rows(weight, move |c| read_queries::select_comments(c, &query))
    }

    fn completed_types<'a>(
        &'a self,
        owner: &'a str,
        limit: u32,
    ) -> PortFuture<'a, Vec<Option<TaskType>>> {
        let owner = owner.to_owned();
        self.read_rows(limit, move |c| {
            read_queries::select_completed_types(c, &owner, limit)
        })
    }

    fn last_task_number(&self) -> PortFuture<'_, u64> {
        self.read_short(apply::last_task_number)
    }

    fn count_matching_tasks<'a>(&'a self, query: &'a TaskQuery) -> PortFuture<'a, u64> {
        let query = query.clone();
        self.read_long(move |c| read_queries::count_task_list(c, &query))
    }

    fn unfinished_tasks_by_owner(&self) -> PortFuture<'_, Vec<(String, u64)>> {
        self.read_long(read_queries::select_task_loads)
    }

    fn held_tasks(&self, limit: u32) -> PortFuture<'_, Vec<TaskSummary>> {
        self.read_long(move |c| read_queries::select_held_tasks(c, limit))
    }

    fn count_tasks_by_status(&self) -> PortFuture<'_, StatusCounts> {
        self.read_long(read_queries::count_tasks_by_status)
    }
}

impl AgentReader for EmbeddedStore {
    fn agent<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<RegisteredAgent>> {
        self.read_short(|c| read_queries::select_agent(c, id))
    }

    fn agents(&self) -> PortFuture<'_, Vec<Agent>> {
        self.read_long(read_queries::select_agents)
    }

    fn agents_by_id<'a>(&'a self, ids: &'a [AgentId]) -> PortFuture<'a, Vec<Agent>> {
        let ids = ids.to_vec();
        let weight = saturating_cast::<u32>(ids.len());
        self.read_rows(weight, move |c| read_queries::select_agents_by_id(c, &ids))
    }

    fn agents_of_run<'a>(
        &'a self,
        run: Option<&'a RunId>,
        role: Option<&'a str>,
    ) -> PortFuture<'a, Vec<Agent>> {
        let (run, role) = (run.cloned(), role.map(str::to_owned));
        self.read_long(move |c| {
            read_queries::select_agents_of_run(c, run.as_ref(), role.as_deref())
        })
    }
}

impl WorkspaceReader for EmbeddedStore {
    fn workspace<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<AssignedWorkspace>> {
        self.read_short(|c| read_queries::select_workspace(c, id))
    }

    fn workspaces(&self) -> PortFuture<'_, Vec<Workspace>> {
        self.read_long(read_queries::select_workspaces)
    }
}

impl RecordReader for EmbeddedStore {
    fn record<'a>(&'a self, name: &'a RecordName) -> PortFuture<'a, Option<StoredRecord>> {
        match self
            .shared
            .read_inline(|c| records::select_small_record(c, name))
        {
            Ok(RecordLookup::Small(found)) => ready_future(Ok(found)),
            Ok(RecordLookup::Large) => {
                let name = name.clone();
                self.read_long(move |c| records::select_record(c, &name))
            }
            Err(error) => ready_future(Err(error)),
        }
    }

    fn records<'a>(
        &'a self,
        kind: RecordKind,
        after: Option<&'a str>,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredRecord>> {
        // A body may be several megabytes.
        let after = after.map(str::to_owned);
        self.read_long(move |c| records::select_record_page(c, kind, after.as_deref(), limit))
    }

    fn records_of_owner<'a>(
        &'a self,
        kind: RecordKind,
        owner: &'a str,
        after: Option<&'a str>,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredRecord>> {
        let (owner, after) = (owner.to_owned(), after.map(str::to_owned));
        // Bodies of these kinds may be several megabytes; the other kinds are small.
        let weight = match kind {
            RecordKind::Artifact | RecordKind::IdempotencyResponse | RecordKind::CommandOutput => {
                u32::MAX
            }
            _ => limit.saturating_mul(2),
        };
        self.read_rows(weight, move |c| {
            records::select_owner_record_page(c, kind, &owner, after.as_deref(), limit)
        })
    }

    fn commands_of_all_owners<'a>(
        &'a self,
        after: &'a str,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredRecord>> {
        let (after, weight) = (after.to_owned(), limit.saturating_mul(2));
        self.read_rows(weight, move |c| {
            records::select_commands_of_all_owners(c, &after, limit)
        })
    }
}

impl MessageReader for EmbeddedStore {
    fn mailbox<'a>(&'a self, query: &'a MailboxQuery) -> PortFuture<'a, Vec<Message>> {
        // A payload may be large, so a row counts as several.
        let (query, weight) = (query.clone(), query.limit.saturating_mul(4));
        self.read_rows(weight, move |c| messages::select_mailbox_page(c, &query))
    }

    fn person_mail<'a>(&'a self, query: &'a PersonMailQuery) -> PortFuture<'a, Vec<Message>> {
        let (query, weight) = (query.clone(), query.limit.saturating_mul(4));
        self.read_rows(weight, move |c| messages::select_person_mail(c, &query))
    }

    fn message(&self, id: u64) -> PortFuture<'_, Option<Message>> {
        self.read_short(|c| messages::select_message(c, id))
    }

    fn next_delivery<'a>(
        &'a self,
        recipient: &'a AgentId,
        now: i64,
    ) -> PortFuture<'a, Option<i64>> {
        self.read_short(|c| messages::select_next_delivery(c, recipient, now))
    }

    fn unread_mailboxes<'a>(
        &'a self,
        now: i64,
        after: Option<&'a MailboxKey>,
        limit: u32,
    ) -> PortFuture<'a, Vec<MailboxKey>> {
        let after = after.cloned();
        self.read_rows(limit, move |c| {
            messages::select_waiting_mailboxes(c, now, after.as_ref(), limit)
        })
    }

    fn next_delivery_of_any(&self, now: i64) -> PortFuture<'_, Option<i64>> {
        self.read_short(|c| messages::select_next_delivery_any_mailbox(c, now))
    }
}

impl port::TurnReader for EmbeddedStore {
    fn turns<'a>(
        &'a self,
        member: &'a MemberKey,
        from: u64,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredTurn>> {
        let member = member.clone();
        self.read_rows(limit, move |c| {
            turns::select_turns_from(c, &member, from, limit)
        })
    }

    fn last_turns<'a>(
        &'a self,
        member: &'a MemberKey,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredTurn>> {
        let member = member.clone();
        self.read_rows(limit, move |c| turns::select_last_turns(c, &member, limit))
    }
}

impl EventLogReader for EmbeddedStore {
    fn events<'a>(&'a self, query: &'a EventLogQuery) -> PortFuture<'a, Vec<Event>> {
        let query = query.clone();
        self.read_rows(query.limit, move |c| read_queries::select_events(c, &query))
    }

    fn last_sequence(&self) -> PortFuture<'_, u64> {
        self.read_short(apply::last_sequence)
    }

    fn wait_for_event_after(&self, after: u64, timeout: Duration) -> PortFuture<'_, u64> {
        Box::pin(async move {
            let feed = self
                .feed
                .get_or_init(|| LockFileEventFeed::start(Arc::clone(&self.shared)));
            // Subscribe before reading, so that a commit in between wakes us.
            let mut signal = feed.subscribe();
            let deadline = tokio::time::Instant::now() + timeout;
            loop {
                let last = self.shared.read_inline(apply::last_sequence)?;
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
                    return self.shared.read_inline(apply::last_sequence);
                }
            }
        })
    }
}

/// Result of committing a changeset.
type CommitResult = Result<CommitOutcome, PortError>;
