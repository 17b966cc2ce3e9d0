//! Types and checks shared by the rules that change a task: the configured rules, the result
//! ([`TaskDecision`]), the version check, and the completion of a changed record and its changeset.
//!
//! The rules themselves are in `update`, `claim`, `task_approval` and `transition`.

use super::{Task, TaskRecord, TaskStatus, TaskType};
use crate::changeset::{Changeset, StoreWrite, WritePrecondition};
use crate::event::{EventPayload, EventSubject, NewEvent, OwnerAssignment, TaskChangedEvent};
use crate::permission::PermissionPolicy;
use crate::refusal::{Refusal, TaskRefusal};
use crate::role::RoleSet;
use crate::timestamp::Timestamp;

/// Rules configured for an installation, as far as they concern tasks.
#[derive(Debug, Clone, Copy)]
pub struct TaskRules<'a> {
    /// Roles of the installation.
    pub roles: &'a RoleSet,
    /// Permissions of the roles.
    pub policy: &'a PermissionPolicy,
    /// Task types whose completion needs approval.
    pub approval_required: &'a [TaskType],
}

/// The result of a rule: the new task record, and the changeset to commit.
#[derive(Debug, Clone, PartialEq)]
pub struct TaskDecision {
    /// The task after the change.
    pub record: TaskRecord,
    /// Empty if the request changes nothing.
    pub changes: Changeset,
}

/// Fails with `version_mismatch` if the caller read a version other than the current one.
pub fn check_task_version(task: &Task, expected: Option<u64>) -> Result<(), Refusal> {
    match expected {
        Some(expected) if expected != task.version => {
            Err(Refusal::from(TaskRefusal::VersionMismatch {
                expected,
                current: task.version,
                task: task.id,
            }))
        }
        _ => Ok(()),
    }
}

/// Constructor of the payload of a task's change; it selects the kind of the event.
pub(super) type TaskChangePayload = fn(TaskChangedEvent) -> EventPayload;

/// Finishes a change: increments version and revision, sets the time of the change, and adds the record and
/// the event.
pub(super) fn finish_task_change(
    current: &TaskRecord,
    mut record: TaskRecord,
    blocker_change: i64,
    payload: TaskChangePayload,
    assignment: Option<OwnerAssignment>,
    mut changes: Changeset,
    now: &Timestamp,
) -> TaskDecision {
    record.task.version = current.task.version + 1;
    record.task.updated_at = Some(now.clone());
    record.revision = current.revision + 1;
    record.task.remove_shadowed_fields();
    let mut data = TaskChangedEvent::from_change(&current.task, &record.task);
    data.assignment = assignment;
    if record.task.status == TaskStatus::Completed && current.task.status != TaskStatus::Completed {
        data.duration_ms = record.task.duration_ms();
        data.task_type = record.task.task_type.map(|t| t.as_str().to_owned());
    }
    changes.events.insert(
        0,
        NewEvent::new(EventSubject::Task(record.task.id), payload(data)),
    );
    changes.writes.insert(
        0,
        StoreWrite::PutTask {
            expect: WritePrecondition::Revision(current.revision),
            record: Box::new(record.clone()),
            blocker_change,
        },
    );
    TaskDecision { record, changes }
}

/// Returns the event payload whose kind describes a change best.
pub(super) fn task_change_payload(before: &Task, after: &Task) -> TaskChangePayload {
    match after.status {
        TaskStatus::Completed if before.status != TaskStatus::Completed => {
            EventPayload::TaskCompleted
        }
        TaskStatus::Deleted => EventPayload::TaskDeleted,
        _ if before.owner != after.owner && after.owner.is_empty() => EventPayload::TaskReleased,
        _ if before.owner != after.owner => EventPayload::TaskClaimed,
        TaskStatus::InProgress if before.status == TaskStatus::Pending => EventPayload::TaskStarted,
        TaskStatus::Pending | TaskStatus::InProgress | TaskStatus::Completed => {
            EventPayload::TaskUpdated
        }
    }
}
