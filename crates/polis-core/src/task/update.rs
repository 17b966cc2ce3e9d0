//! Task updates: checks a `TaskUpdate` request and returns the changed task. One change that is not allowed
//! refuses the whole request.
//!
//! [`decide_update_task`] defines the order of the checks, compares the expected version (optimistic
//! concurrency control) and sets the plain fields. Ownership is in `ownership`, status transitions in
//! `transition`, dependencies in `dependency`.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::dependency::{self, DependencyChange, DependencyNeighbours};
use super::ownership::{assign_owner, check_lease_holder};
use super::task_decision::{
    TaskDecision, TaskRules, check_task_version, finish_task_change, task_change_payload,
};
use super::task_priority::check_priority_agreement;
use super::transition::apply_transition;
use super::{Task, TaskPriority, TaskRecord, TaskStatus, TaskType, task_not_found, text_limits};
use crate::agent::RegisteredAgent;
use crate::caller::Caller;
use crate::changeset::{Changeset, StoreWrite};
use crate::id::{AgentId, TaskId};
use crate::json::RawObject;
use crate::permission::{Permission, PermissionPolicy};
use crate::refusal::Refusal;
use crate::refusal::{TaskRefusal, TextField};
use crate::timestamp::Timestamp;

/// The parameters of `TaskUpdate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskUpdateParams {
    /// The task's number.
    pub task_id: TaskId,
    /// The new status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<TaskStatus>,
    /// The new subject.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// The new description.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub description: Option<String>,
    /// Text shown while the task is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// The new owner; empty releases the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Metadata to merge in; a null removes its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawObject>,
    /// Tasks that wait for this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add_blocks: Vec<TaskId>,
    /// Tasks that this one waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add_blocked_by: Vec<TaskId>,
    /// Tasks that no longer wait for this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove_blocks: Vec<TaskId>,
    /// Tasks that this one no longer waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub remove_blocked_by: Vec<TaskId>,
    /// The new required role (team lead); empty removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_role: Option<String>,
    /// The new type, as for TaskCreate (team lead); empty removes it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
    /// The new priority.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub priority: Option<TaskPriority>,
    /// The version you read; refused if the task has changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
    /// Assign across roles (team lead).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force_assign: bool,
}

impl TaskUpdateParams {
    /// Creates a request without any change.
    pub fn new(task_id: TaskId) -> Self {
        Self {
            task_id,
            status: None,
            subject: None,
            description: None,
            active_form: None,
            owner: None,
            metadata: None,
            add_blocks: Vec::new(),
            add_blocked_by: Vec::new(),
            remove_blocks: Vec::new(),
            remove_blocked_by: Vec::new(),
            required_role: None,
            task_type: None,
            priority: None,
            expected_version: None,
            force_assign: false,
        }
    }

    /// Returns whether the update is in effect a claim: the caller makes itself the owner or starts the task.
    pub fn is_claim_by(&self, caller: &AgentId) -> bool {
        let starts = self.status == Some(TaskStatus::InProgress);
        let owner = self.owner.as_deref();
        owner == Some(caller.as_str()) || (starts && owner.is_none())
    }

    /// Returns the requested changes of dependencies.
    pub fn dependency_change(&self) -> DependencyChange<'_> {
        DependencyChange {
            add_blocks: &self.add_blocks,
            add_blocked_by: &self.add_blocked_by,
            remove_blocks: &self.remove_blocks,
            remove_blocked_by: &self.remove_blocked_by,
        }
    }
}

/// State that an update is checked against, in addition to the task.
#[derive(Debug, Clone, Copy)]
pub struct TaskUpdateContext<'a> {
    /// The registry entry of the new owner, if the request names one and it is registered.
    pub new_owner: Option<&'a RegisteredAgent>,
    /// The relevant part of the graph, if edges change.
    pub neighbours: &'a DependencyNeighbours,
}

/// Checks an update and returns the task with the changeset. Fails with `invalid_input` if the request names
/// no field, or with the refusal of the first check that fails.
pub fn decide_update_task(
    request: &TaskUpdateParams,
    current: &TaskRecord,
    context: TaskUpdateContext<'_>,
    rules: TaskRules<'_>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<TaskDecision, Refusal> {
    let before = &current.task;
    let requested = TaskUpdateParams {
        expected_version: None,
        force_assign: false,
        ..request.clone()
    };
    if requested == TaskUpdateParams::new(request.task_id) {
        return Err(Refusal::from(TaskRefusal::NothingToUpdate {
            task: before.id,
        }));
    }
    check_update_permission(request, before, rules.policy, caller)?;
    check_task_version(before, request.expected_version)?;
    if before.status == TaskStatus::Deleted
        && request.status.is_none_or(|s| s == TaskStatus::Deleted)
    {
        return Err(task_not_found(before.id));
    }
    check_lease_holder(request, before, rules.policy, caller)?;
    check_update_texts(request)?;
    let mut record = current.clone();
    let assignment = assign_owner(
        request,
        &mut record,
        context.new_owner,
        rules.policy,
        caller,
        now,
    )?;
    apply_plain_fields(request, &mut record.task, rules, caller)?;
    let settles =
        request.status.is_some_and(TaskStatus::is_finished) && !before.status.is_finished();
    let dependencies = dependency::decide_dependencies(
        current,
        request.dependency_change(),
        context.neighbours,
        settles,
        now,
    )?;
    record.task.blocks.clone_from(&dependencies.blocks);
    record.task.blocked_by.clone_from(&dependencies.blocked_by);
    let blocker_change = dependencies.blocker_change;
    record.open_blockers =
        u32::try_from(i64::from(record.open_blockers) + blocker_change).unwrap_or(0);
    let mut changes = Changeset::new(caller, now.clone());
    if assignment.is_some() {
        changes
            .writes
            .extend(context.new_owner.map(RegisteredAgent::touch));
    }
    if let Some(to) = request.status {
        apply_transition(&mut record, to, rules, caller, now)?;
    }
    let mut dependents = record.task.blocks.clone();
    dependents.retain(|id| before.blocks.contains(id));
    if settles && !dependents.is_empty() {
        changes.writes.push(StoreWrite::CloseBlocker { dependents });
    }
    let payload = task_change_payload(before, &record.task);
    let mut decision = finish_task_change(
        current,
        record,
        blocker_change,
        payload,
        assignment,
        changes,
        now,
    );
    dependencies.add_to(&mut decision.changes);
    Ok(decision)
}

/// Checks permissions: to become the owner, a caller needs the permission to claim; for any other change, the
/// permission to update.
fn check_update_permission(
    request: &TaskUpdateParams,
    task: &Task,
    policy: &PermissionPolicy,
    caller: &Caller,
) -> Result<(), Refusal> {
    let is_claim =
        request.owner.as_deref() == Some(caller.id.as_str()) && task.owner != caller.id.as_str();
    if is_claim {
        policy.check_claim(caller, task.task_type)?;
        let only = TaskUpdateParams {
            status: request.status.filter(|&s| s != TaskStatus::InProgress),
            owner: None,
            expected_version: None,
            force_assign: false,
            ..request.clone()
        };
        if only == TaskUpdateParams::new(request.task_id) {
            return Ok(());
        }
    }
    policy.check_update(caller, &task.owner)
}

fn check_update_texts(request: &TaskUpdateParams) -> Result<(), Refusal> {
    if let Some(subject) = &request.subject {
        text_limits::check_line(TextField::Subject, subject)?;
    }
    if let Some(description) = &request.description {
        text_limits::check_text(TextField::Description, description)?;
    }
    match request.active_form.as_deref() {
        Some("") | None => Ok(()),
        Some(form) => text_limits::check_line(TextField::ActiveForm, form),
    }
}

/// Sets the fields that are neither the owner, the status nor dependencies.
fn apply_plain_fields(
    request: &TaskUpdateParams,
    task: &mut Task,
    rules: TaskRules<'_>,
    caller: &Caller,
) -> Result<(), Refusal> {
    if let Some(subject) = &request.subject {
        task.subject.clone_from(subject);
    }
    if let Some(description) = &request.description {
        task.description.clone_from(description);
    }
    if let Some(form) = &request.active_form {
        task.active_form = Some(form.clone()).filter(|f| !f.is_empty());
    }
    apply_metadata(request, task)?;
    if request.required_role.is_some() || request.task_type.is_some() {
        rules.policy.check(caller, Permission::ChangeRequirements)?;
    }
    if let Some(role) = &request.required_role {
        if !role.is_empty() {
            rules.roles.check_required_role(role)?;
        }
        task.required_role = Some(role.clone()).filter(|r| !r.is_empty());
    }
    if let Some(name) = &request.task_type {
        task.task_type = if name.is_empty() {
            None
        } else {
            Some(TaskType::parse(name)?)
        };
    }
    Ok(())
}

/// Merges the metadata and sets the priority, which is a part of it.
fn apply_metadata(request: &TaskUpdateParams, task: &mut Task) -> Result<(), Refusal> {
    check_priority_agreement(request.priority, request.metadata.as_ref())?;
    if request.metadata.is_none() && request.priority.is_none() {
        return Ok(());
    }
    let mut metadata = task.metadata.take();
    if let Some(patch) = &request.metadata {
        metadata.get_or_insert_default().merge_patch(patch);
    }
    if let Some(priority) = request.priority {
        priority.write_to_metadata(&mut metadata);
    }
    if let Some(metadata) = &metadata {
        text_limits::check_metadata(metadata)?;
    }
    task.metadata = metadata.filter(|m| !m.is_empty());
    task.priority = TaskPriority::from_metadata(task.metadata.as_ref());
    Ok(())
}
