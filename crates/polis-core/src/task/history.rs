//! What the log says about a change of a task, and a task's history read back from it.

use crate::event::kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Task;
use crate::event::Event;
use crate::json::{Fields, Raw};
use crate::time::Timestamp;

/// An owner taken or given, as the success figures need it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Assignment {
    /// The new owner.
    pub owner: String,
    /// Its role.
    pub owner_role: String,
    /// The role the task requires.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub required_role: Option<String>,
    /// Whether the two agree; a task that requires none agrees with all.
    pub matched: bool,
    /// Whether it was forced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
}

/// The particulars of a `task.*` event that changed a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Changed {
    /// The version after the change.
    pub version: u64,
    /// The changed fields with their new values; null: gone.
    pub changes: Fields,
    /// The owner taken or given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<Assignment>,
    /// With a completion: how long the work took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// With a completion: what sort of work it was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
}

impl Changed {
    /// The difference between two states of a task.
    pub fn between(before: &Task, after: &Task) -> Self {
        Self {
            version: after.version,
            changes: after.changes_since(before),
            assignment: None,
            duration_ms: None,
            task_type: None,
        }
    }
}

/// The particulars of a `task.refused` event: an attempt that changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The operation, such as `update`.
    pub op: String,
    /// Why.
    pub code: String,
}

/// One line of a task's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct HistoryEntry {
    /// Its place in the log.
    pub seq: u64,
    /// When.
    pub at: Timestamp,
    /// Who.
    pub actor: String,
    /// What happened.
    pub kind: String,
    /// The task's version afterwards, if it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// What changed, field by field.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<FieldChange>,
    /// Particulars that are not a change of a field.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub data: Option<Raw>,
}

/// A field's value before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct FieldChange {
    /// The field.
    pub field: String,
    /// Its value before; null if it had none.
    #[schemars(with = "serde_json::Value")]
    pub from: Option<Raw>,
    /// Its value after; null if it has none.
    #[schemars(with = "serde_json::Value")]
    pub to: Option<Raw>,
}

/// Folds a task's events, oldest first, into its history with values before and after.
pub fn history(events: &[Event]) -> Vec<HistoryEntry> {
    let mut state = Fields::default();
    events
        .iter()
        .map(|event| entry(event, &mut state))
        .collect()
}

fn entry(event: &Event, state: &mut Fields) -> HistoryEntry {
    let mut entry = HistoryEntry {
        seq: event.seq,
        at: event.at.clone(),
        actor: event.actor.clone(),
        kind: event.kind.clone(),
        version: None,
        changes: Vec::new(),
        data: None,
    };
    let whole = matches!(
        event.kind.as_str(),
        kind::TASK_CREATED | kind::TASK_IMPORTED
    );
    let (version, changes) = if whole {
        let mut all: Fields = event.data.to().unwrap_or_default();
        let version = all.take("version").and_then(|v| v.to::<u64>());
        for technical in ["id", "createdAt", "updatedAt"] {
            all.take(technical);
        }
        (version, all)
    } else if let Some(changed) = event.data.to::<Changed>() {
        (Some(changed.version), changed.changes)
    } else {
        entry.data = Some(event.data.clone());
        return entry;
    };
    entry.version = version;
    for (field, value) in changes.iter() {
        let from = state.get(field).cloned();
        let to = (!value.is_null()).then(|| value.clone());
        if from != to {
            entry.changes.push(FieldChange {
                field: field.to_owned(),
                from,
                to,
            });
        }
    }
    state.merge(&changes);
    entry
}
