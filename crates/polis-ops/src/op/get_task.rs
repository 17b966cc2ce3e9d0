//! Operation behind the `TaskGet` tool: reads one task. Also defines [`TaskView`], the task as all surfaces show it.

use polis_core::task::not_found;
use polis_core::{Task, TaskId, TaskRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::polis::Polis;

/// The parameters of `TaskGet`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskGet {
    /// The task's number.
    pub task_id: TaskId,
    /// Where to begin in a long description, in bytes.
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
    /// Whether its owner's lease has run out.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
    /// How many of the tasks it waits for are open. For screens: programs have `blockedBy`.
    #[serde(skip)]
    pub open_blockers: u32,
    /// After a completion: tasks that became ready through it.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub unblocked: Vec<TaskId>,
}

impl TaskView {
    pub(super) fn of(record: TaskRecord, now: i64, unblocked: Vec<TaskId>) -> Self {
        Self {
            stale: record.task.is_stale(now),
            open_blockers: record.open_blockers,
            task: record.task,
            unblocked,
        }
    }
}

/// Returns a task. Deleted tasks can be read here, although lists do not show them.
pub async fn get_task(polis: &Polis, id: TaskId) -> Result<TaskView, OpError> {
    let record = load(polis, id).await?;
    Ok(TaskView::of(record, polis.clock.now_millis(), Vec::new()))
}

/// Loads a task, or fails with a "not found" refusal.
pub(super) async fn load(polis: &Polis, id: TaskId) -> Result<TaskRecord, OpError> {
    polis
        .store
        .tasks(&[id])
        .await?
        .pop()
        .ok_or_else(|| not_found(id).into())
}
