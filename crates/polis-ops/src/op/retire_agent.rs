//! Operation that retires an agent, and the permission check for managing agents.

use polis_core::agent::{self, AgentStatus};
use polis_core::{Agent, AgentId, Permission, TaskId, TaskStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::list_agents::not_found;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::TaskQuery;

/// The parameters of showing or retiring an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct OfAgent {
    /// The agent.
    pub id: AgentId,
}

/// Retires an agent. Fails if it has unfinished tasks or active direct reports.
pub async fn retire_agent(polis: &Polis, caller: &AgentId, id: &AgentId) -> Result<Agent, OpError> {
    let caller = &polis.caller(caller).await?;
    let decide = || -> Attempt<'_, _> {
        Box::pin(async move {
            let current = polis.entry(id).await?.ok_or_else(|| not_found(id))?;
            let open = unfinished(polis, id).await?;
            let agents = polis.store.agents().await?.into_iter();
            let reports: Vec<AgentId> = agents
                .filter(|a| a.status == AgentStatus::Active && a.supervisor.as_ref() == Some(id))
                .map(|a| a.id)
                .collect();
            let policy = &polis.settings.policy;
            let decided =
                agent::decide_retire(&current, &open, &reports, policy, caller, polis.now())?;
            Ok(decided)
        })
    };
    polis.settle(decide, |agent, _| agent).await
}

/// Returns whether the caller may register and retire agents.
pub async fn may_manage_agents(polis: &Polis, caller: &AgentId) -> Result<bool, OpError> {
    let caller = polis.caller(caller).await?;
    let policy = &polis.settings.policy;
    Ok(policy.check(&caller, Permission::ManageAgents).is_ok())
}

/// Returns unfinished tasks of an agent; the first hundred of each status are enough.
async fn unfinished(polis: &Polis, id: &AgentId) -> Result<Vec<TaskId>, OpError> {
    let mut open = Vec::new();
    for status in [TaskStatus::InProgress, TaskStatus::Pending] {
        let query = TaskQuery {
            owner: Some(id.to_string()),
            status: Some(status),
            limit: 100,
            ..TaskQuery::default()
        };
        let found = polis.store.list_tasks(&query).await?;
        open.extend(found.into_iter().map(|task| task.id));
    }
    Ok(open)
}
