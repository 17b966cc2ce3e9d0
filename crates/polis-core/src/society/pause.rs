//! Status changes of a run and its members: pausing, resuming, finishing and reopening runs, pausing and
//! resuming members. Also changes a member's budget limits. Who may request this is checked by the operations.
//!
//! Pausing or resuming a run does not change its members' states; resuming a done run reopens it. The runtime
//! finishes a run that has nothing left to do and reopens it when a member has mail, in the name of the run's
//! head.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::budget::{self, BudgetLimits};
use super::dismiss::{MemberWithState, account_tree};
use super::member::{self, MemberStatus};
use super::run::{self, Run, RunStatus};
use super::run_id::{MemberKey, RunId};
use super::versioned::VersionedRecord;
use crate::caller::Caller;
use crate::changeset::Changeset;
use crate::event::{
    BudgetChangedEvent, EventPayload, EventSubject, NewEvent, RunFinishedEvent, RunPausedEvent,
};
use crate::id::AgentId;
use crate::timestamp::Timestamp;

/// Whether to pause or to resume.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum PauseOrResume {
    /// Stop working until resumed.
    Pause,
    /// Continue working; parked members retry their model.
    Resume,
}

fn pause_event(
    action: PauseOrResume,
    run: &RunId,
    agent: Option<&AgentId>,
    reason: Option<&str>,
) -> NewEvent {
    let data = RunPausedEvent {
        agent: agent.cloned(),
        reason: reason.map(ToOwned::to_owned),
    };
    let payload = match action {
        PauseOrResume::Pause => EventPayload::SocietyPaused(data),
        PauseOrResume::Resume => EventPayload::SocietyResumed(data),
    };
    NewEvent::new(EventSubject::Run(run.clone()), payload)
}

/// Pauses or resumes a run. The states of its members do not change. Returns the run and the changeset, which
/// is empty if nothing changed.
pub fn pause_or_resume_run(
    action: PauseOrResume,
    run: &VersionedRecord<Run>,
    caller: &Caller,
    now: &Timestamp,
) -> (Run, Changeset) {
    let mut new = run.value.clone();
    let status = match action {
        PauseOrResume::Pause => RunStatus::Paused,
        PauseOrResume::Resume => RunStatus::Active,
    };
    new.reopen(status, now);
    let changes = Changeset::new(caller, now.clone());
    if new == run.value {
        return (new, changes);
    }
    let changes = changes
        .with_write(run.update_write(run::run_record_name(&new.id), &new))
        .with_event(pause_event(action, &new.id, None, None));
    (new, changes)
}

/// Creates an empty changeset whose actor is the head of the run: no person or member requested these
/// changes.
fn changeset_by_head(run: &Run, now: &Timestamp) -> Changeset {
    Changeset {
        actor: run.head.clone(),
        at: now.clone(),
        writes: Vec::new(),
        events: Vec::new(),
    }
}

/// Marks an active run as done. Returns the run and the changeset, which is empty if the run is in any other
/// state or its record is not at `revision`.
pub fn finish_run(run: &VersionedRecord<Run>, revision: u64, now: &Timestamp) -> (Run, Changeset) {
    let mut new = run.value.clone();
    let changes = changeset_by_head(&new, now);
    if new.status != RunStatus::Active || run.revision != revision {
        return (new, changes);
    }
    new.mark_ended(RunStatus::Done, now);
    let data = RunFinishedEvent {
        duration_ms: new.duration_ms,
    };
    let subject = EventSubject::Run(new.id.clone());
    let changes = changes
        .with_write(run.update_write(run::run_record_name(&new.id), &new))
        .with_event(NewEvent::new(subject, EventPayload::SocietyFinished(data)));
    (new, changes)
}

/// Makes a done run active again because a member has mail. Returns the run and the changeset, which is empty
/// if the run is in any other state.
pub fn reopen_run(run: &VersionedRecord<Run>, now: &Timestamp) -> (Run, Changeset) {
    let mut new = run.value.clone();
    let changes = changeset_by_head(&new, now);
    if new.status != RunStatus::Done {
        return (new, changes);
    }
    new.reopen(RunStatus::Active, now);
    let changes = changes
        .with_write(run.update_write(run::run_record_name(&new.id), &new))
        .with_event(pause_event(PauseOrResume::Resume, &new.id, None, None));
    (new, changes)
}

/// Pauses or resumes members. Returns those whose status changed, with the changeset.
pub fn pause_or_resume_members(
    action: PauseOrResume,
    run: &RunId,
    members: &[&MemberWithState],
    reason: Option<&str>,
    caller: &Caller,
    now: &Timestamp,
) -> (Vec<AgentId>, Changeset) {
    let mut changes = Changeset::new(caller, now.clone());
    let mut changed = Vec::new();
    for entry in members {
        let mut state = entry.state.value.clone();
        match (action, state.status) {
            (
                PauseOrResume::Pause,
                MemberStatus::Idle | MemberStatus::Working | MemberStatus::AwaitingApproval,
            ) => {
                state.status = MemberStatus::Paused;
                state.reason = reason.map(ToOwned::to_owned);
                state.paused_by = Some(caller.id.clone());
            }
            (PauseOrResume::Resume, MemberStatus::Paused | MemberStatus::Parked) => {
                state.status = MemberStatus::Working;
                state.reason = None;
                state.paused_by = None;
            }
            _ => continue,
        }
        let agent = &entry.member.agent;
        let key = MemberKey::new(run.clone(), agent.clone());
        changes.writes.push(
            entry
                .state
                .update_write(member::member_state_record_name(&key), &state),
        );
        changes
            .events
            .push(pause_event(action, run, Some(agent), reason));
        changed.push(agent.clone());
    }
    (changed, changes)
}

/// Returns the changeset that sets a member's limits. Earlier spending of the member and all members below it
/// counts, so the accounts below it are settled first.
pub fn decide_set_budget(
    agent: &AgentId,
    limits: BudgetLimits,
    run: &RunId,
    members: &[MemberWithState],
    caller: &Caller,
    now: &Timestamp,
) -> Changeset {
    let mut tree = account_tree(members);
    let descendants = super::dismiss::descendant_indexes(members, agent);
    budget::settle_accounts(&mut tree, |at| descendants.contains(&at));
    let mut changes = Changeset::new(caller, now.clone());
    for (entry, leaf) in members.iter().zip(&tree) {
        let mut state = entry.state.value.clone();
        state.account = leaf.account;
        if entry.member.agent == *agent {
            state.account.limits = limits;
        }
        if state != entry.state.value {
            let key = MemberKey::new(run.clone(), entry.member.agent.clone());
            changes.writes.push(
                entry
                    .state
                    .update_write(member::member_state_record_name(&key), &state),
            );
        }
    }
    if changes.is_empty() {
        return changes;
    }
    let data = BudgetChangedEvent {
        agent: agent.clone(),
        limits,
    };
    changes.with_event(NewEvent::new(
        EventSubject::Run(run.clone()),
        EventPayload::SocietyBudgetChanged(data),
    ))
}
