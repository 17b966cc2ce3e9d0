//! Columns of a task and their conversion from and to task records and summaries; shared by the SQLite store
//! and the PostgreSQL store. Fields that no query needs are stored together as JSON in the column `rest`.
//!
//! Also contains the conversions between numbers and columns that all rows use.

use polis_core::number::saturating_cast;
use polis_core::task::recommendation::standing_score;
use polis_core::task::{Task, TaskApproval, TaskPriority, TaskSummary};
use polis_core::{RawObject, TaskId, TaskRecord, TaskStatus, TaskType, Timestamp};
use polis_ops::PortError;
use serde::{Deserialize, Serialize};

use crate::store_failure::StoreFailure;

/// Columns of a task's row, in the order of [`crate::sql::TASK_COLUMNS`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct TaskRow {
    pub(crate) id: i64,
    pub(crate) revision: i64,
    pub(crate) version: i64,
    pub(crate) status: String,
    pub(crate) owner: String,
    pub(crate) owner_role: String,
    pub(crate) required_role: String,
    pub(crate) task_type: String,
    pub(crate) priority: i64,
    pub(crate) standing: i64,
    pub(crate) open_blockers: i64,
    pub(crate) lease_until: Option<i64>,
    pub(crate) blocked_by: String,
    pub(crate) blocks: String,
    pub(crate) created_at: Option<String>,
    pub(crate) updated_at: Option<String>,
    pub(crate) subject: String,
    pub(crate) rest: String,
    pub(crate) description: String,
}

/// The fields that no query filters by, stored as JSON in one column.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
struct UnindexedTaskFields {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    active_form: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    metadata: Option<RawObject>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    claimed_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    started_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    completed_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease_ms: Option<u64>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lease_expires_at: Option<Timestamp>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    approval: Option<TaskApproval>,
    #[serde(default, skip_serializing_if = "RawObject::is_empty")]
    extra: RawObject,
}

impl TaskRow {
    /// Creates the row of a record.
    pub(crate) fn from_record(record: TaskRecord) -> Result<Self, PortError> {
        let standing = standing_score(&record.task);
        let task = record.task;
        let lease_until = task.lease_end();
        let rest = UnindexedTaskFields {
            active_form: task.active_form,
            metadata: task.metadata,
            claimed_at: task.claimed_at,
            started_at: task.started_at,
            completed_at: task.completed_at,
            lease_ms: task.lease_ms,
            lease_expires_at: task.lease_expires_at,
            approval: task.approval,
            extra: task.extra,
        };
        Ok(Self {
            id: to_i64(task.id.number())?,
            revision: to_i64(record.revision)?,
            version: to_i64(task.version)?,
            status: task.status.as_str().to_owned(),
            owner: task.owner,
            owner_role: record.owner_role.unwrap_or_default(),
            required_role: task.required_role.unwrap_or_default(),
            task_type: task.task_type.map_or("", TaskType::as_str).to_owned(),
            priority: priority_rank(task.priority),
            standing,
            open_blockers: i64::from(record.open_blockers),
            lease_until,
            blocked_by: format_task_ids(&task.blocked_by),
            blocks: format_task_ids(&task.blocks),
            created_at: task.created_at.map(|t| t.as_str().to_owned()),
            updated_at: task.updated_at.map(|t| t.as_str().to_owned()),
            subject: task.subject,
            rest: serde_json::to_string(&rest)
                .map_err(|e| PortError::internal("Writing a task", e))?,
            description: task.description,
        })
    }

    /// Whether every indexed column is unchanged.
    pub(crate) fn has_same_keys(&self, keys: &IndexedTaskColumns) -> bool {
        self.status == keys.status
            && self.owner == keys.owner
            && self.owner_role == keys.owner_role
            && self.required_role == keys.required_role
            && self.task_type == keys.task_type
            && self.priority == keys.priority
            && self.standing == keys.standing
            && self.lease_until == keys.lease_until
    }

    /// Converts the row into a record.
    pub(crate) fn into_record(self) -> Result<TaskRecord, PortError> {
        let mut rest: UnindexedTaskFields = serde_json::from_str(&self.rest)
            .map_err(|e| damaged_task_error(self.id).with_source(e))?;
        let priority = TaskPriority::from_stored(&mut rest.metadata, &mut rest.extra);
        let task = Task {
            id: task_id_from_column(self.id)?,
            subject: self.subject,
            description: self.description,
            active_form: rest.active_form,
            status: TaskStatus::from_name(&self.status)
                .ok_or_else(|| damaged_task_error(self.id))?,
            owner: self.owner,
            metadata: rest.metadata,
            blocks: parse_task_ids(&self.blocks, self.id)?,
            blocked_by: parse_task_ids(&self.blocked_by, self.id)?,
            created_at: self.created_at.map(Timestamp::from_stored),
            updated_at: self.updated_at.map(Timestamp::from_stored),
            required_role: non_empty(self.required_role),
            version: self.version.unsigned_abs(),
            task_type: TaskType::from_name(&self.task_type),
            priority,
            claimed_at: rest.claimed_at,
            started_at: rest.started_at,
            completed_at: rest.completed_at,
            lease_ms: rest.lease_ms,
            lease_expires_at: rest.lease_expires_at,
            approval: rest.approval,
            extra: rest.extra,
        };
        Ok(TaskRecord {
            task,
            revision: self.revision.unsigned_abs(),
            owner_role: non_empty(self.owner_role),
            open_blockers: saturating_cast::<u32>(self.open_blockers.max(0)),
        })
    }
}

/// The columns that the embedded store reads before it overwrites a row: the revision, and the indexed
/// columns, which tell whether an update has to touch an index.
#[derive(Debug, Clone)]
pub(crate) struct IndexedTaskColumns {
    pub(crate) revision: i64,
    pub(crate) status: String,
    pub(crate) owner: String,
    pub(crate) owner_role: String,
    pub(crate) required_role: String,
    pub(crate) task_type: String,
    pub(crate) priority: i64,
    pub(crate) standing: i64,
    pub(crate) lease_until: Option<i64>,
}

/// Columns of a task in a list, in the order of [`crate::sql::SUMMARY_COLUMNS`].
#[derive(Debug, Clone)]
pub(crate) struct TaskSummaryRow {
    pub(crate) id: i64,
    pub(crate) version: i64,
    pub(crate) status: String,
    pub(crate) owner: String,
    pub(crate) required_role: String,
    pub(crate) task_type: String,
    pub(crate) priority: i64,
    pub(crate) open_blockers: i64,
    pub(crate) lease_until: Option<i64>,
    pub(crate) blocked_by: String,
    pub(crate) created_at: Option<String>,
    pub(crate) updated_at: Option<String>,
    pub(crate) subject: String,
}

impl TaskSummaryRow {
    pub(crate) fn into_summary(self) -> Result<TaskSummary, PortError> {
        Ok(TaskSummary {
            id: task_id_from_column(self.id)?,
            subject: self.subject,
            status: TaskStatus::from_name(&self.status)
                .ok_or_else(|| damaged_task_error(self.id))?,
            owner: self.owner,
            blocked_by: parse_task_ids(&self.blocked_by, self.id)?,
            required_role: non_empty(self.required_role),
            version: self.version.unsigned_abs(),
            task_type: TaskType::from_name(&self.task_type),
            priority: TaskPriority::from_rank(self.priority)
                .filter(|priority| *priority != TaskPriority::Normal),
            created_at: self.created_at.map(Timestamp::from_stored),
            updated_at: self.updated_at.map(Timestamp::from_stored),
            open_blockers: saturating_cast::<u32>(self.open_blockers.max(0)),
            lease_expires_at: self.lease_until.map(Timestamp::from_millis),
            stale: false,
        })
    }
}

/// Returns the column of a priority. A task without one sorts as normal; which of both it is, the metadata in
/// `rest` tells.
fn priority_rank(priority: Option<TaskPriority>) -> i64 {
    i64::from(priority.unwrap_or_default().rank())
}

fn non_empty(text: String) -> Option<String> {
    Some(text).filter(|t| !t.is_empty())
}

/// Converts a number to a column value. Fails with `Internal` if it exceeds the range of the column.
pub(crate) fn to_i64(n: u64) -> Result<i64, PortError> {
    i64::try_from(n).map_err(|e| PortError::internal("Writing a number", e))
}

/// Converts a number to a bound for comparisons; saturates, because no column exceeds the maximum.
pub(crate) fn clamp_to_i64(n: u64) -> i64 {
    saturating_cast::<i64>(n)
}

/// Converts a column value to a task number. Fails with `StoreCorrupt` if it is not one.
pub(crate) fn task_id_from_column(id: i64) -> Result<TaskId, PortError> {
    u64::try_from(id)
        .ok()
        .and_then(TaskId::new)
        .ok_or_else(|| damaged_task_error(id))
}

/// Formats task numbers for a column: `5,7`.
pub(crate) fn format_task_ids(ids: &[TaskId]) -> String {
    ids.iter()
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(",")
}

/// Parses the task numbers in a column of the task `task`. Fails with `StoreCorrupt` if one is invalid.
pub(crate) fn parse_task_ids(text: &str, task: i64) -> Result<Vec<TaskId>, PortError> {
    if text.is_empty() {
        return Ok(Vec::new());
    }
    text.split(',')
        .map(|id| id.parse().map_err(|_| damaged_task_error(task)))
        .collect()
}

pub(crate) fn damaged_task_error(id: i64) -> PortError {
    PortError::from(StoreFailure::TaskDamaged { id: id.to_string() })
}

/// Returns the exclusive bounds of the record ids `OWNER/…` that follow `after`. The upper bound is `OWNER0`,
/// because `0` is the character after `/`.
pub(crate) fn owner_id_range(owner: &str, after: Option<&str>) -> (String, String) {
    let first = format!("{owner}/");
    let from = match after {
        Some(after) if after > first.as_str() => after.to_owned(),
        _ => first,
    };
    (from, format!("{owner}0"))
}
