//! State transitions of tasks (004 §5.2.3): the transition table, open blockers, and required approval.

use super::update::Rules;
use super::{Approval, TaskRecord, TaskStatus, TaskType};
use crate::caller::Caller;
use crate::permission::Permission;
use crate::refusal::{Code, Refusal};
use crate::time::Timestamp;

/// Changes the state if the transition table, the dependencies and the approval rule allow it (§5.2.3).
pub(super) fn step(
    record: &mut TaskRecord,
    to: TaskStatus,
    rules: Rules<'_>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<(), Refusal> {
    let from = record.task.status;
    if from == to {
        return Ok(());
    }
    from.check_step(
        to,
        rules
            .policy
            .allows(caller, Permission::DeleteCompletedTasks),
    )?;
    match to {
        TaskStatus::InProgress => start(record, now),
        TaskStatus::Completed => complete(record, rules, caller, now),
        TaskStatus::Pending | TaskStatus::Deleted => {
            record.task.status = to;
            Ok(())
        }
    }
}

/// Starts a task. Fails with `task_blocked` if a blocker is open.
pub(super) fn start(record: &mut TaskRecord, now: &Timestamp) -> Result<(), Refusal> {
    if !record.is_unblocked() {
        return Err(blocked(record));
    }
    record.task.status = TaskStatus::InProgress;
    record.task.started_at.get_or_insert_with(|| now.clone());
    Ok(())
}

/// Returns the refusal for a blocked task.
pub(super) fn blocked(record: &TaskRecord) -> Refusal {
    let waits: Vec<_> = record
        .task
        .blocked_by
        .iter()
        .map(|id| format!("#{id}"))
        .collect();
    Refusal::new(
        Code::TaskBlocked,
        format!(
            "Task #{} is blocked: {} of the tasks it waits for ({}) not completed.",
            record.task.id,
            record.open_blockers,
            waits.join(", ")
        ),
        "complete those first; `polis task ready` lists what can be started",
    )
}

fn complete(
    record: &mut TaskRecord,
    rules: Rules<'_>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<(), Refusal> {
    let needs = record
        .task
        .task_type
        .is_some_and(|t| rules.approval_required.contains(&t));
    if needs && record.task.approval.is_none() {
        if !rules.policy.allows(caller, Permission::ApproveTasks) {
            return Err(Refusal::new(
                Code::ApprovalRequired,
                format!(
                    "Task #{} is of type \"{}\" and needs approval before it is completed.",
                    record.task.id,
                    record.task.task_type.map_or("", TaskType::as_str)
                ),
                format!(
                    "ask the team lead to run `polis task approve {}`, then complete it",
                    record.task.id
                ),
            ));
        }
        // A caller with the permission to approve implicitly approves the task by completing it.
        record.task.approval = Some(Approval {
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
