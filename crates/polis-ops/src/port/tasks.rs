//! Reading tasks.

use std::collections::BTreeSet;

use polis_core::task::search::Search;
use polis_core::task::{Comment, TaskSummary};
use polis_core::{TaskId, TaskRecord, TaskStatus, TaskType};

use super::PortFuture;

/// Which tasks to list. Deleted tasks are never listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskQuery {
    /// Only what this role sees: its own, those without a role, and those its members hold.
    pub role: Option<String>,
    /// Only in this state.
    pub status: Option<TaskStatus>,
    /// Only those held by this agent.
    pub owner: Option<String>,
    /// Only of this type.
    pub task_type: Option<TaskType>,
    /// Only what could be claimed at this moment (milliseconds).
    pub claimable_at: Option<i64>,
    /// Only those that require exactly this role; the empty text is none.
    pub required_role: Option<String>,
    /// Only those that have these words.
    pub search: Search,
    /// The highest number first.
    pub newest: bool,
    /// Only those that come after this number.
    pub after: Option<TaskId>,
    /// At most so many.
    pub limit: u32,
}

/// Which tasks to consider for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateQuery {
    /// Its name.
    pub agent: String,
    /// Its role.
    pub role: String,
    /// The moment (milliseconds).
    pub now: i64,
    /// At most so many of each group.
    pub per_group: u32,
    /// Free tasks to look past: others are about to take them.
    pub skip: BTreeSet<TaskId>,
}

/// Which comments of a task to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentQuery {
    /// The task.
    pub task: TaskId,
    /// Only those with a greater number.
    pub after: u64,
    /// Only those with a smaller number.
    pub before: Option<u64>,
    /// The newest of them, if there are more than so many; the oldest otherwise.
    pub newest: bool,
    /// At most so many.
    pub limit: u32,
}

impl CommentQuery {
    /// A query of all comments of a task.
    pub fn of(task: TaskId) -> Self {
        Self {
            task,
            after: 0,
            before: None,
            newest: false,
            limit: u32::MAX,
        }
    }
}

/// How many tasks there are in each state.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatusCounts {
    /// Not begun.
    pub pending: u64,
    /// Being worked on.
    pub in_progress: u64,
    /// Done.
    pub completed: u64,
    /// Deleted.
    pub deleted: u64,
}

/// The task board.
pub trait Tasks {
    /// The tasks of these numbers that exist, by number.
    fn tasks<'a>(&'a self, ids: &'a [TaskId]) -> PortFuture<'a, Vec<TaskRecord>>;

    /// Tasks after `after`, deleted ones too, by number, at most `limit`.
    fn scan_tasks(&self, after: Option<TaskId>, limit: u32) -> PortFuture<'_, Vec<TaskRecord>>;

    /// A page of a list, by number, or the other way round.
    fn list_tasks<'a>(&'a self, query: &'a TaskQuery) -> PortFuture<'a, Vec<TaskSummary>>;

    /// Tasks the agent could claim, without those that its rank among their like excludes: of the
    /// pending ones assigned to it, of the stale ones and of the free ones, which require its role,
    /// its name or nothing, for each type and required role the first `per_group` by
    /// [`standing`](polis_core::task::recommend::standing), the oldest first among equals.
    fn candidates<'a>(&'a self, query: &'a CandidateQuery) -> PortFuture<'a, Vec<TaskRecord>>;

    /// For each of these tasks that is not deleted, those that wait for it.
    fn blocks_of<'a>(&'a self, ids: &'a [TaskId]) -> PortFuture<'a, Vec<(TaskId, Vec<TaskId>)>>;

    /// Comments of a task, in order. Takes as long as the answer is, however many there are.
    fn comments<'a>(&'a self, query: &'a CommentQuery) -> PortFuture<'a, Vec<Comment>>;

    /// The types of the tasks an agent completed, the newest `limit`.
    fn completed_types<'a>(
        &'a self,
        owner: &'a str,
        limit: u32,
    ) -> PortFuture<'a, Vec<Option<TaskType>>>;

    /// The highest number given to a task so far; 0 if none was.
    fn last_task_number(&self) -> PortFuture<'_, u64>;

    /// How many tasks a list has on all of its pages: `after` and `limit` do not count.
    fn count_list<'a>(&'a self, query: &'a TaskQuery) -> PortFuture<'a, u64>;

    /// How many unfinished tasks each agent holds, by its name; who holds none is not there.
    fn loads(&self) -> PortFuture<'_, Vec<(String, u64)>>;

    /// Of each agent that holds tasks in progress the newest of them, the highest number first, at most `limit`.
    fn held_tasks(&self, limit: u32) -> PortFuture<'_, Vec<TaskSummary>>;

    /// How many tasks there are in each state.
    fn count_tasks(&self) -> PortFuture<'_, StatusCounts>;
}
