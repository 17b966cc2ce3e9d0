//! Access control of boards: the read, write and append matrix of the whiteboard document.
//!
//! An agent's rights are derived from the registry: its layer, its role and its ancestors. The matrix is
//! interpreted strictly (a middle-layer agent reads the boards of its own direct and indirect subordinates); a
//! setting enables the wider interpretation of the document's sketch.

use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::glob::matches;
use super::name::BoardName;
use super::path::BlackboardPath;
use crate::agent::{Agent, Layer};
use crate::caller::{Caller, Standing};
use crate::id::AgentId;
use crate::refusal::{Code, Refusal};

/// Kind of access to a board.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Act {
    /// Read it.
    Read,
    /// Replace it, or parts of it.
    Write,
    /// Append to it.
    Append,
}

impl Act {
    fn verb(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Append => "append to",
        }
    }
}

/// Access settings of an installation.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AccessRules {
    /// Whether every middle-layer agent reads every bottom board.
    pub mid_reads_all_bottom: bool,
    /// Write permissions for the blackboard: a role or an agent, and its path patterns.
    pub blackboard_writers: BTreeMap<String, Vec<String>>,
}

/// A decision and its reason.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Verdict {
    /// Whether it may.
    pub allowed: bool,
    /// Why, in a sentence.
    pub why: String,
}

impl Verdict {
    fn yes(why: impl Into<String>) -> Self {
        Self {
            allowed: true,
            why: why.into(),
        }
    }

    fn no(why: impl Into<String>) -> Self {
        Self {
            allowed: false,
            why: why.into(),
        }
    }

    fn of(allowed: bool, yes: impl Into<String>, no: impl Into<String>) -> Self {
        if allowed {
            Self::yes(yes)
        } else {
            Self::no(no)
        }
    }
}

/// Returns whether the decision needs the reporting tree, in addition to the caller's own registry entry.
pub fn needs_registry(act: Act, board: &BoardName) -> bool {
    act == Act::Read && matches!(board, BoardName::Mid(_) | BoardName::Bottom(_))
}

/// Decides whether access is allowed. `agents` are those of the registry, at least the caller itself.
pub fn judge(
    act: Act,
    board: &BoardName,
    caller: &Caller,
    agents: &[Agent],
    rules: &AccessRules,
) -> Verdict {
    if caller.standing == Standing::Human {
        return Verdict::yes("The person who owns the directory may do everything.");
    }
    if let BoardName::Blackboard(path) = board {
        return on_blackboard(act, path, caller, rules);
    }
    let known = agents
        .iter()
        .find(|agent| agent.id == caller.id && caller.standing == Standing::Registered);
    match (act, board) {
        (Act::Read, BoardName::Global) => Verdict::yes("Everybody reads the global board."),
        (Act::Read, BoardName::Top) => Verdict::yes("Everybody reads the top layer's board."),
        _ => match known {
            Some(agent) => by_layer(act, board, agent, agents, rules),
            None => Verdict::no(format!(
                "\"{}\" is not a registered agent; without a layer it only reads `global` and `top`.",
                caller.id
            )),
        },
    }
}

fn by_layer(
    act: Act,
    board: &BoardName,
    agent: &Agent,
    agents: &[Agent],
    rules: &AccessRules,
) -> Verdict {
    let layer = agent.layer;
    match (act, board) {
        (Act::Append, BoardName::Global) => Verdict::of(
            layer != Layer::Bottom,
            "The top and middle layers append to the global board.",
            "Only the top and middle layers append to the global board.",
        ),
        (_, BoardName::Global | BoardName::Top) => Verdict::of(
            layer == Layer::Top,
            "The top layer writes this board.",
            "Only the top layer writes this board.",
        ),
        (Act::Read, BoardName::Mid(role)) => reads_mid(role, agent, agents),
        (_, BoardName::Mid(role)) => Verdict::of(
            layer == Layer::Mid && agent.role == role.as_str(),
            "It is the board of the agent's own role.",
            format!("Only middle-layer agents with the role \"{role}\" write this board."),
        ),
        (Act::Read, BoardName::Bottom(owner)) => reads_bottom(owner, agent, agents, rules),
        (_, BoardName::Bottom(owner)) => Verdict::of(
            layer == Layer::Bottom && agent.id == *owner,
            "It is the agent's own board.",
            format!("Only the bottom-layer agent \"{owner}\" itself writes this board."),
        ),
        (_, BoardName::Blackboard(_)) => Verdict::no("It is not a whiteboard."),
    }
}

fn reads_mid(role: &AgentId, agent: &Agent, agents: &[Agent]) -> Verdict {
    match agent.layer {
        Layer::Top => Verdict::yes("The top layer reads every middle board."),
        Layer::Mid => Verdict::yes("The middle layer reads every middle board."),
        Layer::Bottom => Verdict::of(
            superiors(agent, agents).any(|a| a.layer == Layer::Mid && a.role == role.as_str()),
            "It is the board of one of the agent's superiors.",
            format!("None of the agent's superiors is a middle-layer \"{role}\"."),
        ),
    }
}

fn reads_bottom(owner: &AgentId, agent: &Agent, agents: &[Agent], rules: &AccessRules) -> Verdict {
    if agent.layer == Layer::Bottom {
        return Verdict::of(
            agent.id == *owner,
            "It is the agent's own board.",
            "A bottom-layer agent reads no bottom board but its own.",
        );
    }
    if agent.layer == Layer::Top {
        return Verdict::yes("The top layer reads every bottom board.");
    }
    if rules.mid_reads_all_bottom {
        return Verdict::yes("`whiteboards.mid_reads_all_bottom` is set.");
    }
    let found = agents.iter().find(|a| a.id == *owner);
    let below = found.is_some_and(|a| superiors(a, agents).any(|above| above.id == agent.id));
    Verdict::of(
        below,
        format!("\"{owner}\" is a subordinate of the agent."),
        format!(
            "\"{owner}\" is not a subordinate of the agent, and the middle layer reads only those boards."
        ),
    )
}

/// Iterates over the ancestors of an agent, nearest first. Ends at the top of the registry, or at a cycle in
/// it.
fn superiors<'a>(agent: &'a Agent, agents: &'a [Agent]) -> impl Iterator<Item = &'a Agent> {
    let mut left = agents.len();
    let above = |id: &Option<AgentId>| {
        id.as_ref()
            .and_then(|id| agents.iter().find(|a| a.id == *id))
    };
    std::iter::successors(above(&agent.supervisor), move |a| {
        left = left.saturating_sub(1);
        if left == 0 {
            None
        } else {
            above(&a.supervisor)
        }
    })
}

fn on_blackboard(act: Act, path: &BlackboardPath, caller: &Caller, rules: &AccessRules) -> Verdict {
    if act == Act::Read {
        return Verdict::yes("Everybody reads the blackboard.");
    }
    let granted = rules
        .blackboard_writers
        .iter()
        .filter(|(who, _)| **who == caller.role || **who == caller.id.as_str() || **who == "*")
        .flat_map(|(who, patterns)| patterns.iter().map(move |p| (who, p)))
        .find(|(_, pattern)| matches(pattern, path.as_str()));
    match granted {
        Some((who, pattern)) => Verdict::yes(format!(
            "`[blackboard.writers]` grants \"{who}\" the paths `{pattern}`."
        )),
        None => Verdict::no(format!(
            "`[blackboard.writers]` grants neither the role \"{}\" nor the agent \"{}\" this path.",
            caller.role, caller.id
        )),
    }
}

/// Fails with `permission_denied` if the matrix does not allow the access.
pub fn check(
    act: Act,
    board: &BoardName,
    caller: &Caller,
    agents: &[Agent],
    rules: &AccessRules,
) -> Result<(), Refusal> {
    let verdict = judge(act, board, caller, agents, rules);
    if verdict.allowed {
        return Ok(());
    }
    Err(Refusal::new(
        Code::PermissionDenied,
        format!(
            "Permission denied: \"{}\" cannot {} {board}. {}",
            caller.id,
            act.verb(),
            verdict.why
        ),
        match board {
            BoardName::Blackboard(_) => {
                "ask the product manager; `[blackboard.writers]` in polis.toml grants paths to roles and agents".to_owned()
            }
            _ => format!("see who may with `polis board can {board} --as AGENT`"),
        },
    ))
}
