//! Keeping a claim alive.

use polis_core::task::claim::decide_heartbeat;
use polis_core::{AgentId, Caller, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::get_task::{TaskView, load};
use crate::error::OpError;
use crate::polis::Polis;

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
    let attempts = polis.attempts();
    loop {
        let current = load(polis, params.task_id).await?;
        let decided = decide_heartbeat(&current, params.lease_ms, caller, &polis.now())?;
        if polis.commit(decided.changes, attempts).await?.is_some() {
            return Ok(TaskView::of(
                decided.record,
                polis.clock.now_millis(),
                Vec::new(),
            ));
        }
    }
}
