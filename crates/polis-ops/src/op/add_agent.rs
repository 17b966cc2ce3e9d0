//! Registering an agent.

use polis_core::agent::{self, AgentAdd};
use polis_core::{Agent, AgentId};

use crate::error::OpError;
use crate::polis::Polis;

/// Registers an agent.
pub async fn add_agent(
    polis: &Polis,
    caller: &AgentId,
    params: &AgentAdd,
) -> Result<Agent, OpError> {
    let caller = polis.caller(caller).await?;
    let attempts = polis.attempts();
    loop {
        let existing = polis.entry(&params.id).await?;
        let supervisor = match &params.supervisor {
            Some(id) => polis.entry(id).await?,
            None => None,
        };
        let settings = &polis.settings;
        let (agent, changes) = agent::decide_add(
            params,
            existing.as_ref().map(|found| &found.agent),
            supervisor.as_ref(),
            &settings.roles,
            &settings.policy,
            &caller,
            polis.now(),
        )?;
        if polis.commit(changes, attempts).await?.is_some() {
            return Ok(agent);
        }
    }
}
