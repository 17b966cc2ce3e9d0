//! Operation behind the `TaskApprove` tool: approves the completion of a task.

use polis_core::task::approve;
use polis_core::{AgentId, Caller, TaskId, TaskRecord, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TaskView;
use super::task_decisions::change_task;
use crate::error::OpError;
use crate::polis::Polis;

/// The parameters of `TaskApprove`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskApprove {
    /// The task's number.
    pub task_id: TaskId,
    /// What the approver has to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The version you read; refused if the task has changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
}

/// Approves the completion of a task.
pub async fn approve_task(
    polis: &Polis,
    caller: &AgentId,
    params: &TaskApprove,
) -> Result<TaskView, OpError> {
    let decide = |current: &TaskRecord, caller: &Caller, now: &Timestamp| {
        let note = params.note.as_deref();
        approve::decide(
            current,
            note,
            params.expected_version,
            polis.rules(),
            caller,
            now,
        )
    };
    change_task(polis, "approve", caller, params.task_id, decide).await
}
