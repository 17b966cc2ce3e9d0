//! Operation that counts tasks by status, active agents, and events.

use polis_core::AgentStatus;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::OpError;
use crate::polis::Polis;

/// Counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Overview {
    /// Tasks not begun.
    pub pending: u64,
    /// Tasks being worked on.
    pub in_progress: u64,
    /// Tasks done.
    pub completed: u64,
    /// Tasks deleted.
    pub deleted: u64,
    /// Agents that may act.
    pub agents: u64,
    /// Events in the log.
    pub events: u64,
}

/// Counts tasks, agents and events.
pub async fn overview(polis: &Polis) -> Result<Overview, OpError> {
    let tasks = polis.store.count_tasks().await?;
    let agents = polis.store.agents().await?;
    let active = agents
        .iter()
        .filter(|a| a.status == AgentStatus::Active)
        .count();
    Ok(Overview {
        pending: tasks.pending,
        in_progress: tasks.in_progress,
        completed: tasks.completed,
        deleted: tasks.deleted,
        agents: u64::try_from(active).unwrap_or(u64::MAX),
        events: polis.store.last_sequence().await?,
    })
}
