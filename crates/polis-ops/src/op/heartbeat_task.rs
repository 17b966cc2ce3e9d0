//! Operation that renews the lease of a claimed task (heartbeat).

use polis_core::task::claim::decide_heartbeat;
use polis_core::{AgentId, Caller, TaskId, TaskRecord, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::TaskView;
use super::task_decisions::change_task;
use crate::error::OpError;
use crate::polis::Polis;

/// The parameters of a heartbeat.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskHeartbeat {
    /// The task's number.
    pub task_id: TaskId,
    /// The new length of the lease in milliseconds; left out: as before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
}

/// Renews the lease, counted from now.
pub async fn heartbeat_task(
    polis: &Polis,
    caller: &AgentId,
    params: &TaskHeartbeat,
) -> Result<TaskView, OpError> {
    let decide = |current: &TaskRecord, caller: &Caller, now: &Timestamp| {
        decide_heartbeat(current, params.lease_ms, caller, now)
    };
    change_task(polis, "heartbeat", caller, params.task_id, decide).await
}
