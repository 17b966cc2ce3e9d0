//! The caller: the authenticated agent or person that an operation runs as.
//!
//! A surface determines the id of the agent (from `--as`, a token or a session). The operation resolves it to a
//! [`Caller`], with the role of its registry entry, before it applies any rule. The caller is never an argument of the
//! request itself.

use crate::agent::{Agent, AgentStatus};
use crate::id::AgentId;
use crate::refusal::{AgentRefusal, Refusal};
use crate::role::role_from_name;
use crate::society::RunId;

/// Kind of caller: the person, or an agent that is registered or not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CallerKind {
    /// The person who owns the directory: may do everything; changes are logged like those of agents.
    Person,
    /// An agent in the registry.
    Registered,
    /// A name that is not in the registry. Its role is derived from the name.
    Unregistered,
}

/// The agent or person that an operation runs as.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Caller {
    /// Id, as used in `owner` and in the log.
    pub id: AgentId,
    /// Role of the caller: that of the registry entry, or derived from the name.
    pub role: String,
    /// Whether it is the person, a registered or an unregistered agent.
    pub kind: CallerKind,
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
                kind: CallerKind::Person,
                run: None,
            });
        }
        match entry {
            Some(agent) if agent.status == AgentStatus::Retired => {
                Err(Refusal::from(AgentRefusal::RetiredCaller { id }))
            }
            Some(agent) => Ok(Self {
                role: agent.role.clone(),
                id,
                kind: CallerKind::Registered,
                run: agent.run.clone(),
            }),
            None => Ok(Self {
                role: role_from_name(id.as_str()).to_owned(),
                id,
                kind: CallerKind::Unregistered,
                run: None,
            }),
        }
    }
}
