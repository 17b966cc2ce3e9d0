//! Store port [`WorkspaceReader`]: reads which agent's workspace is bound to which directory.

use polis_core::AgentId;
use polis_core::workspace::workspace_record::{AssignedWorkspace, Workspace};

use crate::port::PortFuture;

/// Read access to workspace records; their files are accessed through
/// [`WorkspaceFileAccess`](crate::port::WorkspaceFileAccess).
pub trait WorkspaceReader {
    /// Returns an agent's own workspace, if it has one.
    fn workspace<'a>(&'a self, id: &'a AgentId) -> PortFuture<'a, Option<AssignedWorkspace>>;

    /// Returns all workspaces, ordered by id.
    fn workspaces(&self) -> PortFuture<'_, Vec<Workspace>>;
}
