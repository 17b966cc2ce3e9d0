//! Operation that registers an agent, including the workspace of a team head.

use polis_core::Agent;
use polis_core::agent::{self, AgentAddContext, AgentAddParams};
use polis_core::workspace::workspace_record::WorkspaceBinding;

use crate::error::OpError;
use crate::op::workspace::bind_workspace::load_binding;
use crate::request::{AttemptFuture, Request};

/// Registers an agent. The head of a team gets its workspace in the same commit, bound to a directory if
/// `workspace_path` is given. Fails if the request is not permitted or invalid, or the directory cannot be
/// bound.
pub async fn add_agent(request: &Request, params: &AgentAddParams) -> Result<Agent, OpError> {
    let caller = &request.resolve_caller().await?;
    let decide = || -> AttemptFuture<'_, _> {
        Box::pin(async move {
            let existing = request.app.store.agents().await?;
            let supervisor = match &params.supervisor {
                Some(id) => request.registry_entry(id).await?,
                None => None,
            };
            let settings = &request.app.settings;
            let decide = |binding: Option<&WorkspaceBinding>| {
                let context = AgentAddContext {
                    agents: &existing,
                    supervisor: supervisor.as_ref(),
                    binding,
                };
                let (roles, policy) = (&settings.roles, &settings.policy);
                agent::decide_add_agent(params, context, roles, policy, caller, request.app.now())
            };
            let decided = decide(None)?;
            let Some(directory) = &params.workspace_path else {
                return Ok(decided);
            };
            let resolved = request.app.files.resolve(directory).await?;
            let mut binding = load_binding(&request.app, resolved).await?;
            // No directory is created for a request that is refused.
            decide(Some(&binding))?;
            binding.directory = request.app.files.bind(directory).await?;
            Ok(decide(Some(&binding))?)
        })
    };
    request.retry_on_conflict(decide, |agent, _| agent).await
}
