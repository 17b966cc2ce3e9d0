//! The embedded store: one SQLite file that any number of processes share.
//!
//! Write-ahead log with full synchronisation. Reads run at once, on pooled connections. Commits go
//! through one writer thread for each server (`writer`), which puts what is waiting into one
//! transaction and one synchronisation; between processes it queues on a kernel lock (`lock`).

mod apply;
mod board_batch;
mod boards;
mod connection;
mod error;
mod feed;
mod lock;
mod mirror;
mod read;
mod writer;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use polis_core::board::{BoardHead, BoardName, VersionEntry};
use polis_core::changeset::Fence;
use polis_core::task::{Comment, TaskSummary};
use polis_core::workspace::record::{AssignedWorkspace, Workspace};
use polis_core::{
    Agent, AgentId, Changeset, Code, Event, Registered, TaskId, TaskRecord, TaskType, Timestamp,
};
use polis_ops::PortError;
use polis_ops::port::{
    Agents, BoardState, BoardText, Boards, CandidateQuery, ChangesetSource, EventQuery, Events,
    Held, Ledger, Outcome, PortFuture, StatusCounts, TaskQuery, Tasks, Workspaces,
};
use rusqlite::Connection;

use connection::Purpose;
use feed::Feed;
use mirror::Mirror;
use writer::Writer;

/// The database's file name inside its directory.
pub const DATABASE: &str = "polis.db";

/// How a process uses the store.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Use {
    /// One command: keep the write-ahead log short, because the next process reads it whole.
    Brief,
    /// A server: let it grow some, because copying it back costs synchronisations, and then write over
    /// it from the start, because a file that grows is synchronised more slowly.
    Long,
}

impl Use {
    /// How many bytes of write-ahead log a commit leaves to be copied back, at the most.
    fn log_limit(self) -> u64 {
        match self {
            Self::Brief => 256 << 10,
            Self::Long => 8 << 20,
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
    mirror: Mirror,
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

    /// The same, with the blackboard's files in `blackboard/` beside the directory, unless there are
    /// some in it already. Whoever opens the store later finds them there.
    pub fn create_beside_blackboard(
        directory: &Path,
        usage: Use,
        patience: Duration,
    ) -> Result<Self, PortError> {
        connection::create(directory, patience)?;
        Self::begin(directory, usage, patience, Purpose::CreateBeside)
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
        if purpose == Purpose::CreateBeside {
            boards::put_blackboard_beside(&connection)?;
        }
        let beside = apply::mark(&connection, boards::BLACKBOARD_BESIDE)? > 0;
        let shared = Shared {
            directory: directory.to_owned(),
            usage,
            patience,
            idle: Mutex::new(vec![connection]),
            mirror: Mirror::new(directory, beside),
        };
        Ok(Self {
            shared: Arc::new(shared),
            writer: OnceLock::new(),
            feed: OnceLock::new(),
        })
    }

    /// Sets how many versions are kept of a board whose file was changed outside; what polis writes
    /// says it itself.
    #[must_use]
    pub fn keeping(self, versions: u32) -> Self {
        self.shared.mirror.set_keep(versions);
        self
    }

    /// Checks the whole file; the answer lists what is wrong.
    pub fn check(&self) -> Result<Vec<String>, PortError> {
        self.shared.read(read::integrity)
    }

    /// Compares every board's file with the log, to the letter; the answer names those that differ.
    /// Looking at a board compares only size and time, as it is done often.
    pub fn check_boards(&self) -> Result<Vec<String>, PortError> {
        let mut faults = Vec::new();
        for head in self.shared.boards()? {
            let name = &head.name;
            let same = self.shared.read(|connection| {
                let logged = boards::text(connection, name, head.version)?;
                let kept = boards::head(connection, name)?;
                let read = kept.and_then(|kept| self.shared.mirror.read_file(&kept));
                Ok(logged == read)
            })?;
            if !same && head.version > 0 {
                faults.push(name.to_string());
            }
        }
        Ok(faults)
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

impl Workspaces for EmbeddedStore {
    fn workspace<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<AssignedWorkspace>> {
        ready(self.shared.read(|c| read::workspace(c, id)))
    }

    fn workspaces(&self) -> PortFuture<'_, Vec<Workspace>> {
        ready(self.shared.read(read::workspaces))
    }
}

/// How long a reader waits for another program that is writing to a blackboard file.
const OTHERS_WRITE: Duration = Duration::from_secs(1);

impl Shared {
    fn board(&self, name: &BoardName) -> Result<Option<BoardState>, PortError> {
        let kept = self.read(|c| boards::head(c, name))?;
        let known = kept.clone().map(|kept| BoardState {
            head: kept.head,
            noticed: None,
        });
        if self.mirror.in_step(name, kept.as_ref())? {
            return Ok(known);
        }
        let (quiet, _lock) = self.mirror.quiet(name, OTHERS_WRITE)?;
        if !quiet {
            return Ok(known);
        }
        match writer::mend(self, name) {
            Ok(found) => Ok(found
                .filter(|(head, _)| head.version > 0 || known.is_some())
                .map(|(head, noticed)| BoardState { head, noticed })),
            // What is in the store can be read even where nothing can be mended.
            Err(error) if known.is_some() && cannot_write(error.code) => Ok(known),
            Err(error) => Err(error),
        }
    }

    fn board_text(&self, name: &BoardName, version: u64) -> Result<Option<BoardText>, PortError> {
        let of = |text| BoardText { version, text };
        if let Some(text) = self.mirror.remembered(name, version) {
            return Ok(Some(of(text)));
        }
        self.read(|connection| {
            let kept = boards::head(connection, name)?;
            let current = kept.filter(|kept| kept.head.version == version);
            if let Some(text) = current.as_ref().and_then(|kept| self.mirror.text(kept)) {
                return Ok(Some(of(text)));
            }
            let text = boards::text(connection, name, version)?.map(Arc::new);
            if let (Some(text), Some(_)) = (&text, &current) {
                self.mirror.remember(name, version, Arc::clone(text));
            }
            Ok(text.map(of))
        })
    }

    fn boards(&self) -> Result<Vec<BoardHead>, PortError> {
        let known = self.read(boards::heads)?;
        let mut all: BTreeMap<String, BoardHead> = known
            .into_iter()
            .map(|head| (head.name.to_string(), head))
            .collect();
        let on_disk = self.mirror.files();
        let names: Vec<BoardName> = all.values().map(|head| head.name.clone()).collect();
        for name in names.into_iter().chain(on_disk) {
            // A board whose file cannot be used is listed as the store has it; using it tells why.
            if let Ok(Some(state)) = self.board(&name) {
                all.insert(name.to_string(), state.head);
            }
        }
        Ok(all.into_values().collect())
    }
}

fn cannot_write(code: Code) -> bool {
    matches!(code, Code::StoreReadOnly | Code::StoreFull)
}

impl Boards for EmbeddedStore {
    fn board<'a>(&'a self, name: &'a BoardName) -> PortFuture<'a, Option<BoardState>> {
        ready(self.shared.board(name))
    }

    fn boards(&self) -> PortFuture<'_, Vec<BoardHead>> {
        ready(self.shared.boards())
    }

    fn board_text<'a>(
        &'a self,
        name: &'a BoardName,
        version: u64,
    ) -> PortFuture<'a, Option<BoardText>> {
        ready(self.shared.board_text(name, version))
    }

    fn board_versions<'a>(
        &'a self,
        name: &'a BoardName,
        limit: u32,
    ) -> PortFuture<'a, Vec<VersionEntry>> {
        ready(self.shared.read(|c| boards::versions(c, name, limit)))
    }

    fn hold_board<'a>(
        &'a self,
        name: &'a BoardName,
        at_most: Duration,
    ) -> PortFuture<'a, Option<Held>> {
        Box::pin(async move {
            let (shared, name) = (Arc::clone(&self.shared), name.clone());
            // Waits on a kernel lock, so not on a thread that serves others.
            tokio::task::spawn_blocking(move || shared.mirror.hold(&name, at_most))
                .await
                .map_err(|e| PortError::internal("Locking a file", e))?
        })
    }

    fn began_at(&self) -> PortFuture<'_, Timestamp> {
        ready(self.shared.read(boards::began_at))
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
