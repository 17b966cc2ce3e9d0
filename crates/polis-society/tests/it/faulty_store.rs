//! Fault-injecting store: wraps a real store, and fails or simulates a crash of its process at a chosen
//! commit. It also counts commits and reads.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use polis_core::Refusal;
use polis_core::board::{BoardHead, BoardName, VersionEntry};
use polis_core::changeset::Fence;
use polis_core::message::Message;
use polis_core::record::{RecordKind, RecordName, StoredRecord};
use polis_core::refusal::Reason;
use polis_core::society::{MemberKey, RunId};
use polis_core::task::{Comment, TaskSummary};
use polis_core::workspace::workspace_record::{AssignedWorkspace, Workspace};
use polis_core::{
    Agent, AgentId, Changeset, Event, EventSubject, NewEvent, RefusalCode, RegisteredAgent, TaskId,
    TaskRecord, TaskType, Timestamp,
};
use polis_ops::port::{
    AgentReader, BoardFileGuard, BoardReader, BoardState, BoardText, CandidateQuery,
    ChangesetSource, CommentQuery, CommitOutcome, EventLogQuery, EventLogReader, Ledger,
    MailboxKey, MailboxQuery, MessageReader, PersonMailQuery, RecordReader, StatusCounts, Store,
    StoredTurn, TaskQuery, TaskReader, TurnReader, WorkspaceReader,
};
use polis_ops::{PortError, PortFuture};
use polis_testkit::sample_event::comment_payload;
use tokio::sync::Notify;

/// What happens at the chosen commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InjectedFault {
    /// The process ends before it.
    CrashBeforeCommit,
    /// The process ends after it, before it receives the confirmation.
    CrashAfterCommit,
    /// It fails, and nothing of it is stored.
    CommitFails,
    /// It is stored, and its confirmation is lost.
    ConfirmationLost,
    /// No commit fails, but other work is logged before each read of the end of the log.
    BusyLog,
    /// No commit fails, but the person's mailbox, which is searched for open questions, is read slowly.
    SlowUserMailbox,
}

/// A store that injects one fault.
#[derive(Debug)]
pub(crate) struct FaultyStore {
    inner: Arc<dyn Store>,
    fault_commit: usize,
    fault: InjectedFault,
    commit_count: AtomicUsize,
    read_count: AtomicUsize,
    is_dead: AtomicBool,
    crash_notify: Notify,
}

impl FaultyStore {
    /// Creates a store that injects the fault at this commit, counted from 0.
    pub(crate) fn new(inner: Arc<dyn Store>, at: usize, fate: InjectedFault) -> Arc<Self> {
        Arc::new(Self {
            inner,
            fault_commit: at,
            fault: fate,
            commit_count: AtomicUsize::new(0),
            read_count: AtomicUsize::new(0),
            is_dead: AtomicBool::new(false),
            crash_notify: Notify::new(),
        })
    }

    /// Returns the number of commits.
    pub(crate) fn commit_count(&self) -> usize {
        self.commit_count.load(Ordering::SeqCst)
    }

    /// Returns the number of reads.
    pub(crate) fn read_count(&self) -> usize {
        self.read_count.load(Ordering::SeqCst)
    }

    /// Resolves when the process is dead.
    pub(crate) async fn wait_for_crash(&self) {
        self.crash_notify.notified().await;
    }

    fn crash(&self) {
        self.is_dead.store(true, Ordering::SeqCst);
        self.crash_notify.notify_one();
    }

    /// Performs work unless the process is dead: a dead process does nothing, and never receives a result.
    fn unless_dead<'a, T: Send + 'a>(&'a self, work: PortFuture<'a, T>) -> PortFuture<'a, T> {
        self.read_count.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            if self.is_dead.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            let answer = work.await;
            if self.is_dead.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            answer
        })
    }
}

impl Ledger for FaultyStore {
    fn commit(&self, changes: Changeset) -> PortFuture<'_, CommitOutcome> {
        Box::pin(async move {
            if self.is_dead.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            let failed = |code, problem: &str| {
                let reason = Reason::new("test-failure").with_arg("problem", problem);
                Err(PortError::from(Refusal::new(code, reason)))
            };
            if self.commit_count.fetch_add(1, Ordering::SeqCst) != self.fault_commit {
                self.read_count.fetch_sub(1, Ordering::SeqCst);
                return self.unless_dead(self.inner.commit(changes)).await;
            }
            match self.fault {
                InjectedFault::CrashBeforeCommit => self.crash(),
                InjectedFault::CrashAfterCommit => {
                    self.inner.commit(changes).await?;
                    self.crash();
                }
                InjectedFault::CommitFails => {
                    return failed(RefusalCode::STORE_UNAVAILABLE, "The store is away.");
                }
                InjectedFault::ConfirmationLost => {
                    self.inner.commit(changes).await?;
                    return failed(RefusalCode::COMMIT_UNKNOWN, "Nobody knows.");
                }
                InjectedFault::BusyLog | InjectedFault::SlowUserMailbox => {
                    return self.inner.commit(changes).await;
                }
            }
            std::future::pending().await
        })
    }

    fn commit_stream<'a>(
        &'a self,
        source: &'a mut dyn ChangesetSource,
    ) -> PortFuture<'a, CommitOutcome> {
        self.inner.commit_stream(source)
    }

    fn fence_revision(&self, fence: Fence) -> PortFuture<'_, u64> {
        self.unless_dead(self.inner.fence_revision(fence))
    }
}

/// Implements methods that forward to the inner store while the process is alive.
macro_rules! forward_while_alive {
    ($port:ident { $($name:ident($($arg:ident: $type:ty),*) -> $answer:ty;)* }) => {
        impl $port for FaultyStore {
            $(fn $name<'a>(&'a self, $($arg: $type),*) -> PortFuture<'a, $answer> {
                self.unless_dead(self.inner.$name($($arg),*))
            })*
        }
    };
}

forward_while_alive! { TaskReader {
    tasks(ids: &'a [TaskId]) -> Vec<TaskRecord>;
    scan_tasks(after: Option<TaskId>, limit: u32) -> Vec<TaskRecord>;
    list_tasks(query: &'a TaskQuery) -> Vec<TaskSummary>;
    claim_candidates(query: &'a CandidateQuery) -> Vec<TaskRecord>;
    tasks_waiting_for(ids: &'a [TaskId]) -> Vec<(TaskId, Vec<TaskId>)>;
    comments(query: &'a CommentQuery) -> Vec<Comment>;
    completed_types(owner: &'a str, limit: u32) -> Vec<Option<TaskType>>;
    last_task_number() -> u64;
    count_matching_tasks(query: &'a TaskQuery) -> u64;
    unfinished_tasks_by_owner() -> Vec<(String, u64)>;
    held_tasks(limit: u32) -> Vec<TaskSummary>;
    count_tasks_by_status() -> StatusCounts;
}}

forward_while_alive! { AgentReader {
    agent(id: &'a AgentId) -> Option<RegisteredAgent>;
    agents() -> Vec<Agent>;
    agents_by_id(ids: &'a [AgentId]) -> Vec<Agent>;
    agents_of_run(run: Option<&'a RunId>, role: Option<&'a str>) -> Vec<Agent>;
}}

forward_while_alive! { WorkspaceReader {
    workspace(id: &'a AgentId) -> Option<AssignedWorkspace>;
    workspaces() -> Vec<Workspace>;
}}

forward_while_alive! { BoardReader {
    board(name: &'a BoardName) -> Option<BoardState>;
    boards() -> Vec<BoardHead>;
    board_text(name: &'a BoardName, version: u64) -> Option<BoardText>;
    board_versions(name: &'a BoardName, limit: u32) -> Vec<VersionEntry>;
    lock_board_file(name: &'a BoardName, at_most: Duration) -> Option<BoardFileGuard>;
    store_created_at() -> Timestamp;
}}

forward_while_alive! { RecordReader {
    record(name: &'a RecordName) -> Option<StoredRecord>;
    records(kind: RecordKind, after: Option<&'a str>, limit: u32) -> Vec<StoredRecord>;
    records_of_owner(kind: RecordKind, owner: &'a str, after: Option<&'a str>, limit: u32) -> Vec<StoredRecord>;
    commands_of_all_owners(after: &'a str, limit: u32) -> Vec<StoredRecord>;
}}

/// How long a slow read of the person's mailbox takes.
pub(crate) const SLOW_MAILBOX_DELAY: Duration = Duration::from_millis(700);

impl MessageReader for FaultyStore {
    fn mailbox<'a>(&'a self, query: &'a MailboxQuery) -> PortFuture<'a, Vec<Message>> {
        Box::pin(async move {
            if self.fault == InjectedFault::SlowUserMailbox && query.recipient.is_user() {
                tokio::time::sleep(SLOW_MAILBOX_DELAY).await;
            }
            self.unless_dead(self.inner.mailbox(query)).await
        })
    }

    fn person_mail<'a>(&'a self, query: &'a PersonMailQuery) -> PortFuture<'a, Vec<Message>> {
        self.unless_dead(self.inner.person_mail(query))
    }

    fn message(&self, id: u64) -> PortFuture<'_, Option<Message>> {
        self.unless_dead(self.inner.message(id))
    }

    fn next_delivery<'a>(
        &'a self,
        recipient: &'a AgentId,
        now: i64,
    ) -> PortFuture<'a, Option<i64>> {
        self.unless_dead(self.inner.next_delivery(recipient, now))
    }

    fn unread_mailboxes<'a>(
        &'a self,
        now: i64,
        after: Option<&'a MailboxKey>,
        limit: u32,
    ) -> PortFuture<'a, Vec<MailboxKey>> {
        self.unless_dead(self.inner.unread_mailboxes(now, after, limit))
    }

    fn next_delivery_of_any(&self, now: i64) -> PortFuture<'_, Option<i64>> {
        self.unless_dead(self.inner.next_delivery_of_any(now))
    }
}

forward_while_alive! { TurnReader {
    turns(member: &'a MemberKey, from: u64, limit: u32) -> Vec<StoredTurn>;
    last_turns(member: &'a MemberKey, limit: u32) -> Vec<StoredTurn>;
}}

impl EventLogReader for FaultyStore {
    fn events<'a>(&'a self, query: &'a EventLogQuery) -> PortFuture<'a, Vec<Event>> {
        self.unless_dead(self.inner.events(query))
    }

    fn last_sequence(&self) -> PortFuture<'_, u64> {
        Box::pin(async move {
            if self.fault == InjectedFault::BusyLog {
                let task = EventSubject::Task(TaskId::new(1).unwrap());
                let event = NewEvent::new(task, comment_payload("busy"));
                let changes = Changeset {
                    actor: AgentId::user(),
                    at: Timestamp::from_millis(0),
                    writes: Vec::new(),
                    events: vec![event],
                };
                self.inner.commit(changes).await?;
            }
            self.unless_dead(self.inner.last_sequence()).await
        })
    }

    fn wait_for_event_after(&self, after: u64, at_most: Duration) -> PortFuture<'_, u64> {
        self.unless_dead(self.inner.wait_for_event_after(after, at_most))
    }
}
