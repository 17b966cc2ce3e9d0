//! Operations that read the agent registry: lists agents in pages, and shows one agent.

use polis_core::{Agent, AgentId, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::pagination::truncate_page;
use crate::refusal_tables::OperationRefusal;
use crate::request::Request;

/// Parameters of `list_agents`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListAgentsParams {
    /// `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<AgentId>,
    /// Maximum number of entries; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A page of agents, ordered by id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AgentList {
    /// The agents.
    pub agents: Vec<Agent>,
    /// Cursor of the next page; omitted on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<AgentId>,
}

/// Lists the agents, ordered by id. Fails only if the store does.
pub async fn list_agents(
    request: &Request,
    params: &ListAgentsParams,
) -> Result<AgentList, OpError> {
    let mut agents = request.app.store.agents().await?;
    agents.retain(|agent| params.cursor.as_ref().is_none_or(|after| agent.id > *after));
    let next = truncate_page(&mut agents, params.limit).map(|last| last.id.clone());
    Ok(AgentList { agents, next })
}

/// Returns one agent. Fails with `AgentNotFound` if it is not registered.
pub async fn show_agent(request: &Request, id: &AgentId) -> Result<Agent, OpError> {
    request
        .registry_entry(id)
        .await?
        .map(|found| found.agent)
        .ok_or_else(|| agent_not_found(id).into())
}

pub(crate) fn agent_not_found(id: &AgentId) -> Refusal {
    Refusal::from(OperationRefusal::AgentNotRegistered { id: id.to_string() })
}
