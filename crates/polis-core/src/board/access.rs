//! Access control (permissions) of boards: which agents may read, write and append to which board.
//!
//! [`check_access`] refuses what [`judge_access`] does not allow. The person may do everything. For
//! whiteboards, an agent's rights are derived from the registry: its layer, its role and the agents above it; an
//! unregistered agent only reads the global and the top board. A middle-layer agent reads the bottom boards of
//! the agents below it; the setting `mid_reads_all_bottom` lets the middle layer read all of them. All agents
//! read the blackboard; `[blackboard.writers]` in the configuration lists who may write which paths.

use std::collections::BTreeMap;

use super::blackboard_glob::BlackboardGlob;
use super::blackboard_path::BlackboardPath;
use super::board_name::BoardName;
use crate::agent::{Agent, AgentLayer};
use crate::caller::{Caller, CallerKind};
use crate::id::AgentId;
use crate::refusal::{AccessReason, BoardRefusal, Refusal};

/// Kind of access to a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoardAccess {
    /// Read the board.
    Read,
    /// Replace the board's text, or parts of it.
    Write,
    /// Append to the board.
    Append,
}

impl BoardAccess {
    /// Returns the name by which a message selects the verb.
    fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Append => "append",
        }
    }
}

/// Access settings of an installation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BoardAccessRules {
    /// Whether every middle-layer agent reads every bottom board.
    pub mid_reads_all_bottom: bool,
    /// Write permissions for the blackboard: a role or an agent, and its path patterns.
    pub blackboard_writers: BTreeMap<String, Vec<BlackboardGlob>>,
}

/// Result of an access check, with its reason.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AccessVerdict {
    /// Whether the access is allowed.
    pub allowed: bool,
    /// The reason: a sentence as data.
    pub reason: AccessReason,
}

impl AccessVerdict {
    fn allow(reason: AccessReason) -> Self {
        Self {
            allowed: true,
            reason,
        }
    }

    fn deny(reason: AccessReason) -> Self {
        Self {
            allowed: false,
            reason,
        }
    }

    fn allow_if(allowed: bool, allow_reason: AccessReason, deny_reason: AccessReason) -> Self {
        if allowed {
            Self::allow(allow_reason)
        } else {
            Self::deny(deny_reason)
        }
    }
}

/// Returns whether the access check needs the reporting tree, in addition to the caller's own registry entry.
pub fn needs_registry(access: BoardAccess, board: &BoardName) -> bool {
    access == BoardAccess::Read && matches!(board, BoardName::Mid(_) | BoardName::Bottom(_))
}

/// Returns whether access is allowed, and why. `agents` must contain at least the caller, and all of the
/// registry if [`needs_registry`] says so.
pub fn judge_access(
    access: BoardAccess,
    board: &BoardName,
    caller: &Caller,
    agents: &[Agent],
    rules: &BoardAccessRules,
) -> AccessVerdict {
    if caller.kind == CallerKind::Person {
        return AccessVerdict::allow(AccessReason::Person);
    }
    if let BoardName::Blackboard(path) = board {
        return judge_blackboard(access, path, caller, rules);
    }
    let registered = agents
        .iter()
        .find(|agent| agent.id == caller.id && caller.kind == CallerKind::Registered);
    match (access, board) {
        (BoardAccess::Read, BoardName::Global) => {
            AccessVerdict::allow(AccessReason::GlobalReadable)
        }
        (BoardAccess::Read, BoardName::Top) => AccessVerdict::allow(AccessReason::TopReadable),
        _ => match registered {
            Some(agent) => judge_by_layer(access, board, agent, agents, rules),
            None => AccessVerdict::deny(AccessReason::NotRegistered {
                agent: caller.id.clone(),
            }),
        },
    }
}

fn judge_by_layer(
    access: BoardAccess,
    board: &BoardName,
    agent: &Agent,
    agents: &[Agent],
    rules: &BoardAccessRules,
) -> AccessVerdict {
    let layer = agent.layer;
    match (access, board) {
        (BoardAccess::Append, BoardName::Global) => AccessVerdict::allow_if(
            layer != AgentLayer::Bottom,
            AccessReason::UpperLayersAppend,
            AccessReason::OnlyUpperLayersAppend,
        ),
        (_, BoardName::Global | BoardName::Top) => AccessVerdict::allow_if(
            layer == AgentLayer::Top,
            AccessReason::TopLayerWrites,
            AccessReason::OnlyTopLayerWrites,
        ),
        (BoardAccess::Read, BoardName::Mid(role)) => judge_mid_read(role, agent, agents),
        (_, BoardName::Mid(role)) => AccessVerdict::allow_if(
            layer == AgentLayer::Mid && agent.role == role.as_str(),
            AccessReason::OwnRole,
            AccessReason::OnlyRoleWrites { role: role.clone() },
        ),
        (BoardAccess::Read, BoardName::Bottom(owner)) => {
            judge_bottom_read(owner, agent, agents, rules)
        }
        (_, BoardName::Bottom(owner)) => AccessVerdict::allow_if(
            layer == AgentLayer::Bottom && agent.id == *owner,
            AccessReason::OwnBoard,
            AccessReason::OnlyOwnerWrites {
                owner: owner.clone(),
            },
        ),
        (_, BoardName::Blackboard(_)) => AccessVerdict::deny(AccessReason::NotAWhiteboard),
    }
}

fn judge_mid_read(role: &AgentId, agent: &Agent, agents: &[Agent]) -> AccessVerdict {
    match agent.layer {
        AgentLayer::Top => AccessVerdict::allow(AccessReason::TopLayerReadsMid),
        AgentLayer::Mid => AccessVerdict::allow(AccessReason::MidLayerReadsMid),
        AgentLayer::Bottom => AccessVerdict::allow_if(
            ancestors(agent, agents).any(|a| a.layer == AgentLayer::Mid && a.role == role.as_str()),
            AccessReason::SuperiorsBoard,
            AccessReason::NoSuperiorWithRole { role: role.clone() },
        ),
    }
}

fn judge_bottom_read(
    owner: &AgentId,
    agent: &Agent,
    agents: &[Agent],
    rules: &BoardAccessRules,
) -> AccessVerdict {
    if agent.layer == AgentLayer::Bottom {
        return AccessVerdict::allow_if(
            agent.id == *owner,
            AccessReason::OwnBoard,
            AccessReason::BottomLayerReadsOwn,
        );
    }
    if agent.layer == AgentLayer::Top {
        return AccessVerdict::allow(AccessReason::TopLayerReadsBottom);
    }
    if rules.mid_reads_all_bottom {
        return AccessVerdict::allow(AccessReason::MidReadsAllBottom);
    }
    let found = agents.iter().find(|a| a.id == *owner);
    let is_subordinate =
        found.is_some_and(|a| ancestors(a, agents).any(|ancestor| ancestor.id == agent.id));
    AccessVerdict::allow_if(
        is_subordinate,
        AccessReason::Subordinate {
            owner: owner.clone(),
        },
        AccessReason::NotASubordinate {
            owner: owner.clone(),
        },
    )
}

/// Iterates over the agents above an agent, nearest first. Ends at the top of the registry, or at a cycle in
/// it.
fn ancestors<'a>(agent: &'a Agent, agents: &'a [Agent]) -> impl Iterator<Item = &'a Agent> {
    let mut left = agents.len();
    let supervisor_of = |id: &Option<AgentId>| {
        id.as_ref()
            .and_then(|id| agents.iter().find(|a| a.id == *id))
    };
    std::iter::successors(supervisor_of(&agent.supervisor), move |a| {
        left = left.saturating_sub(1);
        if left == 0 {
            None
        } else {
            supervisor_of(&a.supervisor)
        }
    })
}

fn judge_blackboard(
    access: BoardAccess,
    path: &BlackboardPath,
    caller: &Caller,
    rules: &BoardAccessRules,
) -> AccessVerdict {
    if access == BoardAccess::Read {
        return AccessVerdict::allow(AccessReason::BlackboardReadable);
    }
    let grant = rules
        .blackboard_writers
        .iter()
        .filter(|(writer, _)| {
            **writer == caller.role || **writer == caller.id.as_str() || **writer == "*"
        })
        .flat_map(|(writer, globs)| globs.iter().map(move |glob| (writer, glob)))
        .find(|(_, glob)| glob.is_match(path.as_str()));
    match grant {
        Some((writer, glob)) => AccessVerdict::allow(AccessReason::PathGranted {
            pattern: glob.as_str().to_owned(),
            writer: writer.clone(),
        }),
        None => AccessVerdict::deny(AccessReason::PathNotGranted {
            role: caller.role.clone(),
            agent: caller.id.clone(),
        }),
    }
}

/// Fails with `permission_denied` if [`judge_access`] does not allow the access.
pub fn check_access(
    access: BoardAccess,
    board: &BoardName,
    caller: &Caller,
    agents: &[Agent],
    rules: &BoardAccessRules,
) -> Result<(), Refusal> {
    let verdict = judge_access(access, board, caller, agents, rules);
    if verdict.allowed {
        return Ok(());
    }
    let (agent, access) = (caller.id.to_string(), access.name().to_owned());
    let (board_name, reason) = (board.to_string(), verdict.reason.into());
    Err(match board {
        BoardName::Blackboard(_) => BoardRefusal::BlackboardAccessDenied {
            agent,
            access,
            board: board_name,
            reason,
        },
        _ => BoardRefusal::AccessDenied {
            agent,
            access,
            board: board_name,
            reason,
        },
    }
    .into())
}
