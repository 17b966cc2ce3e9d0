//! Status transitions of a task: changes the status in its record, or refuses. The rules for updates and claims
//! call this and return the record in a changeset.
//!
//! The transition must be in the transition table (module `status`); deleting a completed task needs a
//! permission. A task with open blockers cannot be started. Completing ends the lease. A task whose type needs
//! approval cannot be completed without one; a caller who may approve gives it by completing the task.

use super::task_decision::TaskRules;
use super::{TaskApproval, TaskRecord, TaskStatus, TaskType};
use crate::caller::Caller;
use crate::permission::Permission;
use crate::refusal::{Refusal, TaskRefusal};
use crate::timestamp::Timestamp;

/// Changes the status if the transition table, the dependencies and the approval rule allow it. Fails with
/// `invalid_transition`, `task_blocked` or `approval_required`.
pub(super) fn apply_transition(
    record: &mut TaskRecord,
    to: TaskStatus,
    rules: TaskRules<'_>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<(), Refusal> {
    let from = record.task.status;
    if from == to {
        return Ok(());
    }
    from.check_transition(
        to,
        rules
            .policy
            .allows(caller, Permission::DeleteCompletedTasks),
    )?;
    match to {
        TaskStatus::InProgress => start_task(record, now),
        TaskStatus::Completed => complete_task(record, rules, caller, now),
        TaskStatus::Pending | TaskStatus::Deleted => {
            record.task.status = to;
            Ok(())
        }
    }
}

/// Starts a task. Fails with `task_blocked` if a blocker is open.
pub(super) fn start_task(record: &mut TaskRecord, now: &Timestamp) -> Result<(), Refusal> {
    if !record.is_unblocked() {
        return Err(task_blocked(record));
    }
    record.task.status = TaskStatus::InProgress;
    record.task.started_at.get_or_insert_with(|| now.clone());
    Ok(())
}

/// Returns the refusal for a blocked task.
pub(super) fn task_blocked(record: &TaskRecord) -> Refusal {
    let blockers: Vec<_> = record
        .task
        .blocked_by
        .iter()
        .map(|id| format!("#{id}"))
        .collect();
    Refusal::from(TaskRefusal::Blocked {
        task: record.task.id,
        open: record.open_blockers,
        blockers,
    })
}

fn complete_task(
    record: &mut TaskRecord,
    rules: TaskRules<'_>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<(), Refusal> {
    let needs = record
        .task
        .task_type
        .is_some_and(|t| rules.approval_required.contains(&t));
    if needs && record.task.approval.is_none() {
        if !rules.policy.allows(caller, Permission::ApproveTasks) {
            return Err(Refusal::from(TaskRefusal::ApprovalRequired {
                task: record.task.id,
                task_type: record
                    .task
                    .task_type
                    .map_or("", TaskType::as_str)
                    .to_string(),
            }));
        }
        // A caller with the permission to approve implicitly approves the task by completing it.
        record.task.approval = Some(TaskApproval {
            by: caller.id.clone(),
            at: now.clone(),
            note: None,
        });
    }
    record.task.status = TaskStatus::Completed;
    record.task.completed_at = Some(now.clone());
    record.task.lease_ms = None;
    record.task.lease_expires_at = None;
    Ok(())
}
