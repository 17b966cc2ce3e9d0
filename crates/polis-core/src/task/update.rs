//! Update of tasks (004 §5), all or nothing: the order of the checks, version checks, and plain fields.
//!
//! Ownership is in `owner`, state transitions in `step`, dependencies in `depend`.

use crate::event::kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::depend::{self, Edges, Neighbours};
use super::history::{Assignment, Changed};
use super::owner::{assign, check_tenure};
use super::transition::step;
use super::{Task, TaskRecord, TaskStatus, TaskType, not_found, text};
use crate::agent::Registered;
use crate::caller::Caller;
use crate::changeset::{Changeset, Expect, Write};
use crate::event::{NewEvent, Subject};
use crate::id::{AgentId, TaskId};
use crate::json::Fields;
use crate::permission::{Permission, Policy};
use crate::refusal::{Code, Refusal};
use crate::role::RoleSet;
use crate::time::Timestamp;

/// The parameters of `TaskUpdate`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskUpdate {
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
    /// What is shown while it is in progress.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// The new owner; empty releases the task.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// Metadata to merge in; a null removes its key.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Fields>,
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
    /// The version you read; refused if the task has changed since.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expected_version: Option<u64>,
    /// Assign across roles (team lead).
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub force_assign: bool,
}

impl TaskUpdate {
    /// Creates a request without any change.
    pub fn of(task_id: TaskId) -> Self {
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
    pub fn edges(&self) -> Edges<'_> {
        Edges {
            add_blocks: &self.add_blocks,
            add_blocked_by: &self.add_blocked_by,
            remove_blocks: &self.remove_blocks,
            remove_blocked_by: &self.remove_blocked_by,
        }
    }
}

/// Rules configured for an installation.
#[derive(Debug, Clone, Copy)]
pub struct Rules<'a> {
    /// Its roles.
    pub roles: &'a RoleSet,
    /// Its permissions.
    pub policy: &'a Policy,
    /// Task types whose completion needs approval.
    pub approval_required: &'a [TaskType],
}

/// State that a decision needs in addition to the task.
#[derive(Debug, Clone, Copy)]
pub struct Surroundings<'a> {
    /// The registry entry of the new owner, if the request names one and it is registered.
    pub new_owner: Option<&'a Registered>,
    /// The relevant part of the graph, if edges change.
    pub neighbours: &'a Neighbours,
}

/// The result of a decision: the new task record, and the changeset to commit.
#[derive(Debug, Clone, PartialEq)]
pub struct Decided {
    /// The task after the change.
    pub record: TaskRecord,
    /// Empty if the request changes nothing.
    pub changes: Changeset,
}

/// Decides an update.
pub fn decide(
    request: &TaskUpdate,
    current: &TaskRecord,
    near: Surroundings<'_>,
    rules: Rules<'_>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<Decided, Refusal> {
    let before = &current.task;
    let asks = TaskUpdate {
        expected_version: None,
        force_assign: false,
        ..request.clone()
    };
    if asks == TaskUpdate::of(request.task_id) {
        return Err(Refusal::new(
            Code::InvalidInput,
            format!(
                "Nothing to update: the request names no field of task #{}.",
                before.id
            ),
            "give at least one field, for example a status or an owner",
        ));
    }
    check_permission(request, before, rules.policy, caller)?;
    check_version(before, request.expected_version)?;
    if before.status == TaskStatus::Deleted
        && request.status.is_none_or(|s| s == TaskStatus::Deleted)
    {
        return Err(not_found(before.id));
    }
    check_tenure(request, before, rules.policy, caller)?;
    check_texts(request)?;
    let mut record = current.clone();
    let assignment = assign(
        request,
        &mut record,
        near.new_owner,
        rules.policy,
        caller,
        now,
    )?;
    edit(request, &mut record.task, rules, caller)?;
    let settles = request.status.is_some_and(TaskStatus::is_settled) && !before.status.is_settled();
    let wired = depend::wire(current, request.edges(), near.neighbours, settles, now)?;
    record.task.blocks.clone_from(&wired.blocks);
    record.task.blocked_by.clone_from(&wired.blocked_by);
    let blocker_change = wired.blocker_change;
    record.open_blockers =
        u32::try_from(i64::from(record.open_blockers) + blocker_change).unwrap_or(0);
    let mut changes = Changeset::by(caller, now.clone());
    if assignment.is_some() {
        changes.writes.extend(near.new_owner.map(Registered::touch));
    }
    if let Some(to) = request.status {
        step(&mut record, to, rules, caller, now)?;
    }
    let mut dependents = record.task.blocks.clone();
    dependents.retain(|id| before.blocks.contains(id));
    if settles && !dependents.is_empty() {
        changes.writes.push(Write::SettleBlocker { dependents });
    }
    let kind = event_kind(before, &record.task);
    let mut decided = seal(
        current,
        record,
        blocker_change,
        kind,
        assignment,
        changes,
        now,
    );
    wired.add_to(&mut decided.changes);
    Ok(decided)
}

/// Finishes a change: increments the version, sets the timestamp, and adds the record and the event.
pub(super) fn seal(
    current: &TaskRecord,
    mut record: TaskRecord,
    blocker_change: i64,
    kind: &'static str,
    assignment: Option<Assignment>,
    mut changes: Changeset,
    now: &Timestamp,
) -> Decided {
    record.task.version = current.task.version + 1;
    record.task.updated_at = Some(now.clone());
    record.revision = current.revision + 1;
    record.task.drop_shadowed();
    let mut data = Changed::between(&current.task, &record.task);
    data.assignment = assignment;
    if kind == kind::TASK_COMPLETED {
        data.duration_ms = record.task.duration_ms();
        data.task_type = record.task.task_type.map(|t| t.as_str().to_owned());
    }
    changes
        .events
        .insert(0, NewEvent::of(kind, Subject::Task(record.task.id), &data));
    changes.writes.insert(
        0,
        Write::PutTask {
            expect: Expect::Revision(current.revision),
            record: Box::new(record.clone()),
            blocker_change,
        },
    );
    Decided { record, changes }
}

fn event_kind(before: &Task, after: &Task) -> &'static str {
    match after.status {
        TaskStatus::Completed if before.status != TaskStatus::Completed => kind::TASK_COMPLETED,
        TaskStatus::Deleted => kind::TASK_DELETED,
        _ if before.owner != after.owner && after.owner.is_empty() => kind::TASK_RELEASED,
        _ if before.owner != after.owner => kind::TASK_CLAIMED,
        TaskStatus::InProgress if before.status == TaskStatus::Pending => kind::TASK_STARTED,
        TaskStatus::Pending | TaskStatus::InProgress | TaskStatus::Completed => kind::TASK_UPDATED,
    }
}

/// Fails with `version_mismatch` if the caller read a version other than the current one (§5.2.1).
pub fn check_version(task: &Task, expected: Option<u64>) -> Result<(), Refusal> {
    match expected {
        Some(expected) if expected != task.version => Err(Refusal::new(
            Code::VersionMismatch,
            format!(
                "Task version mismatch. Expected: {expected}, Current: {}.\n\
                 Another agent has modified this task. Please refresh and retry.",
                task.version
            ),
            format!(
                "read it again with `polis task get {}` and retry with its version",
                task.id
            ),
        )),
        _ => Ok(()),
    }
}

/// Checks permissions: a caller that only takes the task for itself needs the permission to claim, any other
/// the permission to update.
fn check_permission(
    request: &TaskUpdate,
    task: &Task,
    policy: &Policy,
    caller: &Caller,
) -> Result<(), Refusal> {
    let takes =
        request.owner.as_deref() == Some(caller.id.as_str()) && task.owner != caller.id.as_str();
    if takes {
        policy.check_claim(caller, task.task_type)?;
        let only = TaskUpdate {
            status: request.status.filter(|&s| s != TaskStatus::InProgress),
            owner: None,
            expected_version: None,
            force_assign: false,
            ..request.clone()
        };
        if only == TaskUpdate::of(request.task_id) {
            return Ok(());
        }
    }
    policy.check_update(caller, &task.owner)
}

fn check_texts(request: &TaskUpdate) -> Result<(), Refusal> {
    if let Some(subject) = &request.subject {
        text::check_line("subject", subject)?;
    }
    if let Some(description) = &request.description {
        text::check_text("description", description)?;
    }
    match request.active_form.as_deref() {
        Some("") | None => Ok(()),
        Some(form) => text::check_line("activeForm", form),
    }
}

/// Sets the plain fields.
fn edit(
    request: &TaskUpdate,
    task: &mut Task,
    rules: Rules<'_>,
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
    if let Some(patch) = &request.metadata {
        let mut metadata = task.metadata.take().unwrap_or_default();
        metadata.merge(patch);
        text::check_metadata(&metadata)?;
        task.metadata = Some(metadata).filter(|m| !m.is_empty());
    }
    if request.required_role.is_some() || request.task_type.is_some() {
        rules.policy.check(caller, Permission::ChangeRequirements)?;
    }
    if let Some(role) = &request.required_role {
        if !role.is_empty() {
            rules.roles.check_required(role)?;
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
