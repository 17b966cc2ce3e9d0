//! Task history: the history of a task, reconstructed from its events.
//!
//! Events record only the new values of the changed fields. [`HistoryReplay`] replays them and adds the
//! values before each change.

use std::collections::HashSet;

use schemars::JsonSchema;
use serde::Serialize;

use crate::event::{Event, EventKind, EventPayload, TaskRefusedEvent};
use crate::id::TaskId;
use crate::json::{RawJson, RawObject};
use crate::timestamp::Timestamp;

/// One entry of a task's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskHistoryEntry {
    /// Position in the log.
    pub seq: u64,
    /// Time of the event.
    pub at: Timestamp,
    /// The agent or person that made the change.
    pub actor: String,
    /// Kind of event, such as `task.claimed`.
    pub kind: String,
    /// The task's version after the change, if it changed.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub version: Option<u64>,
    /// Changed fields.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub changes: Vec<TaskFieldChange>,
    /// Event data that is not a change of a field.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Option<serde_json::Value>")]
    pub data: Option<RawJson>,
}

impl TaskHistoryEntry {
    /// Returns the kind of the event; `None` if it is the kind of a newer version of polis.
    pub fn known_kind(&self) -> Option<EventKind> {
        EventKind::from_name(&self.kind)
    }

    /// Returns the refused attempt that this entry records, if it records one.
    pub fn refusal(&self) -> Option<TaskRefusedEvent> {
        match EventPayload::parse(self.known_kind()?, self.data.as_ref()?)? {
            EventPayload::TaskRefused(refusal) => Some(refusal),
            _ => None,
        }
    }
}

/// A field's value before and after.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskFieldChange {
    /// Name of the field.
    pub field: String,
    /// Value before the change; null if it had none.
    #[schemars(with = "serde_json::Value")]
    pub from: Option<RawJson>,
    /// Value after the change; null if it has none.
    #[schemars(with = "serde_json::Value")]
    pub to: Option<RawJson>,
    /// Whether the field is a long list, of which `from` contains only the removed elements and `to` only the
    /// added ones.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    #[serde(rename = "partly")]
    pub is_truncated: bool,
}

/// Maximum length of a list that is shown completely; of a longer one only additions and removals are shown.
/// A task that many others wait for changes with each of them, so complete lists would make its history grow
/// quadratically.
pub const MAX_WHOLE_LIST: usize = 100;

impl TaskFieldChange {
    /// Creates the change of a field; for a long list, only its additions and removals.
    fn new(field: &str, from: Option<RawJson>, to: Option<RawJson>) -> Self {
        let difference = matches!(field, "blocks" | "blockedBy")
            .then(|| Some((list_difference(from.as_ref()?, to.as_ref()?)?, true)));
        let ((from, to), partly) = difference.flatten().unwrap_or(((from, to), false));
        Self {
            field: field.to_owned(),
            from,
            to,
            is_truncated: partly,
        }
    }
}

/// Returns the elements removed from a list and those added to it. Returns `None` if both lists are short.
fn list_difference(from: &RawJson, to: &RawJson) -> Option<(Option<RawJson>, Option<RawJson>)> {
    let (before, after) = (
        from.parse_as::<Vec<TaskId>>()?,
        to.parse_as::<Vec<TaskId>>()?,
    );
    if before.len().max(after.len()) <= MAX_WHOLE_LIST {
        return None;
    }
    let without = |all: &[TaskId], others: &[TaskId]| {
        let others: HashSet<&TaskId> = others.iter().collect();
        let left: Vec<&TaskId> = all.iter().filter(|id| !others.contains(id)).collect();
        RawJson::from_value(&left).ok()
    };
    Some((without(&before, &after), without(&after, &before)))
}

/// Replays a task's events, oldest first, into its history with values before and after.
pub fn replay_history(events: &[Event]) -> Vec<TaskHistoryEntry> {
    let mut fold = HistoryReplay::default();
    events.iter().map(|event| fold.add_event(event)).collect()
}

/// Incremental form of [`replay_history`], for a history that is too long to hold in memory.
#[derive(Debug, Default)]
pub struct HistoryReplay {
    state: RawObject,
}

impl HistoryReplay {
    /// Returns the history entry of the next event.
    pub fn add_event(&mut self, event: &Event) -> TaskHistoryEntry {
        history_entry(event, &mut self.state)
    }
}

fn history_entry(event: &Event, state: &mut RawObject) -> TaskHistoryEntry {
    let mut entry = TaskHistoryEntry {
        seq: event.seq,
        at: event.at.clone(),
        actor: event.actor.clone(),
        kind: event.kind.clone(),
        version: None,
        changes: Vec::new(),
        data: None,
    };
    let (version, changes) = match event.payload() {
        Some(EventPayload::TaskCreated(created) | EventPayload::TaskImported(created)) => {
            (created.version(), created.into_changeable_fields())
        }
        Some(
            EventPayload::TaskUpdated(changed)
            | EventPayload::TaskLinked(changed)
            | EventPayload::TaskClaimed(changed)
            | EventPayload::TaskStarted(changed)
            | EventPayload::TaskReleased(changed)
            | EventPayload::TaskCompleted(changed)
            | EventPayload::TaskDeleted(changed)
            | EventPayload::TaskApproved(changed),
        ) => (changed.version, changed.changes),
        // Comments, heartbeats, refusals, and events of a newer version change no field that is replayed.
        _ => {
            entry.data = Some(event.data.clone());
            return entry;
        }
    };
    entry.version = Some(version);
    for (field, value) in changes.iter() {
        let from = state.get(field).cloned();
        let to = (!value.is_null()).then(|| value.clone());
        if from != to {
            entry.changes.push(TaskFieldChange::new(field, from, to));
        }
    }
    state.merge_patch(&changes);
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    fn linked_event(seq: u64, blocks: &[u64]) -> Event {
        let ids: Vec<String> = blocks.iter().map(u64::to_string).collect();
        let data = serde_json::json!({ "version": seq, "changes": { "blocks": ids } });
        Event {
            seq,
            at: Timestamp::from_millis(0),
            actor: "ada".to_owned(),
            kind: EventKind::TaskLinked.as_str().to_owned(),
            subject: "task/1".to_owned(),
            data: RawJson::from_value(&data).unwrap(),
        }
    }

    #[test]
    fn long_list_shows_only_additions_and_removals() {
        let old_ids: Vec<u64> = (2..500).collect();
        let new_ids: Vec<u64> = (3..501).collect();
        let history = replay_history(&[
            linked_event(1, &[2]),
            linked_event(2, &[2, 3]),
            linked_event(3, &old_ids),
            linked_event(4, &new_ids),
        ]);
        let text = |raw: &Option<RawJson>| raw.as_ref().map(|raw| raw.as_str().to_owned());
        let short = &history[1].changes[0];
        assert!(!short.is_truncated);
        assert_eq!(text(&short.to).unwrap(), r#"["2","3"]"#);
        let long = &history[3].changes[0];
        assert!(long.is_truncated);
        assert_eq!(text(&long.from).unwrap(), r#"["2"]"#);
        assert_eq!(text(&long.to).unwrap(), r#"["500"]"#);
    }
}
