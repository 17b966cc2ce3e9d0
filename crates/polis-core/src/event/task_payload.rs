//! Payloads of events about tasks.
//!
//! A new task is recorded with all its fields. A change records only the new values of the changed fields;
//! `task::history` reconstructs the values before it.

use std::borrow::Cow;

use schemars::{JsonSchema, Schema, SchemaGenerator};
use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::json::{RawJson, RawObject};
use crate::task::{Task, TaskStatus};
use crate::timestamp::Timestamp;

/// Data of `task.created` and `task.imported`: the fields of the new task.
///
/// The fields are kept as they were written, because a task may have fields of other programs, and nests deeper
/// than accepted input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TaskSnapshotEvent {
    subject: String,
    status: TaskStatus,
    owner: String,
    version: u64,
    fields: RawObject,
}

impl TaskSnapshotEvent {
    /// Creates the payload for a task that the store may not have numbered yet: the id is left out, because
    /// the subject of the event identifies the task.
    pub fn from_new_task(task: &Task) -> Self {
        let mut snapshot = Self::from_imported_task(task);
        snapshot.fields.remove("id");
        snapshot
    }

    /// Creates the payload for a task with a number.
    pub fn from_imported_task(task: &Task) -> Self {
        let fields = RawJson::from_value(task)
            .ok()
            .and_then(|raw| raw.parse_as())
            .unwrap_or_default();
        Self {
            subject: task.subject.clone(),
            status: task.status,
            owner: task.owner.clone(),
            version: task.version,
            fields,
        }
    }

    /// Returns the summary of the work.
    pub fn subject(&self) -> &str {
        &self.subject
    }

    /// Returns the status of the new task.
    pub fn status(&self) -> TaskStatus {
        self.status
    }

    /// Returns the owner of the new task; empty if it has none.
    pub fn owner(&self) -> &str {
        &self.owner
    }

    /// Returns the version of the new task.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Returns the fields whose later changes are recorded: all except id, version and the times that every
    /// change sets.
    pub fn into_changeable_fields(self) -> RawObject {
        let mut fields = self.fields;
        for technical in ["id", "version", "createdAt", "updatedAt"] {
            fields.remove(technical);
        }
        fields
    }
}

impl Serialize for TaskSnapshotEvent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.fields.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for TaskSnapshotEvent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let fields = RawObject::deserialize(deserializer)?;
        Ok(Self {
            subject: required_field(&fields, "subject").map_err(D::Error::custom)?,
            status: required_field(&fields, "status").map_err(D::Error::custom)?,
            owner: required_field(&fields, "owner").map_err(D::Error::custom)?,
            version: required_field(&fields, "version").map_err(D::Error::custom)?,
            fields,
        })
    }
}

fn required_field<'a, T: Deserialize<'a>>(fields: &'a RawObject, name: &str) -> Result<T, String> {
    let value = fields.get(name).and_then(RawJson::parse_as);
    value.ok_or_else(|| format!("the field `{name}` is missing or invalid"))
}

impl JsonSchema for TaskSnapshotEvent {
    fn schema_name() -> Cow<'static, str> {
        "TaskSnapshotEvent".into()
    }

    /// The schema of a task; its id is optional.
    fn json_schema(generator: &mut SchemaGenerator) -> Schema {
        let mut schema = Task::json_schema(generator);
        if let Some(required) = schema
            .get_mut("required")
            .and_then(serde_json::Value::as_array_mut)
        {
            required.retain(|name| name != "id");
        }
        schema
    }
}

/// Assignment of an owner, as recorded for the statistics.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct OwnerAssignment {
    /// Id of the new owner.
    pub owner: String,
    /// Role of the new owner.
    pub owner_role: String,
    /// The role the task requires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_role: Option<String>,
    /// Whether the two roles match; a task without a required role matches every role.
    pub matched: bool,
    /// Whether the roles do not match and the assignment was forced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
}

/// Data of an event that changed a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskChangedEvent {
    /// The version after the change.
    pub version: u64,
    /// The changed fields with their new values; null if removed.
    pub changes: RawObject,
    /// The new owner, if it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<OwnerAssignment>,
    /// For a completion: how long the work took, in milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// For a completion: the task's type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
}

impl TaskChangedEvent {
    /// Returns the difference between two states of a task.
    pub fn from_change(before: &Task, after: &Task) -> Self {
        Self {
            version: after.version,
            changes: after.changes_since(before),
            assignment: None,
            duration_ms: None,
            task_type: None,
        }
    }

    /// Returns the new owner, empty if the task has none; `None` if the owner did not change.
    pub fn new_owner(&self) -> Option<String> {
        let value = self.changes.get("owner")?;
        Some(value.parse_as().unwrap_or_default())
    }

    /// Returns the new status; `None` if the status did not change.
    pub fn new_status(&self) -> Option<TaskStatus> {
        self.changes.get("status")?.parse_as()
    }
}

/// Data of the `task.commented` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskCommentedEvent {
    /// The text of the comment.
    #[serde(default)]
    pub body: String,
    /// Names of the agents that the text mentions.
    #[serde(default)]
    pub mentions: Vec<String>,
    /// Number of the comment that this one answers.
    #[serde(default)]
    pub reply_to: Option<u64>,
}

/// Data of the `task.heartbeat` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskHeartbeatEvent {
    /// When the renewed lease expires.
    #[serde(default)]
    pub lease_expires_at: Option<Timestamp>,
}

/// Data of the `task.refused` event: a refused operation that changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct TaskRefusedEvent {
    /// The operation, such as `update`.
    pub op: String,
    /// Code of the refusal, such as `version_mismatch`.
    pub code: String,
}
