//! Operation behind the `TaskList` tool: filtered and paginated task lists. Also counts the tasks of a list,
//! and the unfinished tasks of each owner.

use std::collections::BTreeMap;

use polis_core::number::saturating_cast;
use polis_core::task::task_search::TaskSearch;
use polis_core::task::{TaskCursor, TaskPriority, TaskSort, TaskSummary};
use polis_core::{Refusal, TaskStatus, TaskType, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::port::TaskQuery;
use crate::request::Request;

/// Maximum number of tasks per page.
const MAX_PAGE_SIZE: u32 = 1_000;

/// Parameters of `TaskList`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskListParams {
    /// Only tasks that this role may claim or owns.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_filter: Option<String>,
    /// Only tasks with this status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    /// Only tasks owned by this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Only tasks of this type, as in TaskCreate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_type: Option<TaskType>,
    /// Only tasks of this priority; a task without one is normal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<TaskPriority>,
    /// Only tasks that can be claimed now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ready: bool,
    /// Only tasks that require exactly this role; "": no role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_role: Option<String>,
    /// Only tasks with all these words in subject or description, or this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// Order of the tasks; default: number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sort: Option<TaskSort>,
    /// Newest first; among tasks of equal priority if sorted by it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub newest: bool,
    /// Maximum number of tasks; up to 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<TaskCursor>,
}

/// A page of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskPage {
    /// The tasks, in the requested order.
    pub tasks: Vec<TaskSummary>,
    /// Cursor of the next page; null on the last page.
    pub next: Option<TaskCursor>,
}

fn build_task_query(params: &TaskListParams, now: i64) -> Result<TaskQuery, Refusal> {
    let sort = params.sort.unwrap_or_default();
    if let Some(cursor) = params.cursor {
        sort.check_cursor(cursor)?;
    }
    Ok(TaskQuery {
        role: params.role_filter.clone(),
        status: params.status,
        owner: params.owner.clone(),
        task_type: params.task_type,
        priority: params.priority,
        claimable_at: params.ready.then_some(now),
        required_role: params.required_role.clone(),
        search: TaskSearch::parse(params.search.as_deref().unwrap_or_default())?,
        sort,
        newest: params.newest,
        after: params.cursor,
        limit: 0,
    })
}

/// Returns the number of tasks in a list over all of its pages. Fails with `invalid_input` if the search
/// text is too long or contains NUL.
pub async fn count_tasks(request: &Request, params: &TaskListParams) -> Result<u64, OpError> {
    let query = build_task_query(params, request.app.clock.now_millis())?;
    Ok(request.app.store.count_matching_tasks(&query).await?)
}

/// Returns the number of unfinished tasks per owner, by name. Agents without such tasks are not included.
/// Fails only if the store does.
pub async fn count_tasks_by_owner(request: &Request) -> Result<BTreeMap<String, u64>, OpError> {
    Ok(request
        .app
        .store
        .unfinished_tasks_by_owner()
        .await?
        .into_iter()
        .collect())
}

/// Lists a page of tasks. Deleted tasks are never included. Fails with `invalid_input` if the search text is
/// too long or contains NUL, or the cursor is of a list in another order.
pub async fn list_tasks(request: &Request, params: &TaskListParams) -> Result<TaskPage, OpError> {
    let now = request.app.clock.now_millis();
    let limit = params
        .limit
        .unwrap_or(MAX_PAGE_SIZE)
        .clamp(1, MAX_PAGE_SIZE);
    let mut query = build_task_query(params, now)?;
    // Fetch one more than requested to detect a next page.
    query.limit = limit + 1;
    let mut tasks = request.app.store.list_tasks(&query).await?;
    let page = saturating_cast::<usize>(limit);
    let more = tasks.len() > page;
    tasks.truncate(page);
    mark_stale(&mut tasks, now);
    let next = if more {
        tasks.last().map(|task| query.sort.cursor_after(task))
    } else {
        None
    };
    Ok(TaskPage { tasks, next })
}

/// Sets `stale` on tasks whose lease has expired; stores do not set it.
pub(crate) fn mark_stale(tasks: &mut [TaskSummary], now: i64) {
    for task in tasks {
        let end = task.lease_expires_at.as_ref().and_then(Timestamp::millis);
        task.stale = end.is_some_and(|end| end <= now);
    }
}
