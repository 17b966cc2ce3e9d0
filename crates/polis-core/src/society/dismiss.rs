//! Dismissal of an agent and all agents below it, in one commit; also used to stop a run.
//!
//! [`decide_dismiss_member`] marks their messages as read, releases their tasks, returns their unspent budget
//! to the accounts above, and retires them in the registry. The workspace and its content are kept. Names are
//! never reused, so that nothing addressed to a dismissed agent reaches a later one.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::budget::{self, AccountNode};
use super::member::{self, Member, MemberState, MemberStatus};
use super::run::{self, Run, RunStatus};
use super::run_id::{MemberKey, RunId};
use super::versioned::VersionedRecord;
use crate::agent::{AgentStatus, RegisteredAgent, agent_retired_event};
use crate::caller::Caller;
use crate::changeset::{Changeset, StoreWrite, WritePrecondition};
use crate::event::{EventPayload, EventSubject, MemberDismissedEvent, NewEvent};
use crate::id::AgentId;
use crate::refusal::{Refusal, SocietyRefusal};
use crate::task::TaskRecord;
use crate::task::claim::release_dismissed_task;
use crate::timestamp::Timestamp;

/// The parameters of `terminate_agent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TerminateAgentParams {
    /// Agent to dismiss, with all agents below it.
    pub agent_id: AgentId,
    /// Reason for the dismissal.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Result of `terminate_agent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TerminateAgentResult {
    /// The agent named in the request.
    pub agent_id: AgentId,
    /// All dismissed agents, the named one first.
    pub dismissed: Vec<AgentId>,
    /// Number of unread messages in their mailboxes.
    pub messages: usize,
    /// Number of released tasks.
    pub tasks: usize,
}

/// A member of a run, with its state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberWithState {
    /// Identity of the member.
    pub member: Member,
    /// State of the member, with its revision.
    pub state: VersionedRecord<MemberState>,
}

/// Registry entry, unread mail and open tasks of an agent that is dismissed.
#[derive(Debug, Clone, PartialEq)]
pub struct AgentHoldings {
    /// Id of the agent.
    pub agent: AgentId,
    /// Its registry entry; `root` has none.
    pub entry: Option<RegisteredAgent>,
    /// Unread messages, including those not yet delivered.
    pub mail: Vec<u64>,
    /// Unfinished tasks it owns.
    pub tasks: Vec<TaskRecord>,
}

/// State that a dismissal is based on.
#[derive(Debug, Clone, Copy)]
pub struct DismissContext<'a> {
    /// The run, with its revision.
    pub run: &'a VersionedRecord<Run>,
    /// All members of the run, including dismissed ones.
    pub members: &'a [MemberWithState],
    /// Mail and tasks of the members to be dismissed; see [`active_subtree`].
    pub holdings: &'a [AgentHoldings],
    /// Whether the dismissal ends the run.
    pub ends_run: bool,
}

/// Returns an agent, followed by all agents below it that are not dismissed.
pub fn active_subtree(members: &[MemberWithState], top: &AgentId) -> Vec<AgentId> {
    let mut found: Vec<AgentId> = vec![top.clone()];
    let mut at = 0;
    while let Some(parent) = found.get(at).cloned() {
        at += 1;
        for entry in members {
            let is_child = entry.member.parent.as_ref() == Some(&parent);
            if is_child && !is_dismissed(entry) && !found.contains(&entry.member.agent) {
                found.push(entry.member.agent.clone());
            }
        }
    }
    found
}

/// Returns the indexes of the agents below an agent, including dismissed ones.
pub(super) fn descendant_indexes(members: &[MemberWithState], top: &AgentId) -> Vec<usize> {
    (0..members.len())
        .filter(|at| {
            let entry = members.get(*at);
            entry.is_some_and(|entry| is_ancestor(members, top, &entry.member.agent))
        })
        .collect()
}

/// Returns whether `upper` is above `lower` in a run, at any distance. No agent is above itself.
pub fn is_ancestor(members: &[MemberWithState], upper: &AgentId, lower: &AgentId) -> bool {
    let mut current = lower.clone();
    // A path to the top is at most as long as the number of members; this bounds the loop if parents form a
    // cycle.
    for _ in 0..members.len() {
        let found = members
            .iter()
            .find(|candidate| candidate.member.agent == current);
        match found.and_then(|found| found.member.parent.as_ref()) {
            Some(parent) if parent == upper => return true,
            Some(parent) => current = parent.clone(),
            None => return false,
        }
    }
    false
}

fn is_dismissed(entry: &MemberWithState) -> bool {
    entry.state.value.status == MemberStatus::Dismissed
}

/// Returns the refusal for a caller that is not above the other agent.
pub fn not_an_ancestor(caller: &AgentId, other: &AgentId) -> Refusal {
    Refusal::from(SocietyRefusal::NotDescendant {
        other: other.clone(),
        caller: caller.clone(),
    })
}

/// Returns the result and the changeset of dismissing `top` and all agents below it. `context.holdings` must
/// cover all of them that are not dismissed yet, with `top` first.
pub fn decide_dismiss_member(
    top: &AgentId,
    reason: Option<&str>,
    context: DismissContext<'_>,
    caller: &Caller,
    now: &Timestamp,
) -> (TerminateAgentResult, Changeset) {
    let run_id = &context.run.value.id;
    let dismissed_agents: Vec<&AgentId> = context
        .holdings
        .iter()
        .map(|holding| &holding.agent)
        .collect();
    let mut changes = Changeset::new(caller, now.clone());
    let (mut messages, mut tasks, mut left) = (0, 0, 0u32);
    for holding in context.holdings {
        if !holding.mail.is_empty() {
            changes.writes.push(StoreWrite::ReadMessages {
                recipient: holding.agent.clone(),
                ids: holding.mail.clone(),
            });
        }
        messages += holding.mail.len();
        tasks += holding.tasks.len();
        for task in &holding.tasks {
            changes = release_dismissed_task(task, changes, now);
        }
        if let Some(entry) = &holding.entry {
            left = left.saturating_add(1);
            changes = retire_agent(entry, run_id, changes);
        }
        let data = MemberDismissedEvent {
            agent: holding.agent.clone(),
            reason: reason.map(ToOwned::to_owned),
        };
        changes.events.push(NewEvent::new(
            EventSubject::Run(run_id.clone()),
            EventPayload::SocietyDismissed(data),
        ));
    }
    changes.writes.extend(member_state_writes(
        context.members,
        run_id,
        &dismissed_agents,
        reason,
    ));
    let mut run = context.run.value.clone();
    run.agents = run.agents.saturating_sub(left);
    if context.ends_run {
        run.mark_ended(RunStatus::Stopped, now);
        let data = MemberDismissedEvent {
            agent: top.clone(),
            reason: reason.map(ToOwned::to_owned),
        };
        changes.events.push(NewEvent::new(
            EventSubject::Run(run_id.clone()),
            EventPayload::SocietyStopped(data),
        ));
    }
    let changes = changes.with_write(context.run.update_write(run::run_record_name(run_id), &run));
    let dismissed = TerminateAgentResult {
        agent_id: top.clone(),
        dismissed: dismissed_agents.into_iter().cloned().collect(),
        messages,
        tasks,
    };
    (dismissed, changes)
}

fn retire_agent(entry: &RegisteredAgent, run: &RunId, changes: Changeset) -> Changeset {
    let mut agent = entry.agent.clone();
    if agent.status == AgentStatus::Retired || agent.run.as_ref() != Some(run) {
        return changes;
    }
    agent.status = AgentStatus::Retired;
    let event = agent_retired_event(&agent);
    changes
        .with_write(StoreWrite::PutAgent {
            expect: WritePrecondition::Revision(entry.revision),
            agent,
        })
        .with_event(event)
}

/// Returns the state writes for the dismissed members and the accounts above them.
fn member_state_writes(
    members: &[MemberWithState],
    run: &RunId,
    dismissed_agents: &[&AgentId],
    reason: Option<&str>,
) -> Vec<StoreWrite> {
    let is_leaving = |entry: &MemberWithState| {
        dismissed_agents.contains(&&entry.member.agent) && !is_dismissed(entry)
    };
    let mut tree = account_tree(members);
    budget::settle_accounts(&mut tree, |at| members.get(at).is_some_and(is_leaving));
    let mut writes = Vec::new();
    for (entry, leaf) in members.iter().zip(&tree) {
        let mut state = entry.state.value.clone();
        state.account = leaf.account;
        state
            .children
            .retain(|child| !dismissed_agents.contains(&child));
        if is_leaving(entry) {
            state.status = MemberStatus::Dismissed;
            state.reason = reason.map(ToOwned::to_owned);
            state.running_call_id = None;
            state.running_tool = None;
            state.worker = None;
            state.children.clear();
        }
        if state != entry.state.value {
            let key = MemberKey::new(run.clone(), entry.member.agent.clone());
            writes.push(
                entry
                    .state
                    .update_write(member::member_state_record_name(&key), &state),
            );
        }
    }
    writes
}

/// Returns the accounts of a run as a tree.
pub fn account_tree(members: &[MemberWithState]) -> Vec<AccountNode> {
    let index_of = |agent: &AgentId| {
        members
            .iter()
            .position(|entry| entry.member.agent == *agent)
    };
    members
        .iter()
        .map(|entry| AccountNode {
            parent: entry.member.parent.as_ref().and_then(index_of),
            depth: entry.member.depth,
            account: entry.state.value.account,
        })
        .collect()
}

#[cfg(test)]
mod tests;
