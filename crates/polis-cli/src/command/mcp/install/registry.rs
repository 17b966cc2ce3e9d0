//! Registers the agent that an installed server acts as; checks an existing one against the requested role.

use polis_core::agent::{Agent, AgentAdd, AgentStatus};
use polis_core::role::role_of_name;
use polis_core::{AgentId, Code, Refusal, RoleSet};
use polis_ops::op;

use crate::cli::Globals;
use crate::context::Context;
use crate::error::Failure;

/// Role of a new agent whose name does not imply one.
const DEFAULT_ROLE: &str = "backend-leader";

/// Registers the agent if it is new. An existing agent must match the request.
pub(super) fn register(
    globals: &Globals,
    id: &AgentId,
    role: Option<&str>,
) -> Result<(Agent, bool), Failure> {
    let context = Context::open(globals)?;
    let polis = &context.polis;
    let known = match context.run(op::show_agent(polis, id)) {
        Ok(agent) => agent,
        Err(error) if error.code() == Code::AgentNotFound => {
            let roles = &polis.settings.roles;
            let params = AgentAdd {
                id: id.clone(),
                name: None,
                role: role.unwrap_or_else(|| default_role(id, roles)).to_owned(),
                layer: None,
                supervisor: None,
                workspace_path: None,
            };
            match context.run(op::add_agent(polis, &context.agent, &params)) {
                Ok(agent) => return Ok((agent, true)),
                // A concurrent registration won, with this name or one that differs only by case.
                Err(error) if error.code() == Code::AgentExists => {
                    context.run(op::show_agent(polis, id)).map_err(|_| error)?
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(error) => return Err(error.into()),
    };
    let refuse = |why: String, hint: &str| Err(Refusal::new(Code::AgentExists, why, hint).into());
    if known.status == AgentStatus::Retired {
        return refuse(
            format!("Agent \"{id}\" is retired, and its name is not given out again."),
            "choose another id with --agent",
        );
    }
    match role {
        Some(role) if role != known.role => refuse(
            format!("Agent \"{id}\" is registered as {}.", known.role),
            "leave --role out, or choose another id with --agent",
        ),
        _ => Ok((known, false)),
    }
}

/// Returns the role that an agent's name implies, or the default role.
fn default_role<'a>(id: &'a AgentId, roles: &RoleSet) -> &'a str {
    let role = role_of_name(id.as_str());
    if roles.contains(role) {
        role
    } else {
        DEFAULT_ROLE
    }
}
