//! Workspace records: finds the workspace that an agent works in, its own or that of an agent above it, and
//! checks who may use a workspace and bind it to a directory.
//!
//! [`decide_bind_workspace`] refuses a directory that overlaps another workspace. Creating directories and
//! resolving paths is done by a port of `polis-ops`.

use std::collections::BTreeSet;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::caller::{Caller, CallerKind};
use crate::changeset::{Changeset, Fence, StoreWrite, WritePrecondition};
use crate::event::{EventPayload, EventSubject, NewEvent, WorkspaceBindingEvent};
use crate::id::AgentId;
use crate::permission::{Permission, PermissionPolicy};
use crate::refusal::{Refusal, WorkspaceRefusal};
use crate::timestamp::Timestamp;

/// A workspace, as stored. Its id is that of the agent that owns it, a direct child of `root`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workspace {
    /// The agent that owns it.
    pub workspace_id: AgentId,
    /// Directory it is bound to, canonical and absolute; `{dataDir}/workspaces/{workspaceId}` if absent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_path: Option<String>,
    /// When it was assigned.
    pub created_at: Timestamp,
}

/// A workspace with the revision it was read at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignedWorkspace {
    /// The workspace as stored.
    pub workspace: Workspace,
    /// Incremented by every write.
    pub revision: u64,
}

/// Walk from an agent up to the nearest agent that has a workspace. It ends at `root`, at the person, and at
/// a cycle in the registry. Retired agents on the path make no difference.
#[derive(Debug)]
pub struct AncestorWalk {
    current: Option<AgentId>,
    seen: BTreeSet<AgentId>,
}

impl AncestorWalk {
    /// Starts with the agent itself.
    pub fn new(agent: &AgentId) -> Self {
        let mut climb = Self {
            current: None,
            seen: BTreeSet::new(),
        };
        climb.move_up(Some(agent));
        climb
    }

    /// Returns the agent whose workspace to look up; `None` at the end of the walk.
    pub fn current(&self) -> Option<&AgentId> {
        self.current.as_ref()
    }

    /// Moves on to the supervisor.
    pub fn move_up(&mut self, supervisor: Option<&AgentId>) {
        let next = supervisor.filter(|id| !AgentId::RESERVED_NAMES.contains(&id.as_str()));
        self.current = next.filter(|id| self.seen.insert((*id).clone())).cloned();
    }
}

/// Returns the owner of the workspace an agent works in: itself, or the nearest agent above it that has one.
pub fn find_workspace_owner<'a>(
    agent: &AgentId,
    supervisor_of: impl Fn(&AgentId) -> Option<&'a AgentId>,
    has_workspace: impl Fn(&AgentId) -> bool,
) -> Option<AgentId> {
    let mut climb = AncestorWalk::new(agent);
    loop {
        let current = climb.current()?.clone();
        if has_workspace(&current) {
            return Some(current);
        }
        climb.move_up(supervisor_of(&current));
    }
}

/// Returns the refusal for an agent without a workspace, if no agent above it has one either.
pub fn workspace_not_assigned(agent: &AgentId, registered: bool) -> Refusal {
    let owner = agent.clone();
    if agent.as_str() == AgentId::USER {
        WorkspaceRefusal::PersonHasNone
    } else if AgentId::RESERVED_NAMES.contains(&agent.as_str()) {
        WorkspaceRefusal::NotInRegistry { agent: owner }
    } else if registered {
        WorkspaceRefusal::NotAssigned { agent: owner }
    } else {
        WorkspaceRefusal::OwnerNotRegistered { agent: owner }
    }
    .into()
}

/// Fails with `permission_denied` if the caller does not work in this workspace. The person may use all of
/// them.
pub fn check_workspace_use(
    caller: &Caller,
    own: Option<&AgentId>,
    requested: &AgentId,
) -> Result<(), Refusal> {
    if caller.kind == CallerKind::Person || own == Some(requested) {
        return Ok(());
    }
    Err(Refusal::from(WorkspaceRefusal::OtherWorkspace {
        agent: caller.id.clone(),
        requested: requested.clone(),
    }))
}

/// A directory to bind a workspace to, and the state that the binding is checked against.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WorkspaceBinding {
    /// The directory, canonical and absolute.
    pub directory: String,
    /// All workspaces of the project, for the check of overlaps.
    pub workspaces: Vec<Workspace>,
    /// The revision of [`Fence::Workspaces`], read before them.
    pub fence: u64,
}

impl WorkspaceBinding {
    fn check_no_overlap(&self, owner: &AgentId) -> Result<(), Refusal> {
        self.check_no_overlap_for(Some(owner))
    }

    /// Fails with `workspace_overlaps` if the directory is another workspace's, or inside or above it. Paths
    /// are compared by component: `/a/bc` is not inside `/a/b`.
    pub fn check_no_overlap_for(&self, owner: Option<&AgentId>) -> Result<(), Refusal> {
        let others = self
            .workspaces
            .iter()
            .filter(|other| Some(&other.workspace_id) != owner);
        for other in others {
            let Some(theirs) = &other.workspace_path else {
                continue;
            };
            let (ours, theirs) = (Path::new(&self.directory), Path::new(theirs));
            let relation = if ours == theirs {
                "same"
            } else if ours.starts_with(theirs) {
                "inside"
            } else if theirs.starts_with(ours) {
                "contains"
            } else {
                continue;
            };
            return Err(Refusal::from(WorkspaceRefusal::Overlaps {
                relation: relation.to_owned(),
                owner: other.workspace_id.clone(),
            }));
        }
        Ok(())
    }

    /// Returns the write that conflicts with every concurrent binding.
    pub fn touch_fence(&self) -> StoreWrite {
        StoreWrite::TouchFence {
            fence: Fence::Workspaces,
            expected: self.fence,
        }
    }
}

/// Adds the workspace writes of an agent's registration: a team head gets a workspace. Fails if `binding` is
/// given for an agent that does not get one, or overlaps another workspace.
pub(crate) fn assign_workspace(
    agent: &Agent,
    binding: Option<&WorkspaceBinding>,
    changes: Changeset,
) -> Result<Changeset, Refusal> {
    if !agent.is_child_of_root() {
        return if binding.is_none() {
            Ok(changes)
        } else {
            Err(not_a_team_head(agent))
        };
    }
    let mut changes = changes
        .with_write(StoreWrite::PutWorkspace {
            expect: WritePrecondition::Absent,
            workspace: Workspace {
                workspace_id: agent.id.clone(),
                workspace_path: binding.map(|binding| binding.directory.clone()),
                created_at: agent.created_at.clone(),
            },
        })
        .with_event(NewEvent::new(
            EventSubject::Workspace(agent.id.clone()),
            EventPayload::WorkspaceAssigned(WorkspaceBindingEvent {
                workspace_id: agent.id.clone(),
                bound: binding.is_some(),
                moved: false,
            }),
        ));
    if let Some(binding) = binding {
        binding.check_no_overlap(&agent.id)?;
        changes.writes.push(binding.touch_fence());
    }
    Ok(changes)
}

/// Returns the refusal to bind a workspace for an agent that works in that of an agent above it.
fn not_a_team_head(agent: &Agent) -> Refusal {
    let id = agent.id.clone();
    match agent.supervisor.clone() {
        None => WorkspaceRefusal::NotATeamHead { agent: id },
        Some(supervisor) => WorkspaceRefusal::NotATeamHeadBelow {
            agent: id,
            supervisor,
        },
    }
    .into()
}

/// The workspace that a binding applies to.
#[derive(Debug, Clone, Copy)]
pub struct WorkspaceBindTarget<'a> {
    /// The agent that owns the workspace.
    pub agent: &'a Agent,
    /// Its workspace, if it has one.
    pub current: Option<&'a AssignedWorkspace>,
    /// Whether the directory of that workspace exists.
    pub exists: bool,
    /// Whether that directory may be abandoned.
    pub force: bool,
}

/// Fails with `permission_denied` if the caller may not bind this agent's workspace. The agent itself is
/// allowed to: on the command line, a user who types a directory of this machine already has the rights to
/// it, and other surfaces do not offer this operation.
pub fn check_may_bind(
    agent: &Agent,
    policy: &PermissionPolicy,
    caller: &Caller,
) -> Result<(), Refusal> {
    if !agent.is_child_of_root() {
        return Err(not_a_team_head(agent));
    }
    if caller.id == agent.id {
        return Ok(());
    }
    policy.check(caller, Permission::ManageAgents)
}

/// Checks a binding and returns the workspace with the changeset. The content of an abandoned directory is
/// kept. Fails with `workspace_exists` if the workspace is in use and `force` is not set, and with
/// `workspace_overlaps`.
pub fn decide_bind_workspace(
    target: WorkspaceBindTarget<'_>,
    binding: &WorkspaceBinding,
    policy: &PermissionPolicy,
    caller: &Caller,
    now: Timestamp,
) -> Result<(Workspace, Changeset), Refusal> {
    let agent = target.agent;
    check_may_bind(agent, policy, caller)?;
    let current = target.current.map(|found| &found.workspace);
    let bound = current.and_then(|workspace| workspace.workspace_path.as_deref());
    if let Some(workspace) = current.filter(|_| bound == Some(binding.directory.as_str())) {
        return Ok((workspace.clone(), Changeset::new(caller, now)));
    }
    if !target.force && (bound.is_some() || target.exists) {
        let agent = agent.id.clone();
        let refusal = if bound.is_some() {
            WorkspaceRefusal::BoundElsewhere { agent }
        } else {
            WorkspaceRefusal::InUse { agent }
        };
        return Err(refusal.into());
    }
    binding.check_no_overlap(&agent.id)?;
    let workspace = Workspace {
        workspace_id: agent.id.clone(),
        workspace_path: Some(binding.directory.clone()),
        created_at: current.map_or_else(|| now.clone(), |w| w.created_at.clone()),
    };
    let changes = Changeset::new(caller, now)
        .with_write(StoreWrite::PutWorkspace {
            expect: target.current.map_or(WritePrecondition::Absent, |found| {
                WritePrecondition::Revision(found.revision)
            }),
            workspace: workspace.clone(),
        })
        .with_write(binding.touch_fence())
        .with_event(NewEvent::new(
            EventSubject::Workspace(agent.id.clone()),
            EventPayload::WorkspaceBound(WorkspaceBindingEvent {
                workspace_id: agent.id.clone(),
                bound: true,
                moved: bound.is_some() || target.exists,
            }),
        ));
    Ok((workspace, changes))
}

#[cfg(test)]
mod tests;
