//! Giving a task back.

use polis_core::task::claim::decide_release;
use polis_core::{AgentId, Caller, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get_task::{TaskView, load};
use crate::error::OpError;
use crate::polis::{Attempt, Polis};

/// The parameters of a release.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskRelease {
    /// The task.
    pub task_id: TaskId,
    /// The version the caller has read.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
}

/// Releases a task; it stays in progress and may be claimed again.
pub async fn release_task(
    polis: &Polis,
    caller: &AgentId,
    params: &TaskRelease,
) -> Result<TaskView, OpError> {
    let caller = polis.caller(caller).await?;
    let answer = attempt(polis, &caller, params).await;
    polis
        .audited("release", params.task_id, &caller, answer)
        .await
}

async fn attempt(
    polis: &Polis,
    caller: &Caller,
    params: &TaskRelease,
) -> Result<TaskView, OpError> {
    let decide = || -> Attempt<'_, _> {
        Box::pin(async move {
            let current = load(polis, params.task_id).await?;
            let decided = decide_release(
                &current,
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
