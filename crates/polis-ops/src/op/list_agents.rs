//! Operations that read the agent registry: lists agents in pages, and shows one agent.

use polis_core::{Agent, AgentId, Code, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pagination::page;
use crate::error::OpError;
use crate::polis::Polis;

/// The parameters of listing agents.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListAgents {
    /// The `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<AgentId>,
    /// At most so many; all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Agents, by id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentList {
    /// The agents.
    pub agents: Vec<Agent>,
    /// Where the next page begins; left out if this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<AgentId>,
}

/// Lists the agents, ordered by id.
pub async fn list_agents(polis: &Polis, params: &ListAgents) -> Result<AgentList, OpError> {
    let mut agents = polis.store.agents().await?;
    agents.retain(|agent| params.cursor.as_ref().is_none_or(|after| agent.id > *after));
    let next = page(&mut agents, params.limit).map(|last| last.id.clone());
    Ok(AgentList { agents, next })
}

/// Returns one agent. Fails with `AgentNotFound` if it is not registered.
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
