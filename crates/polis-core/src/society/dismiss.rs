//! Dismissal of an agent and all its descendants, in one commit.
//!
//! Their messages are marked as read, their tasks are released, and their unspent budget is returned to the
//! accounts above. The workspace and its content are kept. Names are never reused, so that nothing addressed to
//! a dismissed agent reaches a later one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::budget::{self, Leaf};
use super::member::{self, Member, MemberState, MemberStatus};
use super::name::{MemberKey, RunId};
use super::run::{self, Run, RunStatus};
use super::versioned::Kept;
use crate::agent::{AgentStatus, Registered};
use crate::caller::Caller;
use crate::changeset::{Changeset, Expect, Write};
use crate::event::{NewEvent, Subject, kind};
use crate::id::AgentId;
use crate::refusal::{Code, Refusal};
use crate::task::TaskRecord;
use crate::task::claim::let_go;
use crate::time::Timestamp;

/// The parameters of `terminate_agent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminateAgent {
    /// Whom to dismiss, with everybody below it.
    pub agent_id: AgentId,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Who was dismissed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Dismissed {
    /// Whom it was about.
    pub agent_id: AgentId,
    /// All who were dismissed, it first.
    pub dismissed: Vec<AgentId>,
    /// How many unread messages were in their mailboxes.
    pub messages: usize,
    /// How many tasks are free again.
    pub tasks: usize,
}

/// A member of a run, with its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Someone {
    /// Its identity.
    pub member: Member,
    /// Its state.
    pub state: Kept<MemberState>,
}

/// What a dismissed agent leaves behind.
#[derive(Debug, Clone, PartialEq)]
pub struct Estate {
    /// The agent.
    pub agent: AgentId,
    /// Its registry entry; `root` has none.
    pub entry: Option<Registered>,
    /// Unread messages, including those not yet delivered.
    pub mail: Vec<u64>,
    /// Unfinished tasks it owns.
    pub tasks: Vec<TaskRecord>,
}

/// State that a dismissal is decided on.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The run.
    pub run: &'a Kept<Run>,
    /// All members of the run, including dismissed ones.
    pub members: &'a [Someone],
    /// What the members to be dismissed leave behind; see [`subtree`].
    pub estates: &'a [Estate],
    /// Whether the dismissal ends the run.
    pub ends: bool,
}

/// Returns an agent, followed by all its descendants that are not dismissed.
pub fn subtree(members: &[Someone], top: &AgentId) -> Vec<AgentId> {
    let mut found: Vec<AgentId> = vec![top.clone()];
    let mut at = 0;
    while let Some(above) = found.get(at).cloned() {
        at += 1;
        for one in members {
            let below = one.member.parent.as_ref() == Some(&above);
            if below && !is_gone(one) && !found.contains(&one.member.agent) {
                found.push(one.member.agent.clone());
            }
        }
    }
    found
}

/// Returns the indexes of an agent's descendants, including dismissed ones.
pub(super) fn subtree_of_all(members: &[Someone], top: &AgentId) -> Vec<usize> {
    (0..members.len())
        .filter(|at| {
            let one = members.get(*at);
            one.is_some_and(|one| is_above(members, top, &one.member.agent))
        })
        .collect()
}

/// Returns whether `upper` is an ancestor of `lower` in a run. An agent is not its own ancestor.
pub fn is_above(members: &[Someone], upper: &AgentId, lower: &AgentId) -> bool {
    let mut here = lower.clone();
    // A path to the top is at most as long as the number of members; this bounds the loop if parents form a
    // cycle.
    for _ in 0..members.len() {
        let one = members.iter().find(|one| one.member.agent == here);
        match one.and_then(|one| one.member.parent.as_ref()) {
            Some(parent) if parent == upper => return true,
            Some(parent) => here = parent.clone(),
            None => return false,
        }
    }
    false
}

fn is_gone(one: &Someone) -> bool {
    one.state.value.status == MemberStatus::Gone
}

/// Returns the refusal for a caller that is not an ancestor of the other agent.
pub fn not_above(caller: &AgentId, other: &AgentId) -> Refusal {
    Refusal::new(
        Code::NotDescendant,
        format!("\"{other}\" is not below \"{caller}\"."),
        "only those above an agent, and the person, may do this; get_org shows the tree",
    )
}

/// Data of the `society.dismissed` and `society.stopped` events.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    agent: &'a AgentId,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<&'a str>,
}

/// Decides a dismissal. `known.estates` must cover `top` and all its descendants.
pub fn decide_dismiss(
    top: &AgentId,
    reason: Option<&str>,
    known: Known<'_>,
    caller: &Caller,
    now: &Timestamp,
) -> (Dismissed, Changeset) {
    let run_id = &known.run.value.id;
    let going: Vec<&AgentId> = known.estates.iter().map(|estate| &estate.agent).collect();
    let mut changes = Changeset::by(caller, now.clone());
    let (mut messages, mut tasks, mut left) = (0, 0, 0u32);
    for estate in known.estates {
        if !estate.mail.is_empty() {
            changes.writes.push(Write::ReadMessages {
                recipient: estate.agent.clone(),
                ids: estate.mail.clone(),
            });
        }
        messages += estate.mail.len();
        tasks += estate.tasks.len();
        for task in &estate.tasks {
            changes = let_go(task, changes, now);
        }
        if let Some(entry) = &estate.entry {
            left = left.saturating_add(1);
            changes = retire(entry, run_id, changes);
        }
        let told = Told {
            agent: &estate.agent,
            reason,
        };
        let subject = Subject::Run(run_id.clone());
        changes
            .events
            .push(NewEvent::of(kind::SOCIETY_DISMISSED, subject, &told));
    }
    changes
        .writes
        .extend(settle(known.members, run_id, &going, reason));
    let mut run = known.run.value.clone();
    run.agents = run.agents.saturating_sub(left);
    if known.ends {
        run.end(RunStatus::Stopped, now);
        let subject = Subject::Run(run_id.clone());
        let told = Told { agent: top, reason };
        changes
            .events
            .push(NewEvent::of(kind::SOCIETY_STOPPED, subject, &told));
    }
    let changes = changes.write(known.run.put(run::record_name(run_id), &run));
    let dismissed = Dismissed {
        agent_id: top.clone(),
        dismissed: going.into_iter().cloned().collect(),
        messages,
        tasks,
    };
    (dismissed, changes)
}

fn retire(entry: &Registered, run: &RunId, changes: Changeset) -> Changeset {
    let mut agent = entry.agent.clone();
    if agent.status == AgentStatus::Retired || agent.run.as_ref() != Some(run) {
        return changes;
    }
    agent.status = AgentStatus::Retired;
    let subject = Subject::Agent(agent.id.clone());
    let event = NewEvent::of(kind::AGENT_RETIRED, subject, &agent);
    changes
        .write(Write::PutAgent {
            expect: Expect::Revision(entry.revision),
            agent,
        })
        .event(event)
}

/// Returns the state writes for the dismissed members and the accounts above them.
fn settle(
    members: &[Someone],
    run: &RunId,
    going: &[&AgentId],
    reason: Option<&str>,
) -> Vec<Write> {
    let goes = |one: &Someone| going.contains(&&one.member.agent) && !is_gone(one);
    let mut tree = leaves(members);
    budget::square(&mut tree, |at| members.get(at).is_some_and(goes));
    let mut writes = Vec::new();
    for (one, leaf) in members.iter().zip(&tree) {
        let mut state = one.state.value.clone();
        state.account = leaf.account;
        state.children.retain(|child| !going.contains(&child));
        if goes(one) {
            state.status = MemberStatus::Gone;
            state.why = reason.map(ToOwned::to_owned);
            state.doing = None;
            state.tool = None;
            state.worker = None;
            state.children.clear();
        }
        if state != one.state.value {
            let key = MemberKey::new(run.clone(), one.member.agent.clone());
            writes.push(one.state.put(member::state_name(&key), &state));
        }
    }
    writes
}

/// Returns the accounts of a run as a tree.
pub fn leaves(members: &[Someone]) -> Vec<Leaf> {
    let place = |of: &AgentId| members.iter().position(|one| one.member.agent == *of);
    members
        .iter()
        .map(|one| Leaf {
            above: one.member.parent.as_ref().and_then(place),
            depth: one.member.depth,
            account: one.state.value.account,
        })
        .collect()
}

#[cfg(test)]
mod tests;
