//! Operation behind the `TaskApprove` tool: a caller with the permission `approve_tasks` approves a task.
//! Tasks of some types need this before their owner can complete them.

use polis_core::task::task_approval;
use polis_core::{Caller, TaskId, TaskRecord, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::loading::task_change::change_task;
use crate::op::TaskView;
use crate::request::Request;

/// Parameters of `TaskApprove`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskApproveParams {
    /// The task's number.
    pub task_id: TaskId,
    /// The approver's note.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The version you read; refused if the task has changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
}

/// Approves the completion of a task. Fails with `permission_denied` if the caller may not approve tasks,
/// with `task_not_found` if the task does not exist or is deleted, with `wrong_state` if it is pending,
/// and with `version_mismatch` if it is not at the expected version.
pub async fn approve_task(
    request: &Request,
    params: &TaskApproveParams,
) -> Result<TaskView, OpError> {
    let decide = |current: &TaskRecord, caller: &Caller, now: &Timestamp| {
        let note = params.note.as_deref();
        task_approval::decide_approve_task(
            current,
            note,
            params.expected_version,
            request.app.task_rules(),
            caller,
            now,
        )
    };
    change_task(request, "approve", params.task_id, decide).await
}
