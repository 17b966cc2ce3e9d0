//! Operation that retires an agent, and the permission check for managing agents.

use polis_core::agent::{self, AgentStatus};
use polis_core::{Agent, AgentId, Permission, TaskId, TaskStatus};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::OpError;
use crate::op::agent::list_agents::agent_not_found;
use crate::port::TaskQuery;
use crate::request::{AttemptFuture, Request};

/// Parameters of operations that need only an agent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct AgentIdParams {
    /// The agent.
    pub id: AgentId,
}

/// Retires an agent. Fails if it has unfinished tasks or active direct reports.
pub async fn retire_agent(request: &Request, id: &AgentId) -> Result<Agent, OpError> {
    let caller = &request.resolve_caller().await?;
    let decide = || -> AttemptFuture<'_, _> {
        Box::pin(async move {
            let current = request
                .registry_entry(id)
                .await?
                .ok_or_else(|| agent_not_found(id))?;
            let open = list_unfinished_tasks(&request.app, id).await?;
            let agents = request.app.store.agents().await?.into_iter();
            let reports: Vec<AgentId> = agents
                .filter(|a| a.status == AgentStatus::Active && a.supervisor.as_ref() == Some(id))
                .map(|a| a.id)
                .collect();
            let policy = &request.app.settings.policy;
            let decided = agent::decide_retire_agent(
                &current,
                &open,
                &reports,
                policy,
                caller,
                request.app.now(),
            )?;
            Ok(decided)
        })
    };
    request.retry_on_conflict(decide, |agent, _| agent).await
}

/// Returns whether the caller may register and retire agents. Fails with `permission_denied` if the
/// caller may not act.
pub async fn may_manage_agents(request: &Request) -> Result<bool, OpError> {
    let caller = request.resolve_caller().await?;
    let policy = &request.app.settings.policy;
    Ok(policy.check(&caller, Permission::ManageAgents).is_ok())
}

/// Returns unfinished tasks of an agent; the first hundred of each status are enough.
async fn list_unfinished_tasks(app: &App, id: &AgentId) -> Result<Vec<TaskId>, OpError> {
    let mut open = Vec::new();
    for status in [TaskStatus::InProgress, TaskStatus::Pending] {
        let query = TaskQuery {
            owner: Some(id.to_string()),
            status: Some(status),
            limit: 100,
            ..TaskQuery::default()
        };
        let found = app.store.list_tasks(&query).await?;
        open.extend(found.into_iter().map(|task| task.id));
    }
    Ok(open)
}
