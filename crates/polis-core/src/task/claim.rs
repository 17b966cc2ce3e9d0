//! Task claims: claiming, releasing, and renewing the lease of a claim with heartbeats.
//!
//! A claim makes the caller the owner of a task and starts it, optionally with a lease that heartbeats renew.

use crate::number::saturating_cast;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::ownership::{
    already_claimed, check_force_assign, check_holder, check_new_owner, clear_owner,
    not_task_holder, set_owner,
};
use super::task_decision::{TaskDecision, TaskRules, check_task_version, finish_task_change};
use super::transition::{start_task, task_blocked};
use super::{TaskRecord, TaskStatus, task_not_found};
use crate::agent::RegisteredAgent;
use crate::caller::Caller;
use crate::changeset::{Changeset, StoreWrite, WritePrecondition};
use crate::event::{EventPayload, EventSubject, NewEvent, TaskHeartbeatEvent};
use crate::id::TaskId;
use crate::refusal::{Refusal, TaskRefusal};
use crate::timestamp::Timestamp;

/// The parameters of `TaskClaim`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskClaimParams {
    /// The task to claim; default: the best ready one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The version you read; refused if the task has changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
    /// Duration of the claim's lease, in milliseconds; at most 31622400000 (366 days). Claiming again renews it.
    /// Without a lease the claim holds until it is released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// Claim across roles (team lead).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force_assign: bool,
}

/// Checks a claim and returns the task with the changeset: the caller becomes the owner and the task is in
/// progress, in one commit. Fails if the caller may not claim the task, another agent holds it, or it is
/// blocked, completed or deleted.
///
/// Claiming a task that the caller already works on only renews the lease, so a retry is idempotent.
pub fn decide_claim_task(
    request: &TaskClaimParams,
    current: &TaskRecord,
    entry: Option<&RegisteredAgent>,
    rules: TaskRules<'_>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<TaskDecision, Refusal> {
    let task = &current.task;
    rules.policy.check_claim(caller, task.task_type)?;
    check_task_version(task, request.expected_version)?;
    let millis = now.unix_millis();
    if task.status == TaskStatus::Deleted {
        return Err(task_not_found(task.id));
    }
    let is_owner = task.owner == caller.id.as_str();
    if !task.owner.is_empty()
        && !is_owner
        && !task.is_stale(millis)
        && task.status != TaskStatus::Completed
    {
        return Err(already_claimed(task));
    }
    if task.status == TaskStatus::Completed {
        task.status
            .check_transition(TaskStatus::InProgress, false)?;
    }
    check_force_assign(request.force_assign, rules.policy, caller)?;
    check_lease_length(request.lease_ms)?;
    let mut record = current.clone();
    let mut assignment = None;
    if !is_owner || task.is_stale(millis) {
        let new_assignment =
            check_new_owner(task, &caller.id, entry, request.force_assign, caller)?;
        set_owner(&mut record, &new_assignment, now);
        assignment = Some(new_assignment);
    }
    if task.status == TaskStatus::Pending {
        start_task(&mut record, now)?;
    } else if task.owner.is_empty() && !current.is_unblocked() {
        return Err(task_blocked(current));
    }
    if let Some(lease) = request.lease_ms {
        set_lease(&mut record, lease, millis);
    }
    let mut changes = Changeset::new(caller, now.clone());
    if assignment.is_some() {
        changes.writes.extend(entry.map(RegisteredAgent::touch));
    }
    if record.task == *task {
        return Ok(TaskDecision { record, changes });
    }
    Ok(finish_task_change(
        current,
        record,
        0,
        EventPayload::TaskClaimed,
        assignment,
        changes,
        now,
    ))
}

/// Checks a release and returns the task without an owner, with the changeset. The task keeps its status and
/// can be claimed by any agent with the required role. Fails if the caller neither holds the task nor may
/// reassign it, or if it is completed or deleted.
pub fn decide_release_task(
    current: &TaskRecord,
    expected_version: Option<u64>,
    rules: TaskRules<'_>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<TaskDecision, Refusal> {
    let task = &current.task;
    rules.policy.check_update(caller, &task.owner)?;
    check_task_version(task, expected_version)?;
    if task.status == TaskStatus::Deleted {
        return Err(task_not_found(task.id));
    }
    let changes = Changeset::new(caller, now.clone());
    if task.owner.is_empty() {
        return Ok(TaskDecision {
            record: current.clone(),
            changes,
        });
    }
    check_holder(task, rules.policy, caller)?;
    if task.status == TaskStatus::Completed {
        task.status
            .check_transition(TaskStatus::InProgress, false)?;
    }
    let mut record = current.clone();
    clear_owner(&mut record);
    Ok(finish_task_change(
        current,
        record,
        0,
        EventPayload::TaskReleased,
        None,
        changes,
        now,
    ))
}

/// Adds the release of a task whose owner is dismissed. The task keeps its status and can be claimed again.
pub(crate) fn release_dismissed_task(
    current: &TaskRecord,
    changes: Changeset,
    now: &Timestamp,
) -> Changeset {
    let mut record = current.clone();
    clear_owner(&mut record);
    finish_task_change(
        current,
        record,
        0,
        EventPayload::TaskReleased,
        None,
        changes,
        now,
    )
    .changes
}

/// Checks a heartbeat and returns the task with a lease renewed from now, with the changeset. The version
/// does not change, so that the version the owner has read stays current. Fails with `not_owner` if the
/// caller does not work on the task, and with `invalid_input` if there is no lease to renew.
pub fn decide_heartbeat(
    current: &TaskRecord,
    lease_ms: Option<u64>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<TaskDecision, Refusal> {
    let task = &current.task;
    if task.status == TaskStatus::Deleted {
        return Err(task_not_found(task.id));
    }
    if task.owner != caller.id.as_str() || task.status != TaskStatus::InProgress {
        return Err(not_task_holder(task, caller));
    }
    let Some(lease) = lease_ms.or(task.lease_ms) else {
        return Err(Refusal::from(TaskRefusal::NoLease { task: task.id }));
    };
    check_lease_length(Some(lease))?;
    let mut record = current.clone();
    set_lease(&mut record, lease, now.unix_millis());
    record.revision += 1;
    let data = TaskHeartbeatEvent {
        lease_expires_at: record.task.lease_expires_at.clone(),
    };
    let changes = Changeset::new(caller, now.clone())
        .with_write(StoreWrite::PutTask {
            expect: WritePrecondition::Revision(current.revision),
            record: Box::new(record.clone()),
            blocker_change: 0,
        })
        .with_event(NewEvent::new(
            EventSubject::Task(task.id),
            EventPayload::TaskHeartbeat(data),
        ));
    Ok(TaskDecision { record, changes })
}

/// Maximum lease: 366 days, in milliseconds.
pub const MAX_TASK_LEASE_MS: u64 = 366 * 86_400_000;

fn check_lease_length(lease_ms: Option<u64>) -> Result<(), Refusal> {
    match lease_ms {
        Some(lease) if !(1..=MAX_TASK_LEASE_MS).contains(&lease) => {
            Err(Refusal::from(TaskRefusal::LeaseOutOfRange { lease }))
        }
        _ => Ok(()),
    }
}

fn set_lease(record: &mut TaskRecord, lease_ms: u64, now: i64) {
    let end = now.saturating_add(saturating_cast::<i64>(lease_ms));
    record.task.lease_ms = Some(lease_ms);
    record.task.lease_expires_at = Some(Timestamp::from_millis(end));
}
