//! Whose workspace is where: how an agent finds the one it works in, and how one is bound to a
//! directory. Making directories and resolving paths is a port's.

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
    /// One more with every write.
    pub revision: u64,
}

/// The way up from an agent to the first above it that has a workspace. Ends at `root`, at the
/// person, and where the registry goes in a circle; whether somebody on the way is retired does not
/// matter.
#[derive(Debug)]
pub struct Climb {
    here: Option<AgentId>,
    seen: BTreeSet<AgentId>,
}

impl Climb {
    /// Begins with the agent itself.
    pub fn from(agent: &AgentId) -> Self {
        let mut climb = Self {
            here: None,
            seen: BTreeSet::new(),
        };
        climb.up(Some(agent));
        climb
    }

    /// Whose workspace to look for; `None` when nobody is left.
    pub fn here(&self) -> Option<&AgentId> {
        self.here.as_ref()
    }

    /// Goes on to the one above.
    pub fn up(&mut self, supervisor: Option<&AgentId>) {
        let above = supervisor.filter(|id| !AgentId::FIXED.contains(&id.as_str()));
        self.here = above.filter(|id| self.seen.insert((*id).clone())).cloned();
    }
}

/// The workspace an agent works in: its own, or that of the first above it that has one.
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

/// The refusal for an agent that has no workspace, and nobody above it has one.
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

/// Refuses to act in a workspace that the caller does not work in itself; the person may in any.
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

/// A directory that a workspace is to be bound to, and what that is decided on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Binding {
    /// The directory, canonical and absolute.
    pub directory: String,
    /// All workspaces there are.
    pub workspaces: Vec<Workspace>,
    /// The revision of [`Fence::Workspaces`] that was read before them.
    pub fence: u64,
}

impl Binding {
    fn check(&self, owner: &AgentId) -> Result<(), Refusal> {
        self.check_for(Some(owner))
    }

    /// Refuses a directory that is another's, or inside of it, or around it. Compared part by
    /// part: `/a/bc` is not inside of `/a/b`.
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

    /// The write that conflicts with every other binding decided at the same time.
    pub fn touch(&self) -> Write {
        Write::TouchFence {
            fence: Fence::Workspaces,
            expected: self.fence,
        }
    }
}

/// What the log tells of a workspace. The directory is left out: everybody reads the log.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    workspace_id: &'a AgentId,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    bound: bool,
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    moved: bool,
}

/// Adds what the registration of an agent does about workspaces: the head of a team gets one.
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

/// The refusal to bind a workspace for an agent that works in another's.
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

/// What a binding is asked of.
#[derive(Debug, Clone, Copy)]
pub struct Target<'a> {
    /// The agent whose workspace is meant.
    pub agent: &'a Agent,
    /// Its workspace, if it has one.
    pub current: Option<&'a AssignedWorkspace>,
    /// Whether the directory of that workspace is there already.
    pub exists: bool,
    /// Whether it may be left behind.
    pub force: bool,
}

/// Refuses a caller that may not bind this agent's workspace. The agent itself may: on the command
/// line whoever types a directory of this machine has its user's rights already, and other surfaces
/// do not offer it.
pub fn check_bind(agent: &Agent, policy: &Policy, caller: &Caller) -> Result<(), Refusal> {
    if !agent.is_child_of_root() {
        return Err(not_a_head(agent));
    }
    if caller.id == agent.id {
        return Ok(());
    }
    policy.check(caller, Permission::ManageAgents)
}

/// Decides a binding. What is in a directory left behind stays there.
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
