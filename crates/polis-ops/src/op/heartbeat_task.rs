//! Keeping a claim alive.

use polis_core::task::claim::decide_heartbeat;
use polis_core::{AgentId, Caller, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get_task::{TaskView, load};
use crate::error::OpError;
use crate::polis::{Attempt, Polis};

/// The parameters of a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskHeartbeat {
    /// The task.
    pub task_id: TaskId,
    /// The new length of the lease in milliseconds; left out: as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
}

/// Lets the lease run on from now.
pub async fn heartbeat_task(
    polis: &Polis,
    caller: &AgentId,
    params: &TaskHeartbeat,
) -> Result<TaskView, OpError> {
    let caller = polis.caller(caller).await?;
    let answer = attempt(polis, &caller, params).await;
    polis
        .audited("heartbeat", params.task_id, &caller, answer)
        .await
}

async fn attempt(
    polis: &Polis,
    caller: &Caller,
    params: &TaskHeartbeat,
) -> Result<TaskView, OpError> {
    let decide = || -> Attempt<'_, _> {
        Box::pin(async move {
            let current = load(polis, params.task_id).await?;
            let decided = decide_heartbeat(&current, params.lease_ms, caller, &polis.now())?;
            Ok((decided.record, decided.changes))
        })
    };
    let (record, _) = polis.settle(decide).await?;
    Ok(TaskView::of(record, polis.clock.now_millis(), Vec::new()))
}
