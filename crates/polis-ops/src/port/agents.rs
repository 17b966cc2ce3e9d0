//! Reading the registry of agents.

use polis_core::society::RunId;
use polis_core::{Agent, AgentId, Registered};

use super::PortFuture;

/// The registry.
pub trait Agents {
    /// An agent of the registry.
    fn agent<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<Registered>>;

    /// All agents, retired ones too, by id.
    fn agents(&self) -> PortFuture<'_, Vec<Agent>>;

    /// Those of these names that there are, by id, each once.
    fn named<'a>(&'a self, ids: &'a [AgentId]) -> PortFuture<'a, Vec<Agent>>;

    /// The agents that were hired for this run, or for none; of all roles or of this one. Retired ones
    /// too, by id. Takes as long as there are such agents, however many others there are.
    fn agents_of_run<'a>(
        &'a self,
        run: Option<&'a RunId>,
        role: Option<&'a str>,
    ) -> PortFuture<'a, Vec<Agent>>;
}
