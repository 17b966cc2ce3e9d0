//! Store port [`TaskReader`]: reads tasks (by number, as filtered pages, as candidates for claiming), counts
//! them, and reads their comments and the tasks that wait for them.

use std::collections::BTreeSet;

use polis_core::task::task_search::TaskSearch;
use polis_core::task::{Comment, TaskCursor, TaskPriority, TaskSort, TaskSummary};
use polis_core::{TaskId, TaskRecord, TaskStatus, TaskType};

use crate::port::PortFuture;

/// Selection of tasks. Deleted tasks are never listed.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskQuery {
    /// Only tasks visible to this role: its own, those without a role, and those held by its members.
    pub role: Option<String>,
    /// Only tasks with this status.
    pub status: Option<TaskStatus>,
    /// Only tasks held by this agent.
    pub owner: Option<String>,
    /// Only tasks of this type.
    pub task_type: Option<TaskType>,
    /// Only tasks of this priority; those without one are normal.
    pub priority: Option<TaskPriority>,
    /// Only tasks that could be claimed at this time (milliseconds).
    pub claimable_at: Option<i64>,
    /// Only tasks that require exactly this role; an empty string matches tasks that require none.
    pub required_role: Option<String>,
    /// Only tasks that contain these words.
    pub search: TaskSearch,
    /// What to sort by.
    pub sort: TaskSort,
    /// Whether to sort by descending number, among equals if sorted by priority.
    pub newest: bool,
    /// Only tasks after this position in the sort order.
    pub after: Option<TaskCursor>,
    /// Maximum number of tasks.
    pub limit: u32,
}

/// Selection of candidate tasks for an agent.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CandidateQuery {
    /// The agent's name.
    pub agent: String,
    /// The agent's role.
    pub role: String,
    /// The current time (milliseconds).
    pub now: i64,
    /// Maximum number of tasks per group.
    pub per_group: u32,
    /// Unclaimed tasks to skip, because other claimers are about to take them.
    pub skip: BTreeSet<TaskId>,
}

/// Selection of comments of a task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommentQuery {
    /// The task.
    pub task: TaskId,
    /// Only comments with a greater number.
    pub after: u64,
    /// Only comments with a smaller number.
    pub before: Option<u64>,
    /// If more than `limit` comments match: whether to return the newest instead of the oldest.
    pub newest: bool,
    /// Maximum number of comments.
    pub limit: u32,
}

impl CommentQuery {
    /// Creates a query for all comments of a task.
    pub fn for_task(task: TaskId) -> Self {
        Self {
            task,
            after: 0,
            before: None,
            newest: false,
            limit: u32::MAX,
        }
    }
}

/// Number of tasks by status.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StatusCounts {
    /// Not started.
    pub pending: u64,
    /// In progress.
    pub in_progress: u64,
    /// Completed.
    pub completed: u64,
    /// Deleted.
    pub deleted: u64,
}

/// Read access to tasks.
pub trait TaskReader {
    /// Returns the tasks with these numbers that exist, ordered by number.
    fn tasks<'a>(&'a self, ids: &'a [TaskId]) -> PortFuture<'a, Vec<TaskRecord>>;

    /// Returns tasks after `after`, including deleted ones, ordered by number, at most `limit`.
    fn scan_tasks(&self, after: Option<TaskId>, limit: u32) -> PortFuture<'_, Vec<TaskRecord>>;

    /// Returns a page of a list, ordered by number, ascending or descending, or by priority first.
    fn list_tasks<'a>(&'a self, query: &'a TaskQuery) -> PortFuture<'a, Vec<TaskSummary>>;

    /// Returns the tasks that the agent could claim, reduced to those that can be ranked first. The groups
    /// are the pending tasks assigned to it, the stale ones, and the unclaimed ones that require its role,
    /// its name or nothing. Of each group, for each type and required role, the result contains the first
    /// `per_group` by [`standing_score`](polis_core::task::recommendation::standing_score), oldest first among equals.
    fn claim_candidates<'a>(&'a self, query: &'a CandidateQuery)
    -> PortFuture<'a, Vec<TaskRecord>>;

    /// Returns, for each of these tasks that is not deleted, the tasks that wait for it.
    fn tasks_waiting_for<'a>(
        &'a self,
        ids: &'a [TaskId],
    ) -> PortFuture<'a, Vec<(TaskId, Vec<TaskId>)>>;

    /// Returns comments of a task, in order. The cost depends only on the size of the result, not on the
    /// number of comments.
    fn comments<'a>(&'a self, query: &'a CommentQuery) -> PortFuture<'a, Vec<Comment>>;

    /// Returns the types of the newest `limit` tasks that an agent completed.
    fn completed_types<'a>(
        &'a self,
        owner: &'a str,
        limit: u32,
    ) -> PortFuture<'a, Vec<Option<TaskType>>>;

    /// Returns the highest number assigned to a task so far; 0 if there is none.
    fn last_task_number(&self) -> PortFuture<'_, u64>;

    /// Returns the number of tasks in a list over all of its pages: `after` and `limit` are ignored.
    fn count_matching_tasks<'a>(&'a self, query: &'a TaskQuery) -> PortFuture<'a, u64>;

    /// Returns the number of unfinished tasks per owner, by name. Agents without such tasks are not included.
    fn unfinished_tasks_by_owner(&self) -> PortFuture<'_, Vec<(String, u64)>>;

    /// Returns the newest task in progress of each agent that holds any, highest number first, at most
    /// `limit`.
    fn held_tasks(&self, limit: u32) -> PortFuture<'_, Vec<TaskSummary>>;

    /// Returns the number of tasks by status.
    fn count_tasks_by_status(&self) -> PortFuture<'_, StatusCounts>;
}
