//! Task history: the data of `task.*` events, and the history of a task reconstructed from them.
//!
//! Events record only the new values of the changed fields. [`Fold`] replays them and adds the values before
//! each change.

use std::collections::HashSet;

use crate::event::kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::Task;
use crate::event::Event;
use crate::id::TaskId;
use crate::json::{Fields, Raw};
use crate::time::Timestamp;

/// Assignment of an owner, as recorded for the statistics.
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
    /// Whether the two roles match; a task without a required role matches every role.
    pub matched: bool,
    /// Whether it was forced.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub forced: bool,
}

/// Data of a `task.*` event that changed a task.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Changed {
    /// The version after the change.
    pub version: u64,
    /// The changed fields with their new values; null if removed.
    pub changes: Fields,
    /// The new owner, if it changed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub assignment: Option<Assignment>,
    /// For a completion: how long the work took.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub duration_ms: Option<i64>,
    /// For a completion: the task's type.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_type: Option<String>,
}

impl Changed {
    /// Returns the difference between two states of a task.
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

/// Data of a `task.refused` event: a refused operation that changed nothing.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refused {
    /// The operation, such as `update`.
    pub op: String,
    /// The refusal code.
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
    /// Whether the field is a long list, of which `from` has only what was taken out and `to` only what was
    /// put in.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub partly: bool,
}

/// Maximum length of a list that is shown completely; of a longer one only additions and removals are shown. A
/// task that many others wait for changes with each of them, so complete lists would make its history grow
/// quadratically.
pub const WHOLE_LIST: usize = 100;

impl FieldChange {
    /// Creates the change of a field; for a long list, only its additions and removals.
    fn of(field: &str, from: Option<Raw>, to: Option<Raw>) -> Self {
        let told = matches!(field, "blocks" | "blockedBy")
            .then(|| Some((difference(from.as_ref()?, to.as_ref()?)?, true)));
        let ((from, to), partly) = told.flatten().unwrap_or(((from, to), false));
        Self {
            field: field.to_owned(),
            from,
            to,
            partly,
        }
    }
}

/// Returns the elements removed from a list and those added to it. Returns `None` if both lists are short.
fn difference(from: &Raw, to: &Raw) -> Option<(Option<Raw>, Option<Raw>)> {
    let (before, after) = (from.to::<Vec<TaskId>>()?, to.to::<Vec<TaskId>>()?);
    if before.len().max(after.len()) <= WHOLE_LIST {
        return None;
    }
    let without = |all: &[TaskId], others: &[TaskId]| {
        let others: HashSet<&TaskId> = others.iter().collect();
        let left: Vec<&TaskId> = all.iter().filter(|id| !others.contains(id)).collect();
        Raw::of(&left).ok()
    };
    Some((without(&before, &after), without(&after, &before)))
}

/// Replays a task's events, oldest first, into its history with values before and after.
pub fn history(events: &[Event]) -> Vec<HistoryEntry> {
    let mut fold = Fold::default();
    events.iter().map(|event| fold.take(event)).collect()
}

/// Incremental form of [`history`], for a history that is too long to hold in memory.
#[derive(Debug, Default)]
pub struct Fold {
    state: Fields,
}

impl Fold {
    /// Returns the history entry of the next event.
    pub fn take(&mut self, event: &Event) -> HistoryEntry {
        entry(event, &mut self.state)
    }
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
            entry.changes.push(FieldChange::of(field, from, to));
        }
    }
    state.merge(&changes);
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked(seq: u64, blocks: &[u64]) -> Event {
        let ids: Vec<String> = blocks.iter().map(u64::to_string).collect();
        let data = serde_json::json!({ "version": seq, "changes": { "blocks": ids } });
        Event {
            seq,
            at: Timestamp::from_millis(0),
            actor: "ada".to_owned(),
            kind: kind::TASK_LINKED.to_owned(),
            subject: "task/1".to_owned(),
            data: Raw::of(&data).unwrap(),
        }
    }

    #[test]
    fn a_long_list_is_told_by_what_was_put_in_and_taken_out() {
        let many: Vec<u64> = (2..500).collect();
        let more: Vec<u64> = (3..501).collect();
        let told = history(&[
            linked(1, &[2]),
            linked(2, &[2, 3]),
            linked(3, &many),
            linked(4, &more),
        ]);
        let text = |raw: &Option<Raw>| raw.as_ref().map(|raw| raw.text().to_owned());
        let short = &told[1].changes[0];
        assert!(!short.partly);
        assert_eq!(text(&short.to).unwrap(), r#"["2","3"]"#);
        let long = &told[3].changes[0];
        assert!(long.partly);
        assert_eq!(text(&long.from).unwrap(), r#"["2"]"#);
        assert_eq!(text(&long.to).unwrap(), r#"["500"]"#);
    }
}
