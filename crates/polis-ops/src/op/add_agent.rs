//! Operation that registers an agent, including the workspace of a team head.

use polis_core::agent::{self, AgentAdd, Known};
use polis_core::workspace::record::Binding;
use polis_core::{Agent, AgentId};

use crate::error::OpError;
use crate::polis::{Attempt, Polis};

/// Registers an agent. The head of a team gets its workspace in the same commit, bound to a directory if
/// `workspace_path` is given.
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
            let decide = |binding: Option<&Binding>| {
                let known = Known {
                    agents: &existing,
                    supervisor: supervisor.as_ref(),
                    binding,
                };
                let (roles, policy) = (&settings.roles, &settings.policy);
                agent::decide_add(params, known, roles, policy, caller, polis.now())
            };
            let decided = decide(None)?;
            let Some(directory) = &params.workspace_path else {
                return Ok(decided);
            };
            let resolved = polis.files.resolve(directory).await?;
            let mut binding = polis.binding(resolved).await?;
            // No directory is created for a request that is refused.
            decide(Some(&binding))?;
            binding.directory = polis.files.bind(directory).await?;
            Ok(decide(Some(&binding))?)
        })
    };
    polis.settle(decide, |agent, _| agent).await
}
