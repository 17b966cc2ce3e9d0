//! Operation behind the `TaskList` tool: filtered and paginated task lists, their total count, and the load per agent.

use std::collections::BTreeMap;

use polis_core::task::TaskSummary;
use polis_core::task::search::Search;
use polis_core::{Refusal, TaskId, TaskStatus, TaskType, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::polis::Polis;
use crate::port::TaskQuery;

/// Maximum number of tasks per page.
const MAX_PAGE: u32 = 1_000;

/// The parameters of `TaskList`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskList {
    /// Only what this role may take or holds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_filter: Option<String>,
    /// Only with this status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    /// Only those held by this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Only of this type, as for TaskCreate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_type: Option<TaskType>,
    /// Only what could be claimed now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ready: bool,
    /// Only those that require exactly this role; "" for those that require none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_role: Option<String>,
    /// Only with all these words in subject or description, or with this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub search: Option<String>,
    /// The newest first.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub newest: bool,
    /// At most so many; up to 1,000 a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// The `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<TaskId>,
}

/// A page of tasks.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskPage {
    /// The tasks, by number, or the newest first.
    pub tasks: Vec<TaskSummary>,
    /// Where the next page begins; null if this is the last.
    pub next: Option<TaskId>,
}

fn query(params: &TaskList, now: i64) -> Result<TaskQuery, Refusal> {
    Ok(TaskQuery {
        role: params.role_filter.clone(),
        status: params.status,
        owner: params.owner.clone(),
        task_type: params.task_type,
        claimable_at: params.ready.then_some(now),
        required_role: params.required_role.clone(),
        search: Search::parse(params.search.as_deref().unwrap_or_default())?,
        newest: params.newest,
        after: params.cursor,
        limit: 0,
    })
}

/// Returns the number of tasks in a list over all of its pages.
pub async fn count_tasks(polis: &Polis, params: &TaskList) -> Result<u64, OpError> {
    let query = query(params, polis.clock.now_millis())?;
    Ok(polis.store.count_list(&query).await?)
}

/// Returns the number of unfinished tasks per owner, by name. Agents without such tasks are not included.
pub async fn task_loads(polis: &Polis) -> Result<BTreeMap<String, u64>, OpError> {
    Ok(polis.store.loads().await?.into_iter().collect())
}

/// Lists a page of tasks. Deleted tasks are never included.
pub async fn list_tasks(polis: &Polis, params: &TaskList) -> Result<TaskPage, OpError> {
    let now = polis.clock.now_millis();
    let limit = params.limit.unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE);
    let mut query = query(params, now)?;
    // Fetch one more than requested to detect a next page.
    query.limit = limit + 1;
    let mut tasks = polis.store.list_tasks(&query).await?;
    let page = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = tasks.len() > page;
    tasks.truncate(page);
    mark_stale(&mut tasks, now);
    let next = if more {
        tasks.last().map(|task| task.id)
    } else {
        None
    };
    Ok(TaskPage { tasks, next })
}

/// Sets `stale` on tasks whose lease has expired; stores do not set it.
pub(super) fn mark_stale(tasks: &mut [TaskSummary], now: i64) {
    for task in tasks {
        let end = task.lease_expires_at.as_ref().and_then(Timestamp::millis);
        task.stale = end.is_some_and(|end| end <= now);
    }
}
