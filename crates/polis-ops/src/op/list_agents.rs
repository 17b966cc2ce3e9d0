//! Reading the registry.

use polis_core::{Agent, AgentId, Code, Refusal};

use crate::error::OpError;
use crate::polis::Polis;

/// All agents, by id.
pub async fn list_agents(polis: &Polis) -> Result<Vec<Agent>, OpError> {
    Ok(polis.store.agents().await?)
}

/// One agent.
pub async fn show_agent(polis: &Polis, id: &AgentId) -> Result<Agent, OpError> {
    polis
        .entry(id)
        .await?
        .map(|found| found.agent)
        .ok_or_else(|| not_found(id).into())
}

pub(super) fn not_found(id: &AgentId) -> Refusal {
    Refusal::new(
        Code::AgentNotFound,
        format!("Agent \"{id}\" is not registered."),
        "run `polis agent list` to see who is, or register it with `polis agent add`",
    )
}
