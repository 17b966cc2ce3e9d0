//! Retiring an agent.

use polis_core::agent::{self, AgentStatus};
use polis_core::{Agent, AgentId, TaskStatus};

use super::list_agents::not_found;
use crate::error::OpError;
use crate::polis::Polis;
use crate::port::TaskQuery;

/// Retires an agent that holds no unfinished task and supervises nobody.
pub async fn retire_agent(polis: &Polis, caller: &AgentId, id: &AgentId) -> Result<Agent, OpError> {
    let caller = polis.caller(caller).await?;
    let attempts = polis.attempts();
    loop {
        let Some(current) = polis.store.agent(id).await? else {
            return Err(not_found(id).into());
        };
        let mut open = Vec::new();
        for status in [TaskStatus::InProgress, TaskStatus::Pending] {
            let query = TaskQuery {
                owner: Some(id.to_string()),
                status: Some(status),
                limit: 100,
                ..TaskQuery::default()
            };
            open.extend(
                polis
                    .store
                    .list_tasks(&query)
                    .await?
                    .into_iter()
                    .map(|task| task.id),
            );
        }
        let reports: Vec<AgentId> = polis
            .store
            .agents()
            .await?
            .into_iter()
            .filter(|a| a.status == AgentStatus::Active && a.supervisor.as_ref() == Some(id))
            .map(|a| a.id)
            .collect();
        let (retired, changes) = agent::decide_retire(
            &current,
            &open,
            &reports,
            &polis.settings.policy,
            &caller,
            polis.now(),
        )?;
        if polis.commit(changes, attempts).await?.is_some() {
            return Ok(retired);
        }
    }
}
