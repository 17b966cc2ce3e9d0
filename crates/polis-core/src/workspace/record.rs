//! Workspace records: finding an agent's workspace, and binding a workspace to a directory.
//!
//! Creating directories and resolving paths belong to a port.

use std::collections::BTreeSet;
use std::path::Path;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::caller::{Caller, Standing};
use crate::changeset::{Changeset, Expect, Fence, Write};
use crate::event::{NewEvent, Subject, kind};
use crate::id::AgentId;
use crate::permission::{Permission, Policy};
use crate::refusal::{Code, Refusal};
use crate::time::Timestamp;

/// A workspace, as the store keeps it. Its id is that of the agent it belongs to, a direct child of
/// `root`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Workspace {
    /// The agent it belongs to.
    pub workspace_id: AgentId,
    /// The directory it is bound to, canonical and absolute; without one it is
    /// `{dataDir}/workspaces/{workspaceId}`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_path: Option<String>,
    /// When it was assigned.
    pub created_at: Timestamp,
}

/// A workspace with the revision it was read at.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AssignedWorkspace {
    /// The workspace.
    pub workspace: Workspace,
    /// Incremented by every write.
    pub revision: u64,
}

/// Walk from an agent up to the first ancestor that has a workspace. It ends at `root`, at the person, and at a
/// cycle in the registry. Retired agents on the path make no difference.
#[derive(Debug)]
pub struct Climb {
    here: Option<AgentId>,
    seen: BTreeSet<AgentId>,
}

impl Climb {
    /// Starts with the agent itself.
    pub fn from(agent: &AgentId) -> Self {
        let mut climb = Self {
            here: None,
            seen: BTreeSet::new(),
        };
        climb.up(Some(agent));
        climb
    }

    /// Returns the agent whose workspace to look up; `None` at the end of the walk.
    pub fn here(&self) -> Option<&AgentId> {
        self.here.as_ref()
    }

    /// Moves on to the supervisor.
    pub fn up(&mut self, supervisor: Option<&AgentId>) {
        let above = supervisor.filter(|id| !AgentId::FIXED.contains(&id.as_str()));
        self.here = above.filter(|id| self.seen.insert((*id).clone())).cloned();
    }
}

/// Returns the owner of the workspace an agent works in: itself, or the nearest ancestor that has one.
pub fn find<'a>(
    agent: &AgentId,
    supervisor_of: impl Fn(&AgentId) -> Option<&'a AgentId>,
    has_workspace: impl Fn(&AgentId) -> bool,
) -> Option<AgentId> {
    let mut climb = Climb::from(agent);
    loop {
        let here = climb.here()?.clone();
        if has_workspace(&here) {
            return Some(here);
        }
        climb.up(supervisor_of(&here));
    }
}

/// Returns the refusal for an agent without a workspace, of its own or of an ancestor.
pub fn not_assigned(agent: &AgentId, registered: bool) -> Refusal {
    let (message, hint) = if agent.as_str() == AgentId::USER {
        (
            "The person has no workspace of its own.".to_owned(),
            "name an agent whose workspace you mean with `--of AGENT`; `polis ws list` shows them"
                .to_owned(),
        )
    } else if AgentId::FIXED.contains(&agent.as_str()) {
        (
            format!("\"{agent}\" is not an agent of the registry and has no workspace."),
            "act as an agent that has one; `polis ws list` shows them".to_owned(),
        )
    } else if registered {
        (
            format!("\"{agent}\" has no workspace, and neither has anybody above it."),
            "have one bound: `polis ws bind DIR --of AGENT`, for the head of its team".to_owned(),
        )
    } else {
        (
            format!("\"{agent}\" is not registered, so it has no workspace."),
            format!(
                "register it with `polis agent add {agent} --role ROLE`, or check the spelling with `polis agent list`"
            ),
        )
    };
    Refusal::new(Code::WorkspaceNotAssigned, message, hint)
}

/// Fails with `permission_denied` if the caller does not work in this workspace. The person may use any.
pub fn check_use(caller: &Caller, own: Option<&AgentId>, wanted: &AgentId) -> Result<(), Refusal> {
    if caller.standing == Standing::Human || own == Some(wanted) {
        return Ok(());
    }
    Err(Refusal::new(
        Code::PermissionDenied,
        format!(
            "Permission denied: \"{}\" does not work in the workspace of \"{wanted}\".",
            caller.id
        ),
        "leave --of out to act in your own workspace",
    ))
}

/// A directory to bind a workspace to, and the state that this is decided on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The directory, canonical and absolute.
    pub directory: String,
    /// All workspaces.
    pub workspaces: Vec<Workspace>,
    /// The revision of [`Fence::Workspaces`], read before them.
    pub fence: u64,
}

impl Binding {
    fn check(&self, owner: &AgentId) -> Result<(), Refusal> {
        self.check_for(Some(owner))
    }

    /// Fails with `workspace_overlaps` if the directory is another workspace's, or inside or above it. Paths
    /// are compared by component: `/a/bc` is not inside `/a/b`.
    pub fn check_for(&self, owner: Option<&AgentId>) -> Result<(), Refusal> {
        let others = self
            .workspaces
            .iter()
            .filter(|other| Some(&other.workspace_id) != owner);
        for other in others {
            let Some(theirs) = &other.workspace_path else {
                continue;
            };
            let (ours, theirs) = (Path::new(&self.directory), Path::new(theirs));
            let how = if ours == theirs {
                "is"
            } else if ours.starts_with(theirs) {
                "is inside of"
            } else if theirs.starts_with(ours) {
                "is around"
            } else {
                continue;
            };
            return Err(Refusal::new(
                Code::WorkspaceOverlaps,
                format!(
                    "The directory {how} the workspace of \"{}\".",
                    other.workspace_id
                ),
                "choose a directory that is apart from all others; `polis ws list` shows them",
            ));
        }
        Ok(())
    }

    /// Returns the write that conflicts with every concurrent binding.
    pub fn touch(&self) -> Write {
        Write::TouchFence {
            fence: Fence::Workspaces,
            expected: self.fence,
        }
    }
}

/// Data of workspace events. It does not contain the directory, because other agents can read the log.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    workspace_id: &'a AgentId,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bound: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    moved: bool,
}

/// Adds the workspace writes of an agent's registration: a team head gets a workspace.
pub(crate) fn assign(
    agent: &Agent,
    binding: Option<&Binding>,
    changes: Changeset,
) -> Result<Changeset, Refusal> {
    if !agent.is_child_of_root() {
        return if binding.is_none() {
            Ok(changes)
        } else {
            Err(not_a_head(agent))
        };
    }
    let mut changes = changes
        .write(Write::PutWorkspace {
            expect: Expect::Absent,
            workspace: Workspace {
                workspace_id: agent.id.clone(),
                workspace_path: binding.map(|binding| binding.directory.clone()),
                created_at: agent.created_at.clone(),
            },
        })
        .event(NewEvent::of(
            kind::WORKSPACE_ASSIGNED,
            Subject::Workspace(agent.id.clone()),
            &Told {
                workspace_id: &agent.id,
                bound: binding.is_some(),
                moved: false,
            },
        ));
    if let Some(binding) = binding {
        binding.check(&agent.id)?;
        changes.writes.push(binding.touch());
    }
    Ok(changes)
}

/// Returns the refusal to bind a workspace for an agent that works in an ancestor's.
fn not_a_head(agent: &Agent) -> Refusal {
    let above = agent.supervisor.as_ref();
    Refusal::new(
        Code::InvalidWorkspace,
        format!(
            "\"{}\" is not a direct child of root: it works in the workspace of those above it.",
            agent.id
        ),
        format!(
            "bind the workspace of the head of its team instead{}",
            above.map_or_else(String::new, |id| format!(
                "; it reports to \"{id}\", `polis agent tree` shows the rest"
            ))
        ),
    )
}

/// The workspace that a binding applies to.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The agent that owns the workspace.
    pub agent: &'a Agent,
    /// Its workspace, if it has one.
    pub current: Option<&'a AssignedWorkspace>,
    /// Whether the directory of that workspace exists.
    pub exists: bool,
    /// Whether that directory may be abandoned.
    pub force: bool,
}

/// Fails with `permission_denied` if the caller may not bind this agent's workspace. The agent itself may: on
/// the command line, a user who types a directory of this machine already has the rights to it, and other
/// surfaces do not offer this operation.
pub fn check_bind(agent: &Agent, policy: &Policy, caller: &Caller) -> Result<(), Refusal> {
    if !agent.is_child_of_root() {
        return Err(not_a_head(agent));
    }
    if caller.id == agent.id {
        return Ok(());
    }
    policy.check(caller, Permission::ManageAgents)
}

/// Decides a binding. The content of an abandoned directory is kept.
pub fn decide_bind(
    target: Target<'_>,
    binding: &Binding,
    policy: &Policy,
    caller: &Caller,
    now: Timestamp,
) -> Result<(Workspace, Changeset), Refusal> {
    let agent = target.agent;
    check_bind(agent, policy, caller)?;
    let current = target.current.map(|found| &found.workspace);
    let bound = current.and_then(|workspace| workspace.workspace_path.as_deref());
    if let Some(workspace) = current.filter(|_| bound == Some(binding.directory.as_str())) {
        return Ok((workspace.clone(), Changeset::by(caller, now)));
    }
    if !target.force && (bound.is_some() || target.exists) {
        return Err(Refusal::new(
            Code::WorkspaceExists,
            if bound.is_some() {
                format!(
                    "The workspace of \"{}\" is bound to another directory.",
                    agent.id
                )
            } else {
                format!("The workspace of \"{}\" is in use already.", agent.id)
            },
            "repeat with --force to leave what is there behind; move the files yourself if they are wanted",
        ));
    }
    binding.check(&agent.id)?;
    let workspace = Workspace {
        workspace_id: agent.id.clone(),
        workspace_path: Some(binding.directory.clone()),
        created_at: current.map_or_else(|| now.clone(), |w| w.created_at.clone()),
    };
    let changes = Changeset::by(caller, now)
        .write(Write::PutWorkspace {
            expect: target
                .current
                .map_or(Expect::Absent, |found| Expect::Revision(found.revision)),
            workspace: workspace.clone(),
        })
        .write(binding.touch())
        .event(NewEvent::of(
            kind::WORKSPACE_BOUND,
            Subject::Workspace(agent.id.clone()),
            &Told {
                workspace_id: &agent.id,
                bound: true,
                moved: bound.is_some() || target.exists,
            },
        ));
    Ok((workspace, changes))
}

#[cfg(test)]
mod tests;
