//! Fault-injecting store: fails, or simulates the end of its process, at a commit that a test chooses.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use polis_core::board::{BoardHead, BoardName, VersionEntry};
use polis_core::changeset::Fence;
use polis_core::event::kind;
use polis_core::message::Message;
use polis_core::record::{RecordKind, RecordName, Stored};
use polis_core::society::{MemberKey, RunId};
use polis_core::task::{Comment, TaskSummary};
use polis_core::workspace::record::{AssignedWorkspace, Workspace};
use polis_core::{
    Agent, AgentId, Changeset, Code, Event, NewEvent, Registered, Subject, TaskId, TaskRecord,
    TaskType, Timestamp,
};
use polis_ops::port::{
    Agents, BoardState, BoardText, Boards, CandidateQuery, ChangesetSource, CommentQuery,
    EventQuery, Events, Held, Ledger, Mailbox, MailboxQuery, Messages, Outcome, PersonMailQuery,
    Records, StatusCounts, Store, StoredTurn, TaskQuery, Tasks, Turns, Workspaces,
};
use polis_ops::{PortError, PortFuture};
use tokio::sync::Notify;

/// What happens at the chosen commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fate {
    /// The process ends before it.
    DieBefore,
    /// The process ends after it, before it receives the confirmation.
    DieAfter,
    /// It fails, and nothing of it is stored.
    FailBefore,
    /// It is made, and its confirmation is lost.
    UnknownAfter,
    /// No commit fails, but other work is logged before each read of the end of the log.
    Busy,
    /// No commit fails, but the mailbox of the human user, which is searched for open questions, is read slowly.
    SlowQuestions,
}

/// A store with one fault.
#[derive(Debug)]
pub(crate) struct Faulty {
    inner: Arc<dyn Store>,
    at: usize,
    fate: Fate,
    commits: AtomicUsize,
    reads: AtomicUsize,
    dead: AtomicBool,
    died: Notify,
}

impl Faulty {
    /// Creates a store whose fault is at this commit, from 0.
    pub(crate) fn new(inner: Arc<dyn Store>, at: usize, fate: Fate) -> Arc<Self> {
        Arc::new(Self {
            inner,
            at,
            fate,
            commits: AtomicUsize::new(0),
            reads: AtomicUsize::new(0),
            dead: AtomicBool::new(false),
            died: Notify::new(),
        })
    }

    /// Returns the number of commits.
    pub(crate) fn commits(&self) -> usize {
        self.commits.load(Ordering::SeqCst)
    }

    /// Returns the number of reads.
    pub(crate) fn reads(&self) -> usize {
        self.reads.load(Ordering::SeqCst)
    }

    /// Resolves when the process is dead.
    pub(crate) async fn died(&self) {
        self.died.notified().await;
    }

    fn die(&self) {
        self.dead.store(true, Ordering::SeqCst);
        self.died.notify_one();
    }

    /// Performs work unless the process is dead: a dead process does nothing, and never receives a result.
    fn unless_dead<'a, T: Send + 'a>(&'a self, work: PortFuture<'a, T>) -> PortFuture<'a, T> {
        self.reads.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move {
            if self.dead.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            let answer = work.await;
            if self.dead.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            answer
        })
    }
}

impl Ledger for Faulty {
    fn commit(&self, changes: Changeset) -> PortFuture<'_, Outcome> {
        Box::pin(async move {
            if self.dead.load(Ordering::SeqCst) {
                std::future::pending::<()>().await;
            }
            let failed = |code, text: &str| Err(PortError::new(code, text, "wait"));
            if self.commits.fetch_add(1, Ordering::SeqCst) != self.at {
                self.reads.fetch_sub(1, Ordering::SeqCst);
                return self.unless_dead(self.inner.commit(changes)).await;
            }
            match self.fate {
                Fate::DieBefore => self.die(),
                Fate::DieAfter => {
                    self.inner.commit(changes).await?;
                    self.die();
                }
                Fate::FailBefore => return failed(Code::StoreUnavailable, "The store is away."),
                Fate::UnknownAfter => {
                    self.inner.commit(changes).await?;
                    return failed(Code::CommitUnknown, "Nobody knows.");
                }
                Fate::Busy | Fate::SlowQuestions => return self.inner.commit(changes).await,
            }
            std::future::pending().await
        })
    }

    fn commit_stream<'a>(&'a self, source: &'a mut dyn ChangesetSource) -> PortFuture<'a, Outcome> {
        self.inner.commit_stream(source)
    }

    fn fence(&self, fence: Fence) -> PortFuture<'_, u64> {
        self.unless_dead(self.inner.fence(fence))
    }
}

/// Implements methods that forward to the inner store while the process is alive.
macro_rules! passed_on {
    ($port:ident { $($name:ident($($arg:ident: $type:ty),*) -> $answer:ty;)* }) => {
        impl $port for Faulty {
            $(fn $name<'a>(&'a self, $($arg: $type),*) -> PortFuture<'a, $answer> {
                self.unless_dead(self.inner.$name($($arg),*))
            })*
        }
    };
}

passed_on! { Tasks {
    tasks(ids: &'a [TaskId]) -> Vec<TaskRecord>;
    scan_tasks(after: Option<TaskId>, limit: u32) -> Vec<TaskRecord>;
    list_tasks(query: &'a TaskQuery) -> Vec<TaskSummary>;
    candidates(query: &'a CandidateQuery) -> Vec<TaskRecord>;
    blocks_of(ids: &'a [TaskId]) -> Vec<(TaskId, Vec<TaskId>)>;
    comments(query: &'a CommentQuery) -> Vec<Comment>;
    completed_types(owner: &'a str, limit: u32) -> Vec<Option<TaskType>>;
    last_task_number() -> u64;
    count_list(query: &'a TaskQuery) -> u64;
    loads() -> Vec<(String, u64)>;
    held_tasks(limit: u32) -> Vec<TaskSummary>;
    count_tasks() -> StatusCounts;
}}

passed_on! { Agents {
    agent(id: &'a AgentId) -> Option<Registered>;
    agents() -> Vec<Agent>;
    named(ids: &'a [AgentId]) -> Vec<Agent>;
    agents_of_run(run: Option<&'a RunId>, role: Option<&'a str>) -> Vec<Agent>;
}}

passed_on! { Workspaces {
    workspace(id: &'a AgentId) -> Option<AssignedWorkspace>;
    workspaces() -> Vec<Workspace>;
}}

passed_on! { Boards {
    board(name: &'a BoardName) -> Option<BoardState>;
    boards() -> Vec<BoardHead>;
    board_text(name: &'a BoardName, version: u64) -> Option<BoardText>;
    board_versions(name: &'a BoardName, limit: u32) -> Vec<VersionEntry>;
    hold_board(name: &'a BoardName, at_most: Duration) -> Option<Held>;
    began_at() -> Timestamp;
}}

passed_on! { Records {
    record(name: &'a RecordName) -> Option<Stored>;
    records(kind: RecordKind, after: Option<&'a str>, limit: u32) -> Vec<Stored>;
    records_of(kind: RecordKind, owner: &'a str, after: Option<&'a str>, limit: u32) -> Vec<Stored>;
    commands_of_all(after: &'a str, limit: u32) -> Vec<Stored>;
}}

/// How long a slow read of the human user's mailbox takes.
pub(crate) const SLOW_READ: Duration = Duration::from_millis(700);

impl Messages for Faulty {
    fn mailbox<'a>(&'a self, query: &'a MailboxQuery) -> PortFuture<'a, Vec<Message>> {
        Box::pin(async move {
            if self.fate == Fate::SlowQuestions && query.recipient.is_user() {
                tokio::time::sleep(SLOW_READ).await;
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

    fn waiting<'a>(
        &'a self,
        now: i64,
        after: Option<&'a Mailbox>,
        limit: u32,
    ) -> PortFuture<'a, Vec<Mailbox>> {
        self.unless_dead(self.inner.waiting(now, after, limit))
    }

    fn next_delivery_of_any(&self, now: i64) -> PortFuture<'_, Option<i64>> {
        self.unless_dead(self.inner.next_delivery_of_any(now))
    }
}

passed_on! { Turns {
    turns(member: &'a MemberKey, from: u64, limit: u32) -> Vec<StoredTurn>;
    last_turns(member: &'a MemberKey, limit: u32) -> Vec<StoredTurn>;
}}

impl Events for Faulty {
    fn events<'a>(&'a self, query: &'a EventQuery) -> PortFuture<'a, Vec<Event>> {
        self.unless_dead(self.inner.events(query))
    }

    fn last_sequence(&self) -> PortFuture<'_, u64> {
        Box::pin(async move {
            if self.fate == Fate::Busy {
                let task = Subject::Task(TaskId::new(1).unwrap());
                let event = NewEvent::of(kind::TASK_UPDATED, task, &serde_json::json!({}));
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

    fn wait_beyond(&self, after: u64, at_most: Duration) -> PortFuture<'_, u64> {
        self.unless_dead(self.inner.wait_beyond(after, at_most))
    }
}
