//! Operation behind the `TaskRelease` tool: releases a claimed task, so that another agent can claim it.

use polis_core::task::claim::decide_release_task;
use polis_core::{Caller, TaskId, TaskRecord, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::loading::task_change::change_task;
use crate::op::TaskView;
use crate::request::Request;

/// Parameters of `TaskRelease`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskReleaseParams {
    /// The task's number.
    pub task_id: TaskId,
    /// The version you read; refused if the task has changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
}

/// Releases a task; its status does not change, and it can be claimed again. Fails with `NotOwner` if the
/// caller neither holds the task nor may reassign it.
pub async fn release_task(
    request: &Request,
    params: &TaskReleaseParams,
) -> Result<TaskView, OpError> {
    let decide = |current: &TaskRecord, caller: &Caller, now: &Timestamp| {
        decide_release_task(
            current,
            params.expected_version,
            request.app.task_rules(),
            caller,
            now,
        )
    };
    change_task(request, "release", params.task_id, decide).await
}
