//! The PostgreSQL store: shared by any number of processes on any number of machines.
//!
//! Commits go through one writer task per process (`writer`), which combines all pending changesets into one
//! transaction (group commit) of two round trips (`transaction`), with the planning in between
//! (`batch_plan`). All committers lock the head of the log first, so they are serialized, and the log is in
//! commit order without gaps. Reads share a few connections (`pool`). Broken connections are replaced;
//! operations in flight on them are retried if that is safe, and otherwise reported as failed or unknown.

mod batch_plan;
mod board_columns;
mod board_plan;
mod board_read;
mod connection;
mod error;
mod feed;
mod messages;
mod pool;
mod read_queries;
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
use polis_core::record::{RecordKind, RecordName, StoredRecord};
use polis_core::society::{MemberKey, RunId};
use polis_core::task::{Comment, TaskSummary};
use polis_core::workspace::workspace_record::{AssignedWorkspace, Workspace};
use polis_core::{
    Agent, AgentId, Changeset, Event, RegisteredAgent, TaskId, TaskRecord, TaskType, Timestamp,
};
use polis_ops::PortError;
use polis_ops::port::{
    AgentReader, BoardFileGuard, BoardReader, BoardState, BoardText, CandidateQuery,
    ChangesetSource, CommentQuery, CommitOutcome, EventLogQuery, EventLogReader, Ledger,
    MailboxKey, MailboxQuery, MessageReader, PersonMailQuery, PortFuture, RecordReader,
    StatusCounts, StoredTurn, TaskQuery, TaskReader, TurnReader, WorkspaceReader,
};
use tokio::time::{Instant, timeout_at};

use connection::{ConnectionPurpose, ServerAddress};
use feed::NotifyEventFeed;
use pool::ReadPool;
use writer::WriterTask;

/// How long a waiter relies on the feed before it polls itself.
const POLL_INTERVAL: Duration = Duration::from_secs(1);

/// The PostgreSQL store: a writer task, a read pool and an event feed over one server.
#[derive(Debug)]
pub struct PostgresStore {
    address: Arc<ServerAddress>,
    pool: ReadPool,
    writer: OnceLock<WriterTask>,
    feed: OnceLock<NotifyEventFeed>,
}

impl PostgresStore {
    /// Connects to a server and applies missing migrations.
    ///
    /// The tables are in the first schema of the connection's `search_path`. `timeout` is how long to wait
    /// for the server and for locks held by others. Must be called inside a tokio runtime, and the store is
    /// bound to it. Fails with `InvalidConfig` if the address is invalid or requires TLS, with
    /// `StoreUnavailable` if the server cannot be reached or refuses access, and with `StoreTooNew` if a
    /// newer polis has migrated the database.
    pub async fn connect(url: &str, timeout: Duration) -> Result<Self, PortError> {
        let address = Arc::new(ServerAddress::parse(url, timeout)?);
        let deadline = address.deadline();
        let session = address
            .open_session(ConnectionPurpose::Read, deadline)
            .await?;
        connection::apply_migrations(&session, deadline).await?;
        Ok(Self {
            pool: ReadPool::new(Arc::clone(&address), session),
            address,
            writer: OnceLock::new(),
            feed: OnceLock::new(),
        })
    }

    /// Returns the server's time, in milliseconds since 1970. Many machines share one store, and leases must
    /// expire for all of them at the same moment, so lease decisions use the server's clock. Fails with
    /// `store_unavailable` if the server cannot be reached.
    pub async fn server_millis(&self) -> Result<i64, PortError> {
        read_queries::server_millis(&self.pool).await
    }

    fn writer(&self) -> &WriterTask {
        self.writer
            .get_or_init(|| WriterTask::start(Arc::clone(&self.address)))
    }
}

impl Ledger for PostgresStore {
    fn fence_revision(&self, fence: Fence) -> PortFuture<'_, u64> {
        Box::pin(read_queries::read_mark(&self.pool, fence.as_str()))
    }

    fn commit(&self, changes: Changeset) -> PortFuture<'_, CommitOutcome> {
        Box::pin(async move { self.writer().commit(changes).await })
    }

    fn commit_stream<'a>(
        &'a self,
        source: &'a mut dyn ChangesetSource,
    ) -> PortFuture<'a, CommitOutcome> {
        Box::pin(writer::commit_stream(&self.address, source))
    }
}

impl TaskReader for PostgresStore {
    fn tasks<'a>(&'a self, ids: &'a [TaskId]) -> PortFuture<'a, Vec<TaskRecord>> {
        Box::pin(read_queries::select_tasks_by_id(&self.pool, ids))
    }

    fn scan_tasks(&self, after: Option<TaskId>, limit: u32) -> PortFuture<'_, Vec<TaskRecord>> {
        Box::pin(read_queries::scan_tasks(&self.pool, after, limit))
    }

    fn list_tasks<'a>(&'a self, query: &'a TaskQuery) -> PortFuture<'a, Vec<TaskSummary>> {
        Box::pin(read_queries::select_task_list(&self.pool, query))
    }

    fn claim_candidates<'a>(
        &'a self,
        query: &'a CandidateQuery,
    ) -> PortFuture<'a, Vec<TaskRecord>> {
        Box::pin(read_queries::select_candidates(&self.pool, query))
    }

    fn tasks_waiting_for<'a>(
        &'a self,
        ids: &'a [TaskId],
    ) -> PortFuture<'a, Vec<(TaskId, Vec<TaskId>)>> {
        Box::pin(read_queries::select_blocks(&self.pool, ids))
    }

    fn comments<'a>(&'a self, query: &'a CommentQuery) -> PortFuture<'a, Vec<Comment>> {
        Box::pin(read_queries::select_comments(&self.pool, query))
    }

    fn completed_types<'a>(
        &'a self,
        owner: &'a str,
        limit: u32,
    ) -> PortFuture<'a, Vec<Option<TaskType>>> {
        Box::pin(read_queries::select_completed_types(
            &self.pool, owner, limit,
        ))
    }

    fn last_task_number(&self) -> PortFuture<'_, u64> {
        Box::pin(read_queries::last_task_number(&self.pool))
    }

    fn count_matching_tasks<'a>(&'a self, query: &'a TaskQuery) -> PortFuture<'a, u64> {
        Box::pin(read_queries::count_task_list(&self.pool, query))
    }

    fn unfinished_tasks_by_owner(&self) -> PortFuture<'_, Vec<(String, u64)>> {
        Box::pin(read_queries::select_task_loads(&self.pool))
    }

    fn held_tasks(&self, limit: u32) -> PortFuture<'_, Vec<TaskSummary>> {
        Box::pin(read_queries::select_held_tasks(&self.pool, limit))
    }

    fn count_tasks_by_status(&self) -> PortFuture<'_, StatusCounts> {
        Box::pin(read_queries::count_tasks_by_status(&self.pool))
    }
}

impl AgentReader for PostgresStore {
    fn agent<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<RegisteredAgent>> {
        Box::pin(read_queries::select_agent(&self.pool, id))
    }

    fn agents(&self) -> PortFuture<'_, Vec<Agent>> {
        Box::pin(read_queries::select_agents(&self.pool))
    }

    fn agents_by_id<'a>(&'a self, ids: &'a [AgentId]) -> PortFuture<'a, Vec<Agent>> {
        Box::pin(read_queries::select_agents_by_id(&self.pool, ids))
    }

    fn agents_of_run<'a>(
        &'a self,
        run: Option<&'a RunId>,
        role: Option<&'a str>,
    ) -> PortFuture<'a, Vec<Agent>> {
        Box::pin(read_queries::select_agents_of_run(&self.pool, run, role))
    }
}

impl WorkspaceReader for PostgresStore {
    fn workspace<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<AssignedWorkspace>> {
        Box::pin(read_queries::select_workspace(&self.pool, id))
    }

    fn workspaces(&self) -> PortFuture<'_, Vec<Workspace>> {
        Box::pin(read_queries::select_workspaces(&self.pool))
    }
}

impl BoardReader for PostgresStore {
    fn board<'a>(&'a self, name: &'a BoardName) -> PortFuture<'a, Option<BoardState>> {
        Box::pin(board_read::select_board(&self.pool, name))
    }

    fn boards(&self) -> PortFuture<'_, Vec<BoardHead>> {
        Box::pin(board_read::select_boards(&self.pool))
    }

    fn board_text<'a>(
        &'a self,
        name: &'a BoardName,
        version: u64,
    ) -> PortFuture<'a, Option<BoardText>> {
        Box::pin(board_read::select_version_text(&self.pool, name, version))
    }

    fn board_versions<'a>(
        &'a self,
        name: &'a BoardName,
        limit: u32,
    ) -> PortFuture<'a, Vec<VersionEntry>> {
        Box::pin(board_read::select_versions(&self.pool, name, limit))
    }

    fn lock_board_file<'a>(
        &'a self,
        _: &'a BoardName,
        _: Duration,
    ) -> PortFuture<'a, Option<BoardFileGuard>> {
        let guard: BoardFileGuard = Box::new(());
        Box::pin(std::future::ready(Ok(Some(guard))))
    }

    fn store_created_at(&self) -> PortFuture<'_, Timestamp> {
        Box::pin(board_read::read_created_at(&self.pool))
    }
}

impl RecordReader for PostgresStore {
    fn record<'a>(&'a self, name: &'a RecordName) -> PortFuture<'a, Option<StoredRecord>> {
        Box::pin(records::select_record(&self.pool, name))
    }

    fn records<'a>(
        &'a self,
        kind: RecordKind,
        after: Option<&'a str>,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredRecord>> {
        Box::pin(records::select_record_page(&self.pool, kind, after, limit))
    }

    fn records_of_owner<'a>(
        &'a self,
        kind: RecordKind,
        owner: &'a str,
        after: Option<&'a str>,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredRecord>> {
        Box::pin(records::select_owner_record_page(
            &self.pool, kind, owner, after, limit,
        ))
    }

    fn commands_of_all_owners<'a>(
        &'a self,
        after: &'a str,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredRecord>> {
        Box::pin(records::select_commands_of_all_owners(
            &self.pool, after, limit,
        ))
    }
}

impl MessageReader for PostgresStore {
    fn mailbox<'a>(&'a self, query: &'a MailboxQuery) -> PortFuture<'a, Vec<Message>> {
        Box::pin(messages::select_mailbox_page(&self.pool, query))
    }

    fn person_mail<'a>(&'a self, query: &'a PersonMailQuery) -> PortFuture<'a, Vec<Message>> {
        Box::pin(messages::select_person_mail(&self.pool, query))
    }

    fn message(&self, id: u64) -> PortFuture<'_, Option<Message>> {
        Box::pin(messages::select_message(&self.pool, id))
    }

    fn next_delivery<'a>(
        &'a self,
        recipient: &'a AgentId,
        now: i64,
    ) -> PortFuture<'a, Option<i64>> {
        Box::pin(messages::select_next_delivery(&self.pool, recipient, now))
    }

    fn unread_mailboxes<'a>(
        &'a self,
        now: i64,
        after: Option<&'a MailboxKey>,
        limit: u32,
    ) -> PortFuture<'a, Vec<MailboxKey>> {
        Box::pin(messages::select_waiting_mailboxes(
            &self.pool, now, after, limit,
        ))
    }

    fn next_delivery_of_any(&self, now: i64) -> PortFuture<'_, Option<i64>> {
        Box::pin(messages::select_next_delivery_any_mailbox(&self.pool, now))
    }
}

impl TurnReader for PostgresStore {
    fn turns<'a>(
        &'a self,
        member: &'a MemberKey,
        from: u64,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredTurn>> {
        Box::pin(turns::select_turns_from(&self.pool, member, from, limit))
    }

    fn last_turns<'a>(
        &'a self,
        member: &'a MemberKey,
        limit: u32,
    ) -> PortFuture<'a, Vec<StoredTurn>> {
        Box::pin(turns::select_last_turns(&self.pool, member, limit))
    }
}

impl EventLogReader for PostgresStore {
    fn events<'a>(&'a self, query: &'a EventLogQuery) -> PortFuture<'a, Vec<Event>> {
        Box::pin(read_queries::select_events(&self.pool, query))
    }

    fn last_sequence(&self) -> PortFuture<'_, u64> {
        Box::pin(read_queries::last_sequence(&self.pool))
    }

    fn wait_for_event_after(&self, after: u64, timeout: Duration) -> PortFuture<'_, u64> {
        Box::pin(async move {
            let feed = self
                .feed
                .get_or_init(|| NotifyEventFeed::start(Arc::clone(&self.address)));
            // Subscribe before reading, so that a commit in between wakes us.
            let mut signal = feed.subscribe();
            let deadline = Instant::now() + timeout;
            loop {
                let last = read_queries::last_sequence(&self.pool).await?;
                if last > after || Instant::now() >= deadline {
                    return Ok(last);
                }
                let until = deadline.min(Instant::now() + POLL_INTERVAL);
                let woken = timeout_at(until, signal.wait_for(|sequence| *sequence > after)).await;
                if let Ok(Ok(sequence)) = woken {
                    return Ok(*sequence);
                }
            }
        })
    }
}
