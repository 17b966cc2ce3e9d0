//! Operation that binds a workspace to a directory of this machine.
//!
//! Only the command line offers it: a person who types a directory there already has the rights of the local
//! user. Surfaces that are reachable over a network do not offer it.

use polis_core::changeset::Fence;
use polis_core::workspace::workspace_record::{
    self, AssignedWorkspace, WorkspaceBindTarget, WorkspaceBinding,
};
use polis_core::{AgentId, CallerKind};

use crate::app::App;
use crate::error::OpError;
use crate::loading::workspace_resolution::workspace_location;
use crate::op::workspace::list_workspaces::{WorkspaceEntry, workspace_entry};
use crate::port::WorkspaceLocation;
use crate::request::{AttemptFuture, Request};

/// Parameters of [`bind_workspace`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceBindParams {
    /// The directory; created if it does not exist.
    pub directory: String,
    /// The agent whose workspace is bound; the caller if `None`.
    pub owner: Option<AgentId>,
    /// Whether the workspace may be moved away from a directory that is already in use.
    pub force: bool,
}

/// Binds the workspace of an agent directly below `root` to a directory. Fails if the caller may not bind it,
/// it is in use and `force` is not set, or the directory cannot be used.
pub async fn bind_workspace(
    request: &Request,
    params: &WorkspaceBindParams,
) -> Result<WorkspaceEntry, OpError> {
    let owner = params.owner.as_ref().unwrap_or(request.agent());
    let caller = &request.resolve_caller().await?;
    let decide = || -> AttemptFuture<'_, _> {
        Box::pin(async move {
            let agent = request.registry_entry(owner).await?;
            let agent = agent
                .ok_or_else(|| workspace_record::workspace_not_assigned(owner, false))?
                .agent;
            let policy = &request.app.settings.policy;
            workspace_record::check_may_bind(&agent, policy, caller)?;
            // Read the fence first: everything read after it is at least as new.
            let resolved = request.app.files.resolve(&params.directory).await?;
            let mut binding = load_binding(&request.app, resolved).await?;
            let current = request.app.store.workspace(owner).await?;
            let target = WorkspaceBindTarget {
                agent: &agent,
                exists: is_workspace_in_use(&request.app, owner, current.as_ref()).await?,
                current: current.as_ref(),
                force: params.force,
            };
            // No directory is created for a request that is refused.
            workspace_record::decide_bind_workspace(
                target,
                &binding,
                policy,
                caller,
                request.app.now(),
            )?;
            binding.directory = request.app.files.bind(&params.directory).await?;
            let decided = workspace_record::decide_bind_workspace(
                target,
                &binding,
                policy,
                caller,
                request.app.now(),
            )?;
            Ok(decided)
        })
    };
    let workspace = request
        .retry_on_conflict(decide, |workspace, _| workspace)
        .await?;
    Ok(workspace_entry(&request.app, workspace, caller.kind == CallerKind::Person).await)
}

/// Returns a directory to bind, together with all existing workspaces. Fails only if the store does.
pub(crate) async fn load_binding(
    app: &App,
    directory: String,
) -> Result<WorkspaceBinding, OpError> {
    let fence = app.store.fence_revision(Fence::Workspaces).await?;
    Ok(WorkspaceBinding {
        directory,
        workspaces: app.store.workspaces().await?,
        fence,
    })
}

/// Returns whether the directory of an agent's workspace exists.
async fn is_workspace_in_use(
    app: &App,
    agent: &AgentId,
    current: Option<&AssignedWorkspace>,
) -> Result<bool, OpError> {
    let location = current.map_or_else(
        || WorkspaceLocation {
            owner: agent.clone(),
            bound_directory: None,
        },
        workspace_location,
    );
    Ok(app.files.exists(&location).await?)
}
