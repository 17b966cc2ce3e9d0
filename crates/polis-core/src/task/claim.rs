//! Claiming, releasing and heartbeats of tasks.
//!
//! A claim makes the caller the owner of a task and starts it, optionally with a lease that heartbeats renew.

use crate::event::kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::owner::{
    already_claimed, check_force, check_holder, check_owner, not_holder, release, take,
};
use super::transition::{blocked, start};
use super::update::{Decided, Rules, check_version, seal};
use super::{TaskRecord, TaskStatus, not_found};
use crate::agent::Registered;
use crate::caller::Caller;
use crate::changeset::{Changeset, Expect, Write};
use crate::event::{NewEvent, Subject};
use crate::id::TaskId;
use crate::refusal::{Code, Refusal};
use crate::time::Timestamp;

/// The parameters of `TaskClaim`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskClaim {
    /// The task; left out: the best ready one for the caller.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<TaskId>,
    /// The version you read; refused if the task has changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
    /// How long the claim holds, in milliseconds, unless you claim again; left out: until you release it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// Claim across roles (team lead).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force_assign: bool,
}

/// Decides a claim: the caller becomes the owner and the task is in progress, in one commit.
///
/// Claiming a task that the caller already holds only renews the lease, so a retry is idempotent.
pub fn decide_claim(
    request: &TaskClaim,
    current: &TaskRecord,
    entry: Option<&Registered>,
    rules: Rules<'_>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<Decided, Refusal> {
    let task = &current.task;
    rules.policy.check_claim(caller, task.task_type)?;
    check_version(task, request.expected_version)?;
    let millis = now.millis().unwrap_or(0);
    if task.status == TaskStatus::Deleted {
        return Err(not_found(task.id));
    }
    let mine = task.owner == caller.id.as_str();
    if !task.owner.is_empty()
        && !mine
        && !task.is_stale(millis)
        && task.status != TaskStatus::Completed
    {
        return Err(already_claimed(task));
    }
    if task.status == TaskStatus::Completed {
        task.status.check_step(TaskStatus::InProgress, false)?;
    }
    check_force(request.force_assign, rules.policy, caller)?;
    check_lease(request.lease_ms)?;
    let mut record = current.clone();
    let mut assignment = None;
    if !mine || task.is_stale(millis) {
        let taken = check_owner(task, &caller.id, entry, request.force_assign, caller)?;
        take(&mut record, &taken, now);
        assignment = Some(taken);
    }
    if task.status == TaskStatus::Pending {
        start(&mut record, now)?;
    } else if task.owner.is_empty() && !current.is_unblocked() {
        return Err(blocked(current));
    }
    if let Some(lease) = request.lease_ms {
        set_lease(&mut record, lease, millis);
    }
    let mut changes = Changeset::by(caller, now.clone());
    if assignment.is_some() {
        changes.writes.extend(entry.map(Registered::touch));
    }
    if record.task == *task {
        return Ok(Decided { record, changes });
    }
    Ok(seal(
        current,
        record,
        0,
        kind::TASK_CLAIMED,
        assignment,
        changes,
        now,
    ))
}

/// Decides a release. The task stays in progress and can be claimed by any agent with the required role.
pub fn decide_release(
    current: &TaskRecord,
    expected_version: Option<u64>,
    rules: Rules<'_>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<Decided, Refusal> {
    let task = &current.task;
    rules.policy.check_update(caller, &task.owner)?;
    check_version(task, expected_version)?;
    if task.status == TaskStatus::Deleted {
        return Err(not_found(task.id));
    }
    let changes = Changeset::by(caller, now.clone());
    if task.owner.is_empty() {
        return Ok(Decided {
            record: current.clone(),
            changes,
        });
    }
    check_holder(task, rules.policy, caller)?;
    if task.status == TaskStatus::Completed {
        task.status.check_step(TaskStatus::InProgress, false)?;
    }
    let mut record = current.clone();
    release(&mut record);
    Ok(seal(
        current,
        record,
        0,
        kind::TASK_RELEASED,
        None,
        changes,
        now,
    ))
}

/// Adds the release of a task whose owner is dismissed. The task keeps its status and can be claimed again.
pub(crate) fn let_go(current: &TaskRecord, changes: Changeset, now: &Timestamp) -> Changeset {
    let mut record = current.clone();
    release(&mut record);
    seal(current, record, 0, kind::TASK_RELEASED, None, changes, now).changes
}

/// Decides a heartbeat: the lease is renewed from now. The version does not change, so that the version the
/// owner has read stays current.
pub fn decide_heartbeat(
    current: &TaskRecord,
    lease_ms: Option<u64>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<Decided, Refusal> {
    let task = &current.task;
    if task.status == TaskStatus::Deleted {
        return Err(not_found(task.id));
    }
    if task.owner != caller.id.as_str() || task.status != TaskStatus::InProgress {
        return Err(not_holder(task, caller));
    }
    let Some(lease) = lease_ms.or(task.lease_ms) else {
        return Err(Refusal::new(
            Code::InvalidInput,
            format!("Task #{} has no lease to renew.", task.id),
            format!("give one: `polis task heartbeat {} --lease 30m`", task.id),
        ));
    };
    check_lease(Some(lease))?;
    let mut record = current.clone();
    set_lease(&mut record, lease, now.millis().unwrap_or(0));
    record.revision += 1;
    let data = serde_json::json!({ "leaseExpiresAt": record.task.lease_expires_at });
    let changes = Changeset::by(caller, now.clone())
        .write(Write::PutTask {
            expect: Expect::Revision(current.revision),
            record: Box::new(record.clone()),
            blocker_change: 0,
        })
        .event(NewEvent::of(
            kind::TASK_HEARTBEAT,
            Subject::Task(task.id),
            &data,
        ));
    Ok(Decided { record, changes })
}

/// Maximum lease: 366 days, in milliseconds.
pub const MAX_LEASE_MS: u64 = 366 * 86_400_000;

fn check_lease(lease_ms: Option<u64>) -> Result<(), Refusal> {
    match lease_ms {
        Some(lease) if !(1..=MAX_LEASE_MS).contains(&lease) => Err(Refusal::new(
            Code::InvalidInput,
            format!(
                "A lease of {lease} ms is out of range; between 1 ms and 366 days is accepted."
            ),
            "give a shorter lease, and keep it alive with heartbeats",
        )),
        _ => Ok(()),
    }
}

fn set_lease(record: &mut TaskRecord, lease_ms: u64, now: i64) {
    let end = now.saturating_add(i64::try_from(lease_ms).unwrap_or(i64::MAX));
    record.task.lease_ms = Some(lease_ms);
    record.task.lease_expires_at = Some(Timestamp::from_millis(end));
}
