//! Creation of tasks (004 §3), with the dependencies to existing tasks.
//!
//! Checks permissions, texts, metadata, role and type of a request, and returns the new record with its
//! changeset.

use crate::event::kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::depend::{self, Edges, Neighbours};
use super::{Task, TaskRecord, TaskStatus, TaskType, text};
use crate::caller::Caller;
use crate::changeset::{Changeset, Expect, Write};
use crate::event::{NewEvent, Subject};
use crate::id::TaskId;
use crate::json::{Fields, Raw};
use crate::permission::{Permission, Policy};
use crate::refusal::Refusal;
use crate::role::RoleSet;
use crate::time::Timestamp;

/// The parameters of `TaskCreate`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskCreate {
    /// What is to be done, in one line.
    pub subject: String,
    /// What is to be done, at length.
    #[serde(default)]
    pub description: String,
    /// What is shown while it is in progress, such as "Writing tests".
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// Any JSON object; priority is critical, high, normal or low.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub metadata: Option<Fields>,
    /// The role that its owner must have, such as backend-leader.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_role: Option<String>,
    /// The type of work.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<TaskType>")]
    pub task_type: Option<String>,
    /// Tasks that wait for this one.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add_blocks: Vec<TaskId>,
    /// Tasks that this one waits for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub add_blocked_by: Vec<TaskId>,
}

impl TaskCreate {
    /// Returns the requested dependencies.
    pub fn edges(&self) -> Edges<'_> {
        Edges {
            add_blocks: &self.add_blocks,
            add_blocked_by: &self.add_blocked_by,
            ..Edges::default()
        }
    }
}

/// Decides a creation.
///
/// Without a `number` the store assigns the next one. A task created with dependencies needs its number in
/// advance, because the other tasks refer to it, so the operation reserves one.
pub fn decide(
    request: &TaskCreate,
    number: Option<TaskId>,
    neighbours: &Neighbours,
    roles: &RoleSet,
    policy: &Policy,
    caller: &Caller,
    now: &Timestamp,
) -> Result<(TaskRecord, Changeset), Refusal> {
    policy.check(caller, Permission::CreateTasks)?;
    text::check_line("subject", &request.subject)?;
    text::check_text("description", &request.description)?;
    if let Some(form) = &request.active_form {
        text::check_line("activeForm", form)?;
    }
    if let Some(metadata) = &request.metadata {
        text::check_metadata(metadata)?;
    }
    if let Some(role) = &request.required_role {
        roles.check_required(role)?;
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
        metadata: request.metadata.clone(),
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
        extra: Fields::default(),
    };
    let mut record = TaskRecord {
        task,
        revision: 1,
        owner_role: None,
        open_blockers: 0,
    };
    let wired = depend::wire(&record, request.edges(), neighbours, false, now)?;
    record.task.blocks.clone_from(&wired.blocks);
    record.task.blocked_by.clone_from(&wired.blocked_by);
    record.open_blockers = u32::try_from(wired.blocker_change).unwrap_or(0);
    let boxed = Box::new(record.clone());
    let changes = Changeset::by(caller, now.clone());
    let mut changes = match number {
        None => changes.write(Write::CreateTask(boxed)),
        Some(_) => {
            let put = Write::PutTask {
                expect: Expect::Absent,
                record: boxed,
                blocker_change: wired.blocker_change,
            };
            changes.write(put)
        }
    };
    let subject = number.map_or(Subject::CreatedTask, Subject::Task);
    // The event's subject identifies the task; its number may not be known yet.
    let mut content: Fields = Raw::of(&record.task)
        .ok()
        .and_then(|raw| raw.to())
        .unwrap_or_default();
    content.take("id");
    changes
        .events
        .push(NewEvent::of(kind::TASK_CREATED, subject, &content));
    wired.add_to(&mut changes);
    Ok((record, changes))
}
