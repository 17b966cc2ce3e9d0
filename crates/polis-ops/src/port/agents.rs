//! Reading the registry of agents.

use polis_core::{Agent, AgentId};

use super::PortFuture;

/// The registry.
pub trait Agents {
    /// An agent and its revision.
    fn agent<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<(Agent, u64)>>;

    /// All agents, retired ones too, by id.
    fn agents(&self) -> PortFuture<'_, Vec<Agent>>;
}
