//! Who is asking. An operation runs as a caller; it is never an argument of the call.

use crate::agent::{Agent, AgentStatus};
use crate::id::AgentId;
use crate::refusal::{Code, Refusal};
use crate::role::role_of_name;
use crate::society::RunId;

/// How the registry knows a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Standing {
    /// The person who owns the directory: may do everything, audited.
    Human,
    /// An agent of the registry.
    Registered,
    /// A name the registry does not know; its role is read off the name.
    Unregistered,
}

/// The one an operation runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Its name, as it stands in `owner` and in the log.
    pub id: AgentId,
    /// Its role.
    pub role: String,
    /// How the registry knows it.
    pub standing: Standing,
    /// The run of the society it works for, if it does.
    pub run: Option<RunId>,
}

impl Caller {
    /// Resolves a name against its registry entry, if it has one.
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
