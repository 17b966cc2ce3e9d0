//! Operation that releases a claimed task.

use polis_core::task::claim::decide_release;
use polis_core::{AgentId, Caller, TaskId, TaskRecord, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TaskView;
use super::task_decisions::change_task;
use crate::error::OpError;
use crate::polis::Polis;

/// The parameters of a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskRelease {
    /// The task's number.
    pub task_id: TaskId,
    /// The version you read; refused if the task has changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
}

/// Releases a task; it stays in progress and can be claimed again.
pub async fn release_task(
    polis: &Polis,
    caller: &AgentId,
    params: &TaskRelease,
) -> Result<TaskView, OpError> {
    let decide = |current: &TaskRecord, caller: &Caller, now: &Timestamp| {
        decide_release(current, params.expected_version, polis.rules(), caller, now)
    };
    change_task(polis, "release", caller, params.task_id, decide).await
}
