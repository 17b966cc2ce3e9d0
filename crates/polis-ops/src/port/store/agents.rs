//! Store port [`AgentReader`]: reads the agent registry.

use polis_core::society::RunId;
use polis_core::{Agent, AgentId, RegisteredAgent};

use crate::port::PortFuture;

/// Read access to the registry.
pub trait AgentReader {
    /// Returns a registered agent.
    fn agent<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<RegisteredAgent>>;

    /// Returns all agents, including retired ones, ordered by id.
    fn agents(&self) -> PortFuture<'_, Vec<Agent>>;

    /// Returns the agents with these names that exist, ordered by id, without duplicates.
    fn agents_by_id<'a>(&'a self, ids: &'a [AgentId]) -> PortFuture<'a, Vec<Agent>>;

    /// Returns the agents that were hired for this run, or without a run for `None`; optionally only of one
    /// role. Includes retired ones, ordered by id. The cost depends only on the number of such agents, not on
    /// the number of others.
    fn agents_of_run<'a>(
        &'a self,
        run: Option<&'a RunId>,
        role: Option<&'a str>,
    ) -> PortFuture<'a, Vec<Agent>>;
}
