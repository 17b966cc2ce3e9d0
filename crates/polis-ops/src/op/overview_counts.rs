//! Operation that counts tasks by status, active agents, and events.

use polis_core::AgentStatus;
use polis_core::number::saturating_cast;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::OpError;
use crate::request::Request;

/// Counts of tasks, agents and events.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OverviewCounts {
    /// Pending tasks.
    pub pending: u64,
    /// Tasks in progress.
    pub in_progress: u64,
    /// Completed tasks.
    pub completed: u64,
    /// Deleted tasks.
    pub deleted: u64,
    /// Active agents.
    pub agents: u64,
    /// Events in the log.
    pub events: u64,
}

/// Counts tasks, agents and events. Fails only if the store does.
pub async fn count_overview(request: &Request) -> Result<OverviewCounts, OpError> {
    let tasks = request.app.store.count_tasks_by_status().await?;
    let agents = request.app.store.agents().await?;
    let active = agents
        .iter()
        .filter(|a| a.status == AgentStatus::Active)
        .count();
    Ok(OverviewCounts {
        pending: tasks.pending,
        in_progress: tasks.in_progress,
        completed: tasks.completed,
        deleted: tasks.deleted,
        agents: saturating_cast::<u64>(active),
        events: request.app.store.last_sequence().await?,
    })
}
