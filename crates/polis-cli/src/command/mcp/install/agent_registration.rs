//! Registers the agent that an installed server acts as; checks an existing one against the requested role.

use polis_core::agent::{Agent, AgentAddParams, AgentStatus};
use polis_core::role::role_from_name;
use polis_core::{AgentId, RefusalCode, RoleSet};
use polis_ops::op;

use crate::cli::GlobalArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::refusal_tables::InstallRefusal;

/// Role of a new agent whose name does not imply one.
const DEFAULT_ROLE: &str = "backend-leader";

/// Registers the agent if it is new. Returns it, and whether it is new. Fails if an existing agent is retired
/// or has another role than the requested one.
pub(super) fn register_agent(
    globals: &GlobalArgs,
    id: &AgentId,
    role: Option<&str>,
) -> Result<(Agent, bool), CliError> {
    let context = CommandContext::open(globals)?;
    let app = &context.app;
    let existing = match context.block_on(op::show_agent(&app.person_request(), id)) {
        Ok(agent) => agent,
        Err(error) if error.code() == RefusalCode::AGENT_NOT_FOUND => {
            let roles = &app.settings.roles;
            let params = AgentAddParams {
                id: id.clone(),
                name: None,
                role: role.unwrap_or_else(|| default_role(id, roles)).to_owned(),
                layer: None,
                supervisor: None,
                workspace_path: None,
            };
            match context.block_on(op::add_agent(&app.request(&context.agent), &params)) {
                Ok(agent) => return Ok((agent, true)),
                // A concurrent registration won, with this name or one that differs only by case.
                Err(error) if error.code() == RefusalCode::AGENT_EXISTS => context
                    .block_on(op::show_agent(&app.person_request(), id))
                    .map_err(|_| error)?,
                Err(error) => return Err(error.into()),
            }
        }
        Err(error) => return Err(error.into()),
    };
    let agent = id.to_string();
    if existing.status == AgentStatus::Retired {
        return Err(InstallRefusal::AgentRetired { agent }.into());
    }
    match role {
        Some(role) if role != existing.role => Err(InstallRefusal::AgentRegisteredAs {
            agent,
            role: existing.role,
        }
        .into()),
        _ => Ok((existing, false)),
    }
}

/// Returns the role that an agent's name implies, or the default role.
fn default_role<'a>(id: &'a AgentId, roles: &RoleSet) -> &'a str {
    let role = role_from_name(id.as_str());
    if roles.contains(role) {
        role
    } else {
        DEFAULT_ROLE
    }
}
