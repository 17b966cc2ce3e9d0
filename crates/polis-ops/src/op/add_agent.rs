//! Registering an agent.

use polis_core::agent::{self, AgentAdd};
use polis_core::{Agent, AgentId};

use crate::error::OpError;
use crate::polis::{Attempt, Polis};

/// Registers an agent.
pub async fn add_agent(
    polis: &Polis,
    caller: &AgentId,
    params: &AgentAdd,
) -> Result<Agent, OpError> {
    let caller = &polis.caller(caller).await?;
    let decide = || -> Attempt<'_, _> {
        Box::pin(async move {
            let existing = polis.store.agents().await?;
            let supervisor = match &params.supervisor {
                Some(id) => polis.entry(id).await?,
                None => None,
            };
            let settings = &polis.settings;
            let decided = agent::decide_add(
                params,
                &existing,
                supervisor.as_ref(),
                &settings.roles,
                &settings.policy,
                caller,
                polis.now(),
            )?;
            Ok(decided)
        })
    };
    Ok(polis.settle(decide).await?.0)
}
