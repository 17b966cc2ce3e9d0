//! The task record: the fields of requirement 004 (docs/requirements.md), and those that polis adds.
//!
//! [`Task`] is what callers see, [`TaskRecord`] what stores keep, and [`TaskSummary`] what lists show.
//! Unknown fields of imported tasks are preserved.

use schemars::JsonSchema;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize};

use super::{TaskPriority, TaskStatus, TaskType};
use crate::id::{AgentId, TaskId};
use crate::json::{RawJson, RawObject};
use crate::refusal::Reason;
use crate::timestamp::Timestamp;

/// An approval of a task's completion.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskApproval {
    /// The agent or person that approved.
    pub by: AgentId,
    /// Time of the approval.
    pub at: Timestamp,
    /// Note of the approver.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// A task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Task {
    /// Task number, never reused.
    pub id: TaskId,
    /// Summary of the work, in one line.
    pub subject: String,
    /// Detailed description of the work.
    pub description: String,
    /// Text shown while the task is in progress, such as "Implementing the backend".
    #[serde(skip_serializing_if = "Option::is_none")]
    pub active_form: Option<String>,
    /// Status of the task.
    pub status: TaskStatus,
    /// The agent that holds the task; empty if none does.
    pub owner: String,
    /// Data stored by callers; polis interprets only `priority`, which is the field of that name.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub metadata: Option<RawObject>,
    /// Tasks that wait for this one.
    pub blocks: Vec<TaskId>,
    /// Tasks this one waits for.
    pub blocked_by: Vec<TaskId>,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it was last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// Role that the owner must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_role: Option<String>,
    /// Version: 1 when created, incremented by every change.
    pub version: u64,
    /// Type of work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_type: Option<TaskType>,
    /// Priority; absent means normal. Always what `metadata.priority` means.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<TaskPriority>,
    /// When its owner claimed it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub claimed_at: Option<Timestamp>,
    /// When work began.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub started_at: Option<Timestamp>,
    /// When it was completed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub completed_at: Option<Timestamp>,
    /// Duration of the owner's lease from each heartbeat, in milliseconds.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_ms: Option<u64>,
    /// When the lease expires; after that the task is stale and may be claimed again.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_expires_at: Option<Timestamp>,
    /// The approval of its completion.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub approval: Option<TaskApproval>,
    /// Unknown fields, preserved unchanged.
    #[serde(flatten)]
    #[schemars(skip)]
    pub extra: RawObject,
}

impl Task {
    /// Returns when its owner's lease expires (milliseconds), if it is held by a lease.
    pub fn lease_end(&self) -> Option<i64> {
        let has_holder = self.status == TaskStatus::InProgress && !self.owner.is_empty();
        let end = self.lease_expires_at.as_ref().and_then(Timestamp::millis);
        end.filter(|_| has_holder)
    }

    /// Returns whether its lease had expired at `now` (milliseconds).
    pub fn is_stale(&self, now: i64) -> bool {
        self.lease_end().is_some_and(|end| end <= now)
    }

    /// Returns the milliseconds from start to completion, if both are known.
    pub fn duration_ms(&self) -> Option<i64> {
        let start = self
            .started_at
            .as_ref()
            .or(self.claimed_at.as_ref())?
            .millis()?;
        Some((self.completed_at.as_ref()?.millis()? - start).max(0))
    }

    /// Removes unusable values that a task file contained for fields that now have a valid value, so that no
    /// key occurs twice in the JSON.
    pub(super) fn remove_shadowed_fields(&mut self) {
        let known_fields = [
            ("activeForm", self.active_form.is_some()),
            ("metadata", self.metadata.is_some()),
            ("createdAt", self.created_at.is_some()),
            ("updatedAt", self.updated_at.is_some()),
            ("requiredRole", self.required_role.is_some()),
            ("taskType", self.task_type.is_some()),
            ("priority", self.priority.is_some()),
            ("claimedAt", self.claimed_at.is_some()),
            ("startedAt", self.started_at.is_some()),
            ("completedAt", self.completed_at.is_some()),
            ("leaseMs", self.lease_ms.is_some()),
            ("leaseExpiresAt", self.lease_expires_at.is_some()),
            ("approval", self.approval.is_some()),
        ];
        for (name, _) in known_fields.iter().filter(|(_, set)| *set) {
            self.extra.remove(name);
        }
    }

    /// Returns the fields that differ from `before`, with their new values; a removed field is null.
    pub fn changes_since(&self, before: &Self) -> RawObject {
        let mut changes = RawObject::default();
        macro_rules! compare {
            ($($field:ident $name:literal),+) => {
                $(if self.$field != before.$field && let Ok(value) = RawJson::from_value(&self.$field) {
                    changes.set($name, value);
                })+
            };
        }
        compare!(
            subject "subject", description "description", active_form "activeForm", status "status", owner "owner",
            metadata "metadata", blocks "blocks", blocked_by "blockedBy", required_role "requiredRole",
            task_type "taskType", priority "priority", claimed_at "claimedAt", started_at "startedAt", completed_at "completedAt",
            lease_ms "leaseMs", lease_expires_at "leaseExpiresAt", approval "approval"
        );
        changes
    }
}

impl<'de> Deserialize<'de> for Task {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = RawObject::deserialize(deserializer)?;
        super::task_files::parse_task(fields, None)
            .map(|read| read.task)
            .map_err(|problem| D::Error::custom(Reason::from(problem)))
    }
}

/// A task as stored, with the additional data that the rules need.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskRecord {
    /// The task as callers see it.
    pub task: Task,
    /// Incremented by every write; changesets expect it. `version` counts only changes that matter to agents,
    /// so that a heartbeat or a comment does not invalidate an `expectedVersion`.
    pub revision: u64,
    /// The owner's role at the time of the claim.
    pub owner_role: Option<String>,
    /// Number of its blockers that are neither completed nor deleted; maintained by the store.
    pub open_blockers: u32,
}

impl TaskRecord {
    /// Returns whether none of its blockers is open.
    pub fn is_unblocked(&self) -> bool {
        self.open_blockers == 0
    }

    /// Returns whether an agent with the required role could claim it: pending or released, unblocked and not
    /// held, or held by an expired lease.
    pub fn is_claimable(&self, now: i64) -> bool {
        let task = &self.task;
        match task.status {
            TaskStatus::Pending => task.owner.is_empty() && self.is_unblocked(),
            TaskStatus::InProgress => {
                (task.owner.is_empty() && self.is_unblocked()) || task.is_stale(now)
            }
            TaskStatus::Completed | TaskStatus::Deleted => false,
        }
    }
}

/// Summary of a task for lists.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskSummary {
    /// Task number.
    pub id: TaskId,
    /// Summary of the work, in one line.
    pub subject: String,
    /// Status of the task.
    pub status: TaskStatus,
    /// The agent that holds the task; empty if none does.
    pub owner: String,
    /// Tasks it waits for.
    pub blocked_by: Vec<TaskId>,
    /// Role that the owner must have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub required_role: Option<String>,
    /// Its version.
    pub version: u64,
    /// Type of work.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub task_type: Option<TaskType>,
    /// Priority, if it is not normal.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub priority: Option<TaskPriority>,
    /// When it was created.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub created_at: Option<Timestamp>,
    /// When it was last changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub updated_at: Option<Timestamp>,
    /// Number of its blockers that are still open.
    pub open_blockers: u32,
    /// When the owner's lease expires.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lease_expires_at: Option<Timestamp>,
    /// Whether the owner's lease has expired.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub stale: bool,
}

impl TaskSummary {
    /// Creates the summary of a record.
    pub fn from_record(record: &TaskRecord) -> Self {
        let task = &record.task;
        Self {
            id: task.id,
            subject: task.subject.clone(),
            status: task.status,
            owner: task.owner.clone(),
            blocked_by: task.blocked_by.clone(),
            required_role: task.required_role.clone(),
            version: task.version,
            task_type: task.task_type,
            priority: task.priority.filter(|p| *p != TaskPriority::Normal),
            created_at: task.created_at.clone(),
            updated_at: task.updated_at.clone(),
            open_blockers: record.open_blockers,
            lease_expires_at: task.lease_end().map(Timestamp::from_millis),
            stale: false,
        }
    }
}
