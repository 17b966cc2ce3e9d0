//! Store port that reads the workspace records: which agent's workspace is bound to which directory.

use polis_core::AgentId;
use polis_core::workspace::record::{AssignedWorkspace, Workspace};

use super::PortFuture;

/// Read access to workspace records; their files are accessed through [`Files`](super::Files).
pub trait Workspaces {
    /// Returns an agent's own workspace, if it has one.
    fn workspace<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<AssignedWorkspace>>;

    /// Returns all workspaces, ordered by id.
    fn workspaces(&self) -> PortFuture<'_, Vec<Workspace>>;
}
