//! Task creation: validates the request and links the new task to existing ones by dependencies.
//!
//! Checks permissions, texts, metadata, role and type of a request, and returns the new record with its
//! changeset.

use crate::refusal::TextField;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dependency::{self, DependencyChange, DependencyNeighbours};
use super::task_priority::check_priority_agreement;
use super::{Task, TaskPriority, TaskRecord, TaskStatus, TaskType, text_limits};
use crate::caller::Caller;
use crate::changeset::{Changeset, StoreWrite, WritePrecondition};
use crate::event::{EventPayload, EventSubject, NewEvent, TaskSnapshotEvent};
use crate::id::TaskId;
use crate::json::RawObject;
use crate::permission::{Permission, PermissionPolicy};
use crate::refusal::Refusal;
use crate::role::RoleSet;
use crate::timestamp::Timestamp;

/// The parameters of `TaskCreate`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskCreateParams {
    /// Summary of the work, in one line.
    pub subject: String,
    /// Detailed description of the work.
    #[serde(default)]
    pub description: String,
    /// Text shown while the task is in progress, such as "Writing tests".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// Any JSON object. Its `priority` sets the field of that name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawObject>,
    /// Role that the owner must have, such as backend-leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_role: Option<String>,
    /// The type of work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<TaskType>")]
    pub task_type: Option<String>,
    /// Priority; default: normal. Claims and recommendations take the highest first.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<TaskPriority>,
    /// Tasks that wait for this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add_blocks: Vec<TaskId>,
    /// Tasks that this one waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add_blocked_by: Vec<TaskId>,
}

impl TaskCreateParams {
    /// Returns the requested dependencies.
    pub fn dependency_change(&self) -> DependencyChange<'_> {
        DependencyChange {
            add_blocks: &self.add_blocks,
            add_blocked_by: &self.add_blocked_by,
            ..DependencyChange::default()
        }
    }
}

/// Checks a request to create a task and returns the record with the changeset. Fails if the caller may not
/// create tasks or a field is invalid.
///
/// Without a `number` the store assigns the next one. A task created with dependencies needs its number in
/// advance, because the other tasks refer to it, so the operation reserves one.
pub fn decide_create_task(
    request: &TaskCreateParams,
    number: Option<TaskId>,
    neighbours: &DependencyNeighbours,
    roles: &RoleSet,
    policy: &PermissionPolicy,
    caller: &Caller,
    now: &Timestamp,
) -> Result<(TaskRecord, Changeset), Refusal> {
    policy.check(caller, Permission::CreateTasks)?;
    text_limits::check_line(TextField::Subject, &request.subject)?;
    text_limits::check_text(TextField::Description, &request.description)?;
    if let Some(form) = &request.active_form {
        text_limits::check_line(TextField::ActiveForm, form)?;
    }
    check_priority_agreement(request.priority, request.metadata.as_ref())?;
    let mut metadata = request.metadata.clone();
    if let Some(priority) = request.priority {
        priority.write_to_metadata(&mut metadata);
    }
    if let Some(metadata) = &metadata {
        text_limits::check_metadata(metadata)?;
    }
    if let Some(role) = &request.required_role {
        roles.check_required_role(role)?;
    }
    let task_type = request
        .task_type
        .as_deref()
        .map(TaskType::parse)
        .transpose()?;
    let task = Task {
        id: number.unwrap_or(TaskId::UNASSIGNED),
        subject: request.subject.clone(),
        description: request.description.clone(),
        active_form: request.active_form.clone(),
        status: TaskStatus::Pending,
        owner: String::new(),
        priority: TaskPriority::from_metadata(metadata.as_ref()),
        metadata,
        blocks: Vec::new(),
        blocked_by: Vec::new(),
        created_at: Some(now.clone()),
        updated_at: Some(now.clone()),
        required_role: request.required_role.clone(),
        version: 1,
        task_type,
        claimed_at: None,
        started_at: None,
        completed_at: None,
        lease_ms: None,
        lease_expires_at: None,
        approval: None,
        extra: RawObject::default(),
    };
    let mut record = TaskRecord {
        task,
        revision: 1,
        owner_role: None,
        open_blockers: 0,
    };
    let dependencies = dependency::decide_dependencies(
        &record,
        request.dependency_change(),
        neighbours,
        false,
        now,
    )?;
    record.task.blocks.clone_from(&dependencies.blocks);
    record.task.blocked_by.clone_from(&dependencies.blocked_by);
    record.open_blockers = u32::try_from(dependencies.blocker_change).unwrap_or(0);
    let boxed = Box::new(record.clone());
    let changes = Changeset::new(caller, now.clone());
    let mut changes = match number {
        None => changes.with_write(StoreWrite::CreateTask(boxed)),
        Some(_) => {
            let write = StoreWrite::PutTask {
                expect: WritePrecondition::Absent,
                record: boxed,
                blocker_change: dependencies.blocker_change,
            };
            changes.with_write(write)
        }
    };
    let subject = number.map_or(EventSubject::CreatedTask, EventSubject::Task);
    let snapshot = Box::new(TaskSnapshotEvent::from_new_task(&record.task));
    changes
        .events
        .push(NewEvent::new(subject, EventPayload::TaskCreated(snapshot)));
    dependencies.add_to(&mut changes);
    Ok((record, changes))
}
