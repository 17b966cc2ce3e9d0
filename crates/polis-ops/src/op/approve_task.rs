//! `TaskApprove`.

use polis_core::task::approve;
use polis_core::{AgentId, Caller, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get_task::{TaskView, load};
use crate::error::OpError;
use crate::polis::Polis;

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
    let attempts = polis.attempts();
    loop {
        let current = load(polis, params.task_id).await?;
        let decided = approve::decide(
            &current,
            params.note.as_deref(),
            params.expected_version,
            polis.rules(),
            caller,
            &polis.now(),
        )?;
        if polis.commit(decided.changes, attempts).await?.is_some() {
            return Ok(TaskView::of(
                decided.record,
                polis.clock.now_millis(),
                Vec::new(),
            ));
        }
    }
}
