//! Reading the registry of agents.

use polis_core::{Agent, AgentId, Registered};

use super::PortFuture;

/// The registry.
pub trait Agents {
    /// An agent of the registry.
    fn agent<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<Registered>>;

    /// All agents, retired ones too, by id.
    fn agents(&self) -> PortFuture<'_, Vec<Agent>>;
}
