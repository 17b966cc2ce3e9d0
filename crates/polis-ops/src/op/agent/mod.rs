//! Operations on the registry of agents and their sessions.

pub(crate) mod add_agent;
pub(crate) mod agent_sessions;
pub(crate) mod list_agents;
pub(crate) mod retire_agent;

pub use add_agent::add_agent;
pub use agent_sessions::{
    OpenSession, SESSION_RENEWAL_INTERVAL_MS, SESSION_TTL_MS, agent_of_numbered_session,
};
pub use list_agents::{AgentList, ListAgentsParams, list_agents, show_agent};
pub use retire_agent::{AgentIdParams, may_manage_agents, retire_agent};
