//! Operation that binds a workspace to a directory of this machine.
//!
//! Only the command line offers it: a person who types a directory there already has the rights of the local user.
//! Surfaces that are reachable over a network do not offer it.

use polis_core::changeset::Fence;
use polis_core::workspace::record::{self, AssignedWorkspace, Binding, Target};
use polis_core::{AgentId, Standing};

use super::list_workspaces::{WorkspaceEntry, entry};
use super::workspace_resolution::site_of;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::Site;

/// Parameters of [`bind_workspace`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceBind {
    /// The directory; created if it does not exist.
    pub directory: String,
    /// The agent whose workspace is bound; the caller if `None`.
    pub of: Option<AgentId>,
    /// Whether the workspace may be moved away from a directory that is already in use.
    pub force: bool,
}

/// Binds the workspace of a direct child of `root` to a directory.
pub async fn bind_workspace(
    polis: &Polis,
    caller: &AgentId,
    params: &WorkspaceBind,
) -> Result<WorkspaceEntry, OpError> {
    let of = params.of.as_ref().unwrap_or(caller);
    let caller = &polis.caller(caller).await?;
    let decide = || -> Attempt<'_, _> {
        Box::pin(async move {
            let agent = polis.entry(of).await?;
            let agent = agent.ok_or_else(|| record::not_assigned(of, false))?.agent;
            let policy = &polis.settings.policy;
            record::check_bind(&agent, policy, caller)?;
            // Read the fence first: everything read after it is at least as new.
            let resolved = polis.files.resolve(&params.directory).await?;
            let mut binding = polis.binding(resolved).await?;
            let current = polis.store.workspace(of).await?;
            let target = Target {
                agent: &agent,
                exists: polis.in_use(of, current.as_ref()).await?,
                current: current.as_ref(),
                force: params.force,
            };
            // No directory is created for a request that is refused.
            record::decide_bind(target, &binding, policy, caller, polis.now())?;
            binding.directory = polis.files.bind(&params.directory).await?;
            let decided = record::decide_bind(target, &binding, policy, caller, polis.now())?;
            Ok(decided)
        })
    };
    let workspace = polis.settle(decide, |workspace, _| workspace).await?;
    Ok(entry(polis, workspace, caller.standing == Standing::Human).await)
}

impl Polis {
    /// Returns a directory to bind, together with all existing workspaces.
    pub(super) async fn binding(&self, directory: String) -> Result<Binding, OpError> {
        let fence = self.store.fence(Fence::Workspaces).await?;
        Ok(Binding {
            directory,
            workspaces: self.store.workspaces().await?,
            fence,
        })
    }

    /// Returns whether an agent's workspace already has a directory.
    async fn in_use(
        &self,
        agent: &AgentId,
        current: Option<&AssignedWorkspace>,
    ) -> Result<bool, OpError> {
        let site = current.map_or_else(
            || Site {
                workspace: agent.clone(),
                bound: None,
            },
            site_of,
        );
        Ok(self.files.exists(&site).await?)
    }
}
