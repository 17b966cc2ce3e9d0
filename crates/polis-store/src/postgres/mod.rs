//! The PostgreSQL store: shared by any number of processes on any number of machines.
//!
//! Commits go through one writer task per process (`writer`), which combines all pending changesets into one
//! transaction of two round trips (`transaction`), with the decision in between (`plan`). All committers lock
//! the head of the log first, so they are serialized, and the log is in commit order without gaps. Reads
//! share a few connections (`pool`). Broken connections are replaced; operations in flight on them are
//! retried if that is safe, and otherwise reported as failed or unknown.

mod board_columns;
mod board_plan;
mod board_read;
mod connection;
mod error;
mod feed;
mod messages;
mod plan;
mod pool;
mod read;
mod records;
mod task_columns;
mod transaction;
mod turns;
mod writer;

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use polis_core::board::{BoardHead, BoardName, VersionEntry};
use polis_core::changeset::Fence;
use polis_core::message::Message;
use polis_core::record::{RecordKind, RecordName, Stored};
use polis_core::society::{MemberKey, RunId};
use polis_core::task::{Comment, TaskSummary};
use polis_core::workspace::record::{AssignedWorkspace, Workspace};
use polis_core::{
    Agent, AgentId, Changeset, Event, Registered, TaskId, TaskRecord, TaskType, Timestamp,
};
use polis_ops::PortError;
use polis_ops::port::{
    Agents, BoardState, BoardText, Boards, CandidateQuery, ChangesetSource, CommentQuery,
    EventQuery, Events, Held, Ledger, Mailbox, MailboxQuery, Messages, Outcome, PersonMailQuery,
    PortFuture, Records, StatusCounts, StoredTurn, TaskQuery, Tasks, Turns, Workspaces,
};
use tokio::time::{Instant, timeout_at};

use connection::{Address, Purpose};
use feed::Feed;
use pool::Pool;
use writer::Writer;

/// How long a waiter relies on the feed before it polls itself.
const LOOK_EVERY: Duration = Duration::from_secs(1);

/// The PostgreSQL store.
#[derive(Debug)]
pub struct PostgresStore {
    address: Arc<Address>,
    pool: Pool,
    writer: OnceLock<Writer>,
    feed: OnceLock<Feed>,
}

impl PostgresStore {
    /// Connects to a server and applies missing migrations.
    ///
    /// The tables are in the first schema of the connection's `search_path`. `patience` is how long to wait
    /// for the server and for locks held by others. Must be called inside a tokio runtime, and the store is
    /// bound to it.
    pub async fn connect(url: &str, patience: Duration) -> Result<Self, PortError> {
        let address = Arc::new(Address::parse(url, patience)?);
        let deadline = address.deadline();
        let session = address.open(Purpose::Read, deadline).await?;
        connection::migrate(&session, deadline).await?;
        Ok(Self {
            pool: Pool::new(Arc::clone(&address), session),
            address,
            writer: OnceLock::new(),
            feed: OnceLock::new(),
        })
    }

    /// Returns the server's time, in milliseconds since 1970. Many machines share one store, and leases must
    /// expire for all of them at the same moment, so lease decisions use the server's clock.
    pub async fn server_millis(&self) -> Result<i64, PortError> {
        read::server_millis(&self.pool).await
    }

    fn writer(&self) -> &Writer {
        self.writer
            .get_or_init(|| Writer::start(Arc::clone(&self.address)))
    }
}

impl Ledger for PostgresStore {
    fn fence(&self, fence: Fence) -> PortFuture<'_, u64> {
        Box::pin(read::mark(&self.pool, fence.as_str()))
    }

    fn commit(&self, changes: Changeset) -> PortFuture<'_, Outcome> {
        Box::pin(async move { self.writer().commit(changes).await })
    }

    fn commit_stream<'a>(&'a self, source: &'a mut dyn ChangesetSource) -> PortFuture<'a, Outcome> {
        Box::pin(writer::commit_stream(&self.address, source))
    }
}

impl Tasks for PostgresStore {
    fn tasks<'a>(&'a self, ids: &'a [TaskId]) -> PortFuture<'a, Vec<TaskRecord>> {
        Box::pin(read::tasks(&self.pool, ids))
    }

    fn scan_tasks(&self, after: Option<TaskId>, limit: u32) -> PortFuture<'_, Vec<TaskRecord>> {
        Box::pin(read::scan(&self.pool, after, limit))
    }

    fn list_tasks<'a>(&'a self, query: &'a TaskQuery) -> PortFuture<'a, Vec<TaskSummary>> {
        Box::pin(read::list(&self.pool, query))
    }

    fn candidates<'a>(&'a self, query: &'a CandidateQuery) -> PortFuture<'a, Vec<TaskRecord>> {
        Box::pin(read::candidates(&self.pool, query))
    }

    fn blocks_of<'a>(&'a self, ids: &'a [TaskId]) -> PortFuture<'a, Vec<(TaskId, Vec<TaskId>)>> {
        Box::pin(read::blocks_of(&self.pool, ids))
    }

    fn comments<'a>(&'a self, query: &'a CommentQuery) -> PortFuture<'a, Vec<Comment>> {
        Box::pin(read::comments(&self.pool, query))
    }

    fn completed_types<'a>(
        &'a self,
        owner: &'a str,
        limit: u32,
    ) -> PortFuture<'a, Vec<Option<TaskType>>> {
        Box::pin(read::completed_types(&self.pool, owner, limit))
    }

    fn last_task_number(&self) -> PortFuture<'_, u64> {
        Box::pin(read::last_task_number(&self.pool))
    }

    fn count_list<'a>(&'a self, query: &'a TaskQuery) -> PortFuture<'a, u64> {
        Box::pin(read::count_list(&self.pool, query))
    }

    fn loads(&self) -> PortFuture<'_, Vec<(String, u64)>> {
        Box::pin(read::loads(&self.pool))
    }

    fn held_tasks(&self, limit: u32) -> PortFuture<'_, Vec<TaskSummary>> {
        Box::pin(read::held(&self.pool, limit))
    }

    fn count_tasks(&self) -> PortFuture<'_, StatusCounts> {
        Box::pin(read::count(&self.pool))
    }
}

impl Agents for PostgresStore {
    fn agent<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<Registered>> {
        Box::pin(read::agent(&self.pool, id))
    }

    fn agents(&self) -> PortFuture<'_, Vec<Agent>> {
        Box::pin(read::agents(&self.pool))
    }

    fn named<'a>(&'a self, ids: &'a [AgentId]) -> PortFuture<'a, Vec<Agent>> {
        Box::pin(read::named(&self.pool, ids))
    }

    fn agents_of_run<'a>(
        &'a self,
        run: Option<&'a RunId>,
        role: Option<&'a str>,
    ) -> PortFuture<'a, Vec<Agent>> {
        Box::pin(read::agents_of_run(&self.pool, run, role))
    }
}

impl Workspaces for PostgresStore {
    fn workspace<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<AssignedWorkspace>> {
        Box::pin(read::workspace(&self.pool, id))
    }

    fn workspaces(&self) -> PortFuture<'_, Vec<Workspace>> {
        Box::pin(read::workspaces(&self.pool))
    }
}

impl Boards for PostgresStore {
    fn board<'a>(&'a self, name: &'a BoardName) -> PortFuture<'a, Option<BoardState>> {
        Box::pin(board_read::board(&self.pool, name))
    }

    fn boards(&self) -> PortFuture<'_, Vec<BoardHead>> {
        Box::pin(board_read::boards(&self.pool))
    }

    fn board_text<'a>(
        &'a self,
        name: &'a BoardName,
        version: u64,
    ) -> PortFuture<'a, Option<BoardText>> {
        Box::pin(board_read::text(&self.pool, name, version))
    }

    fn board_versions<'a>(
        &'a self,
        name: &'a BoardName,
        limit: u32,
    ) -> PortFuture<'a, Vec<VersionEntry>> {
        Box::pin(board_read::versions(&self.pool, name, limit))
    }

    fn hold_board<'a>(&'a self, _: &'a BoardName, _: Duration) -> PortFuture<'a, Option<Held>> {
        let held: Held = Box::new(());
        Box::pin(std::future::ready(Ok(Some(held))))
    }

    fn began_at(&self) -> PortFuture<'_, Timestamp> {
        Box::pin(board_read::began_at(&self.pool))
    }
}

impl Records for PostgresStore {
    fn record<'a>(&'a self, name: &'a RecordName) -> PortFuture<'a, Option<Stored>> {
        Box::pin(records::one(&self.pool, name))
    }

    fn records<'a>(
        &'a self,
        kind: RecordKind,
        after: Option<&'a str>,
        limit: u32,
    ) -> PortFuture<'a, Vec<Stored>> {
        Box::pin(records::page(&self.pool, kind, after, limit))
    }

    fn records_of<'a>(
        &'a self,
        kind: RecordKind,
        owner: &'a str,
        after: Option<&'a str>,
        limit: u32,
    ) -> PortFuture<'a, Vec<Stored>> {
        Box::pin(records::page_of(&self.pool, kind, owner, after, limit))
    }

    fn commands_of_all<'a>(&'a self, after: &'a str, limit: u32) -> PortFuture<'a, Vec<Stored>> {
        Box::pin(records::commands_of_all(&self.pool, after, limit))
    }
}

impl Messages for PostgresStore {
    fn mailbox<'a>(&'a self, query: &'a MailboxQuery) -> PortFuture<'a, Vec<Message>> {
        Box::pin(messages::mailbox(&self.pool, query))
    }

    fn person_mail<'a>(&'a self, query: &'a PersonMailQuery) -> PortFuture<'a, Vec<Message>> {
        Box::pin(messages::person_mail(&self.pool, query))
    }

    fn message(&self, id: u64) -> PortFuture<'_, Option<Message>> {
        Box::pin(messages::one(&self.pool, id))
    }

    fn next_delivery<'a>(
        &'a self,
        recipient: &'a AgentId,
        now: i64,
    ) -> PortFuture<'a, Option<i64>> {
        Box::pin(messages::next_delivery(&self.pool, recipient, now))
    }

    fn waiting<'a>(
        &'a self,
        now: i64,
        after: Option<&'a Mailbox>,
        limit: u32,
    ) -> PortFuture<'a, Vec<Mailbox>> {
        Box::pin(messages::waiting(&self.pool, now, after, limit))
    }

    fn next_delivery_of_any(&self, now: i64) -> PortFuture<'_, Option<i64>> {
        Box::pin(messages::next_delivery_of_any(&self.pool, now))
    }
}

impl Turns for PostgresStore {
    fn turns<'a>(
        &'a self,
        member: &'a MemberKey,
        from: u64,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredTurn>> {
        Box::pin(turns::from(&self.pool, member, from, limit))
    }

    fn last_turns<'a>(
        &'a self,
        member: &'a MemberKey,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredTurn>> {
        Box::pin(turns::last(&self.pool, member, limit))
    }
}

impl Events for PostgresStore {
    fn events<'a>(&'a self, query: &'a EventQuery) -> PortFuture<'a, Vec<Event>> {
        Box::pin(read::events(&self.pool, query))
    }

    fn last_sequence(&self) -> PortFuture<'_, u64> {
        Box::pin(read::last_sequence(&self.pool))
    }

    fn wait_beyond(&self, after: u64, at_most: Duration) -> PortFuture<'_, u64> {
        Box::pin(async move {
            let feed = self
                .feed
                .get_or_init(|| Feed::start(Arc::clone(&self.address)));
            // Subscribe before reading, so that a commit in between wakes us.
            let mut signal = feed.subscribe();
            let deadline = Instant::now() + at_most;
            loop {
                let last = read::last_sequence(&self.pool).await?;
                if last > after || Instant::now() >= deadline {
                    return Ok(last);
                }
                let until = deadline.min(Instant::now() + LOOK_EVERY);
                let woken = timeout_at(until, signal.wait_for(|seen| *seen > after)).await;
                if let Ok(Ok(seen)) = woken {
                    return Ok(*seen);
                }
            }
        })
    }
}
