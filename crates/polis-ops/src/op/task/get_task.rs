//! Operation behind the `TaskGet` tool: reads one task, even a deleted one. Also defines [`TaskView`], the
//! result of operations on a single task; lists contain `TaskSummary` instead.

use polis_core::task::task_not_found;
use polis_core::{Task, TaskId, TaskRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::OpError;
use crate::request::Request;

/// Parameters of `TaskGet`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskGetParams {
    /// The task's number.
    pub task_id: TaskId,
    /// Start offset in a long description, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

/// A task as every surface shows it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskView {
    /// The task.
    #[serde(flatten)]
    pub task: Task,
    /// Whether its lease has expired.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// Number of open blockers. For user interfaces; programs use `blockedBy`.
    #[serde(skip)]
    pub open_blockers: u32,
    /// After a completion: tasks that became ready.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unblocked: Vec<TaskId>,
}

impl TaskView {
    pub(crate) fn from_record(record: TaskRecord, now: i64, unblocked: Vec<TaskId>) -> Self {
        Self {
            stale: record.task.is_stale(now),
            open_blockers: record.open_blockers,
            task: record.task,
            unblocked,
        }
    }
}

/// Returns a task. Deleted tasks can be read here, although lists do not show them. Fails with
/// `TaskNotFound`.
pub async fn get_task(request: &Request, id: TaskId) -> Result<TaskView, OpError> {
    let record = load_task(&request.app, id).await?;
    Ok(TaskView::from_record(
        record,
        request.app.clock.now_millis(),
        Vec::new(),
    ))
}

/// Loads a task. Fails with `TaskNotFound` if it does not exist.
pub(crate) async fn load_task(app: &App, id: TaskId) -> Result<TaskRecord, OpError> {
    app.store
        .tasks(&[id])
        .await?
        .pop()
        .ok_or_else(|| task_not_found(id).into())
}
