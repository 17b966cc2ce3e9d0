//! Decides the approval of a task by a caller with the permission `approve_tasks`.
//!
//! Any task that has been started can be approved, of whatever type; the approval is valid until the owner
//! changes. The configuration lists the types that need one, and `transition` checks that on completion. A caller
//! who may approve does so implicitly by completing the task.

use super::task_decision::{TaskDecision, TaskRules, check_task_version, finish_task_change};
use super::{TaskApproval, TaskRecord, TaskStatus, task_not_found, text_limits};
use crate::caller::Caller;
use crate::changeset::Changeset;
use crate::event::EventPayload;
use crate::permission::Permission;
use crate::refusal::Refusal;
use crate::refusal::{TaskRefusal, TextField};
use crate::timestamp::Timestamp;

/// Checks an approval and returns the approved task with the changeset. The approval is valid until the
/// task's owner changes; a second one changes nothing. Fails with `permission_denied`, `version_mismatch` or
/// `task_not_found`, and with `wrong_state` if the task is pending.
pub fn decide_approve_task(
    current: &TaskRecord,
    note: Option<&str>,
    expected_version: Option<u64>,
    rules: TaskRules<'_>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<TaskDecision, Refusal> {
    rules.policy.check(caller, Permission::ApproveTasks)?;
    check_task_version(&current.task, expected_version)?;
    if let Some(note) = note {
        text_limits::check_text(TextField::Note, note)?;
    }
    match current.task.status {
        TaskStatus::Deleted => return Err(task_not_found(current.task.id)),
        TaskStatus::Pending => {
            return Err(Refusal::from(TaskRefusal::NotBegun {
                task: current.task.id,
            }));
        }
        TaskStatus::InProgress | TaskStatus::Completed => {}
    }
    let changes = Changeset::new(caller, now.clone());
    if current.task.approval.is_some() {
        return Ok(TaskDecision {
            record: current.clone(),
            changes,
        });
    }
    let mut record = current.clone();
    record.task.approval = Some(TaskApproval {
        by: caller.id.clone(),
        at: now.clone(),
        note: note.map(ToOwned::to_owned),
    });
    Ok(finish_task_change(
        current,
        record,
        0,
        EventPayload::TaskApproved,
        None,
        changes,
        now,
    ))
}
