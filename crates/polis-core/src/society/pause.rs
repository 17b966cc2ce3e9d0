//! Pausing, resuming and finishing runs and members, and changing a member's budget.
//!
//! A pause or resumption applies to a run, a member, or a member with all its descendants.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::budget::{self, Limits};
use super::dismiss::{Someone, leaves};
use super::member::{self, MemberStatus};
use super::name::{MemberKey, RunId};
use super::run::{self, Run, RunStatus};
use super::versioned::Kept;
use crate::caller::Caller;
use crate::changeset::Changeset;
use crate::event::{NewEvent, Subject, kind};
use crate::id::AgentId;
use crate::time::Timestamp;

/// Whether to hold up or to go on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum Hold {
    /// Nobody thinks until somebody says so.
    Pause,
    /// Goes on; what failed for good is tried again.
    Resume,
}

/// Data of the `society.paused` and `society.resumed` events.
#[derive(Debug, Serialize)]
struct Told<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    agent: Option<&'a AgentId>,
    #[serde(skip_serializing_if = "Option::is_none")]
    why: Option<&'a str>,
}

fn told(hold: Hold, run: &RunId, agent: Option<&AgentId>, why: Option<&str>) -> NewEvent {
    let kind = match hold {
        Hold::Pause => kind::SOCIETY_PAUSED,
        Hold::Resume => kind::SOCIETY_RESUMED,
    };
    NewEvent::of(kind, Subject::Run(run.clone()), &Told { agent, why })
}

/// Pauses or resumes a run. The states of its members do not change.
pub fn hold_run(hold: Hold, run: &Kept<Run>, caller: &Caller, now: &Timestamp) -> (Run, Changeset) {
    let mut new = run.value.clone();
    let status = match hold {
        Hold::Pause => RunStatus::Paused,
        Hold::Resume => RunStatus::Active,
    };
    new.reopen(status, now);
    let changes = Changeset::by(caller, now.clone());
    if new == run.value {
        return (new, changes);
    }
    let changes = changes
        .write(run.put(run::record_name(&new.id), &new))
        .event(told(hold, &new.id, None, None));
    (new, changes)
}

/// Data of the `society.finished` event.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct FinishedEvent {
    duration_ms: u64,
}

/// Creates an empty changeset whose actor is the head of the run: no person or member requested these changes.
fn changes_by_head(run: &Run, now: &Timestamp) -> Changeset {
    Changeset {
        actor: run.head.clone(),
        at: now.clone(),
        writes: Vec::new(),
        events: Vec::new(),
    }
}

/// Marks an active run as done. A run in any other state, or whose record is not at `revision`, is not changed.
pub fn finish_run(run: &Kept<Run>, revision: u64, now: &Timestamp) -> (Run, Changeset) {
    let mut new = run.value.clone();
    let changes = changes_by_head(&new, now);
    if new.status != RunStatus::Active || run.revision != revision {
        return (new, changes);
    }
    new.end(RunStatus::Done, now);
    let finished = FinishedEvent {
        duration_ms: new.duration_ms,
    };
    let subject = Subject::Run(new.id.clone());
    let changes = changes
        .write(run.put(run::record_name(&new.id), &new))
        .event(NewEvent::of(kind::SOCIETY_FINISHED, subject, &finished));
    (new, changes)
}

/// Makes a done run active again because a member has mail. A run in any other state is not changed.
pub fn reopen_run(run: &Kept<Run>, now: &Timestamp) -> (Run, Changeset) {
    let mut new = run.value.clone();
    let changes = changes_by_head(&new, now);
    if new.status != RunStatus::Done {
        return (new, changes);
    }
    new.reopen(RunStatus::Active, now);
    let changes = changes
        .write(run.put(run::record_name(&new.id), &new))
        .event(told(Hold::Resume, &new.id, None, None));
    (new, changes)
}

/// Pauses or resumes members. Returns those whose status changed.
pub fn hold_members(
    hold: Hold,
    run: &RunId,
    members: &[&Someone],
    why: Option<&str>,
    caller: &Caller,
    now: &Timestamp,
) -> (Vec<AgentId>, Changeset) {
    let mut changes = Changeset::by(caller, now.clone());
    let mut moved = Vec::new();
    for one in members {
        let mut state = one.state.value.clone();
        match (hold, state.status) {
            (Hold::Pause, MemberStatus::Idle | MemberStatus::Working | MemberStatus::Asking) => {
                state.status = MemberStatus::Paused;
                let by = || format!("held up by {}", caller.id);
                state.why = Some(why.map_or_else(by, ToOwned::to_owned));
            }
            (Hold::Resume, MemberStatus::Paused | MemberStatus::Parked) => {
                state.status = MemberStatus::Working;
                state.why = None;
            }
            _ => continue,
        }
        let agent = &one.member.agent;
        let key = MemberKey::new(run.clone(), agent.clone());
        changes
            .writes
            .push(one.state.put(member::state_name(&key), &state));
        changes.events.push(told(hold, run, Some(agent), why));
        moved.push(agent.clone());
    }
    (moved, changes)
}

/// Data of the `society.budget` event.
#[derive(Debug, Serialize)]
struct NewLimits<'a> {
    agent: &'a AgentId,
    limits: &'a Limits,
}

/// Sets a member's limits. Earlier spending of the member and its descendants counts, so the accounts below it
/// are squared first.
pub fn decide_budget(
    agent: &AgentId,
    limits: Limits,
    run: &RunId,
    members: &[Someone],
    caller: &Caller,
    now: &Timestamp,
) -> Changeset {
    let mut tree = leaves(members);
    let below = super::dismiss::subtree_of_all(members, agent);
    budget::square(&mut tree, |at| below.contains(&at));
    let mut changes = Changeset::by(caller, now.clone());
    for (one, leaf) in members.iter().zip(&tree) {
        let mut state = one.state.value.clone();
        state.account = leaf.account;
        if one.member.agent == *agent {
            state.account.limits = limits;
        }
        if state != one.state.value {
            let key = MemberKey::new(run.clone(), one.member.agent.clone());
            changes
                .writes
                .push(one.state.put(member::state_name(&key), &state));
        }
    }
    if changes.is_empty() {
        return changes;
    }
    let told = NewLimits {
        agent,
        limits: &limits,
    };
    changes.event(NewEvent::of(
        kind::SOCIETY_BUDGET,
        Subject::Run(run.clone()),
        &told,
    ))
}
