//! Reading whose workspace is where.

use polis_core::AgentId;
use polis_core::workspace::record::{AssignedWorkspace, Workspace};

use super::PortFuture;

/// The records of workspaces; their files are [`Files`](super::Files).
pub trait Workspaces {
    /// An agent's own workspace, if it has one.
    fn workspace<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<AssignedWorkspace>>;

    /// All workspaces, by id.
    fn workspaces(&self) -> PortFuture<'_, Vec<Workspace>>;
}
