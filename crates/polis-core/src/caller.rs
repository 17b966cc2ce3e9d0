//! Identity of the caller that an operation runs as.
//!
//! A surface resolves the caller (from `--as`, a token or a session) before it calls an operation. The caller
//! is never an argument of the request itself.

use crate::agent::{Agent, AgentStatus};
use crate::id::AgentId;
use crate::refusal::{Code, Refusal};
use crate::role::role_of_name;
use crate::society::RunId;

/// How a caller is known to the registry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The person who owns the directory: allowed to do everything, audited.
    Human,
    /// An agent in the registry.
    Registered,
    /// A name that is not in the registry. Its role is derived from the name.
    Unregistered,
}

/// The agent or person that an operation runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Its id, as used in `owner` and in the log.
    pub id: AgentId,
    /// Its role.
    pub role: String,
    /// How it is known to the registry.
    pub standing: Standing,
    /// The run of the society it works for, if any.
    pub run: Option<RunId>,
}

impl Caller {
    /// Resolves a name against its registry entry, if it has one. Fails with `permission_denied` if the agent
    /// is retired.
    pub fn resolve(id: AgentId, entry: Option<&Agent>) -> Result<Self, Refusal> {
        if id.as_str() == AgentId::USER {
            return Ok(Self {
                role: AgentId::USER.to_owned(),
                id,
                standing: Standing::Human,
                run: None,
            });
        }
        match entry {
            Some(agent) if agent.status == AgentStatus::Retired => Err(Refusal::new(
                Code::PermissionDenied,
                format!("Permission denied: agent \"{id}\" is retired and may not act any more."),
                "register a new agent with `polis agent add`; a retired name is not given out again",
            )),
            Some(agent) => Ok(Self {
                role: agent.role.clone(),
                id,
                standing: Standing::Registered,
                run: agent.run.clone(),
            }),
            None => Ok(Self {
                role: role_of_name(id.as_str()).to_owned(),
                id,
                standing: Standing::Unregistered,
                run: None,
            }),
        }
    }
}
