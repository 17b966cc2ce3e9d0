//! Approval of a task's completion (004 §10.2).
//!
//! Task types listed in the configuration can be completed only after a caller with `approve_tasks` has
//! approved them.

use super::update::{Decided, Rules, check_version, seal};
use super::{Approval, TaskRecord, TaskStatus, not_found, text};
use crate::caller::Caller;
use crate::changeset::Changeset;
use crate::event::kind;
use crate::permission::Permission;
use crate::refusal::{Code, Refusal};
use crate::time::Timestamp;

/// Decides an approval. It is valid until the task's owner changes.
pub fn decide(
    current: &TaskRecord,
    note: Option<&str>,
    expected_version: Option<u64>,
    rules: Rules<'_>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<Decided, Refusal> {
    rules.policy.check(caller, Permission::ApproveTasks)?;
    check_version(&current.task, expected_version)?;
    if let Some(note) = note {
        text::check_text("note", note)?;
    }
    match current.task.status {
        TaskStatus::Deleted => return Err(not_found(current.task.id)),
        TaskStatus::Pending => {
            return Err(Refusal::new(
                Code::WrongState,
                format!(
                    "Task #{} is pending; only work that has begun can be approved.",
                    current.task.id
                ),
                "approve it when its owner reports it done",
            ));
        }
        TaskStatus::InProgress | TaskStatus::Completed => {}
    }
    let changes = Changeset::by(caller, now.clone());
    if current.task.approval.is_some() {
        return Ok(Decided {
            record: current.clone(),
            changes,
        });
    }
    let mut record = current.clone();
    record.task.approval = Some(Approval {
        by: caller.id.clone(),
        at: now.clone(),
        note: note.map(ToOwned::to_owned),
    });
    Ok(seal(
        current,
        record,
        0,
        kind::TASK_APPROVED,
        None,
        changes,
        now,
    ))
}
