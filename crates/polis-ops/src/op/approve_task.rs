//! `TaskApprove`.

use polis_core::task::approve;
use polis_core::{AgentId, Caller, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get_task::{TaskView, load};
use crate::error::OpError;
use crate::polis::{Attempt, Polis};

/// The parameters of `TaskApprove`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskApprove {
    /// The task.
    pub task_id: TaskId,
    /// What the approver has to say.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The version the caller has read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
}

/// Approves the completion of a task.
pub async fn approve_task(
    polis: &Polis,
    caller: &AgentId,
    params: &TaskApprove,
) -> Result<TaskView, OpError> {
    let caller = polis.caller(caller).await?;
    let answer = attempt(polis, &caller, params).await;
    polis
        .audited("approve", params.task_id, &caller, answer)
        .await
}

async fn attempt(
    polis: &Polis,
    caller: &Caller,
    params: &TaskApprove,
) -> Result<TaskView, OpError> {
    let decide = || -> Attempt<'_, _> {
        Box::pin(async move {
            let current = load(polis, params.task_id).await?;
            let decided = approve::decide(
                &current,
                params.note.as_deref(),
                params.expected_version,
                polis.rules(),
                caller,
                &polis.now(),
            )?;
            Ok((decided.record, decided.changes))
        })
    };
    let (record, _) = polis.settle(decide).await?;
    Ok(TaskView::of(record, polis.clock.now_millis(), Vec::new()))
}
