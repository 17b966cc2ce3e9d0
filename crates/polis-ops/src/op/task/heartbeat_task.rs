//! Operation behind the `TaskHeartbeat` tool: renews the lease of a claimed task (heartbeat).

use polis_core::task::claim::decide_heartbeat;
use polis_core::{Caller, TaskId, TaskRecord, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::loading::task_change::change_task;
use crate::op::TaskView;
use crate::request::Request;

/// Parameters of `TaskHeartbeat`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskHeartbeatParams {
    /// The task's number.
    pub task_id: TaskId,
    /// New lease duration in milliseconds, at most 31622400000 (366 days); default: unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
}

/// Renews the lease, counted from now. Fails with `NotOwner` if the caller does not work on the task.
pub async fn heartbeat_task(
    request: &Request,
    params: &TaskHeartbeatParams,
) -> Result<TaskView, OpError> {
    let decide = |current: &TaskRecord, caller: &Caller, now: &Timestamp| {
        decide_heartbeat(current, params.lease_ms, caller, now)
    };
    change_task(request, "heartbeat", params.task_id, decide).await
}
