//! Formats a task's history for people: what was done, and the old and new value of each changed field.

use polis_core::event::TaskRefusedEvent;
use polis_core::task::history::{TaskFieldChange, TaskHistoryEntry};
use polis_core::{EventKind, RawJson, TaskPriority, TaskStatus, TaskType};
use polis_i18n::msg;
use serde_json::Value;

use crate::{UiLanguage, labels};

/// Values longer than this many characters are shown on demand.
const MAX_INLINE_VALUE_CHARS: usize = 80;

/// Maximum number of tasks named in a list.
const MAX_LISTED_TASKS: usize = 20;

/// A changed field of a task, with its old and new value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FieldChangeView<'a> {
    /// Display name of the field.
    pub field: &'a str,
    /// Old value; `None` if there was none.
    pub from: Option<String>,
    /// New value; `None` if there is none.
    pub to: Option<String>,
    /// Whether a value is too long for one line.
    pub is_long: bool,
}

/// Returns what an entry of the history did, without the actor: "claimed it", "认领了任务".
pub fn describe_history_entry(entry: &TaskHistoryEntry, lang: UiLanguage) -> String {
    // Events about a task have kinds of its area; one of a newer version is shown by its name.
    let text = match entry.known_kind() {
        Some(EventKind::TaskCreated) => msg::task_history_created(lang),
        Some(EventKind::TaskImported) => msg::task_history_imported(lang),
        Some(EventKind::TaskUpdated) => msg::task_history_updated(lang),
        Some(EventKind::TaskLinked) => msg::task_history_linked(lang),
        Some(EventKind::TaskClaimed) => return describe_claim(entry, lang),
        Some(EventKind::TaskStarted) => msg::task_history_started(lang),
        Some(EventKind::TaskReleased) => msg::task_history_released(lang),
        Some(EventKind::TaskCompleted) => msg::task_history_completed(lang),
        Some(EventKind::TaskDeleted) => msg::task_history_deleted(lang),
        Some(EventKind::TaskApproved) => msg::task_history_approved(lang),
        Some(EventKind::TaskCommented) => msg::task_history_commented(lang),
        Some(EventKind::TaskHeartbeat) => msg::task_history_lease_renewed(lang),
        Some(EventKind::TaskRefused) => return describe_refused_attempt(entry, lang),
        Some(
            EventKind::BoardWritten
            | EventKind::BoardAppended
            | EventKind::BoardEdited
            | EventKind::BoardRestored
            | EventKind::BoardEditedExternally
            | EventKind::BoardLocked
            | EventKind::BoardRenewed
            | EventKind::BoardUnlocked
            | EventKind::DecisionProposed
            | EventKind::DecisionSigned
            | EventKind::DecisionVetoed
            | EventKind::DecisionAppealed
            | EventKind::MilestoneAdded
            | EventKind::MilestoneDone
            | EventKind::AgentAdded
            | EventKind::AgentRetired
            | EventKind::SocietyStarted
            | EventKind::SocietyPaused
            | EventKind::SocietyResumed
            | EventKind::SocietyFinished
            | EventKind::SocietyStopped
            | EventKind::SocietyHired
            | EventKind::SocietyDismissed
            | EventKind::SocietyStatusChanged
            | EventKind::SocietyApprovalRequested
            | EventKind::SocietyApprovalDecided
            | EventKind::SocietyBudgetChanged
            | EventKind::MessageSent
            | EventKind::MessageRead
            | EventKind::CommandStarted
            | EventKind::CommandRun
            | EventKind::CommandRefused
            | EventKind::BoardFileRestored
            | EventKind::FileDirectoryMade
            | EventKind::FileWritten
            | EventKind::FileEdited
            | EventKind::FileDeleted
            | EventKind::FileMoved
            | EventKind::FileRefused
            | EventKind::WorkspaceAssigned
            | EventKind::WorkspaceBound
            | EventKind::ArtifactPut
            | EventKind::TokenIssued
            | EventKind::TokenRevoked
            | EventKind::WebhookAdded
            | EventKind::WebhookRemoved,
        )
        | None => &entry.kind,
    };
    text.to_owned()
}

fn describe_claim(entry: &TaskHistoryEntry, lang: UiLanguage) -> String {
    let owner_change = entry.changes.iter().find(|change| change.field == "owner");
    let owner = owner_change.and_then(|change| string_value(change.to.as_ref()?));
    match owner {
        Some(owner) if owner == entry.actor => msg::task_history_claimed(lang).to_owned(),
        Some(owner) => msg::task_history_given_to(lang, owner),
        None => msg::task_history_owner_changed(lang).to_owned(),
    }
}

fn describe_refused_attempt(entry: &TaskHistoryEntry, lang: UiLanguage) -> String {
    match entry.refusal() {
        Some(TaskRefusedEvent { op, code }) => {
            let attempt = labels::task_operation_label(&op, lang);
            let code = labels::refusal_code_label(&code, lang);
            msg::task_history_operation_refused(lang, attempt, code)
        }
        None => msg::task_history_refused(lang).to_owned(),
    }
}

/// Returns the changed fields of an entry, without times and leases, which the sentence and the time of the
/// entry express, and without the fields that a new task leaves empty.
pub fn visible_field_changes<'a>(
    entry: &'a TaskHistoryEntry,
    lang: UiLanguage,
) -> Vec<FieldChangeView<'a>> {
    let is_new = matches!(
        entry.known_kind(),
        Some(EventKind::TaskCreated | EventKind::TaskImported)
    );
    let is_visible = |change: &&TaskFieldChange| {
        let technical = matches!(
            change.field.as_str(),
            "claimedAt" | "startedAt" | "completedAt" | "leaseMs" | "leaseExpiresAt"
        );
        // The fields of a new task are visible on its page; initially empty ones are not worth showing.
        let empty = |raw: &RawJson| matches!(raw.as_str(), "\"\"" | "[]" | "null" | "\"pending\"");
        let began_empty = change.from.is_none() && change.to.as_ref().is_none_or(empty);
        !(technical || is_new && began_empty)
    };
    let visible = entry.changes.iter().filter(is_visible);
    visible
        .map(|change| format_field_change(change, lang))
        .collect()
}

/// Formats the change of a field. Of a list of tasks, only the removed and the added ones are shown.
pub fn format_field_change(change: &TaskFieldChange, lang: UiLanguage) -> FieldChangeView<'_> {
    let value_text = |raw: &Option<RawJson>| {
        let text = raw
            .as_ref()
            .map(|raw| format_field_value(&change.field, raw, lang));
        text.filter(|text| !text.is_empty())
    };
    let (from, to) = match diff_task_list(change) {
        Some((removed, added)) => (removed, added),
        None => (value_text(&change.from), value_text(&change.to)),
    };
    let long = [&from, &to]
        .into_iter()
        .flatten()
        .any(|text| text.contains('\n') || text.chars().count() > MAX_INLINE_VALUE_CHARS);
    FieldChangeView {
        field: labels::task_field_name_label(&change.field, lang),
        from,
        to,
        is_long: long,
    }
}

/// Returns the removed and added entries of a list of tasks. Returns `None` for other fields, and if the old
/// or new list is missing.
fn diff_task_list(change: &TaskFieldChange) -> Option<(Option<String>, Option<String>)> {
    if !matches!(change.field.as_str(), "blocks" | "blockedBy") {
        return None;
    }
    let ids = |raw: &Option<RawJson>| raw.as_ref()?.parse_as::<Vec<Value>>();
    let (from, to) = (ids(&change.from)?, ids(&change.to)?);
    if change.is_truncated {
        return Some((format_task_list(&from), format_task_list(&to)));
    }
    // Quadratic, which is fine for short lists; equal ids have equal text.
    let without = |all: &[Value], others: &[Value]| {
        let remaining: Vec<Value> = all
            .iter()
            .filter(|id| !others.contains(id))
            .cloned()
            .collect();
        format_task_list(&remaining)
    };
    Some((without(&from, &to), without(&to, &from)))
}

/// Formats task numbers, truncated if there are many.
fn format_task_list(ids: &[Value]) -> Option<String> {
    let listed = ids.iter().take(MAX_LISTED_TASKS).map(|id| match id {
        Value::String(text) => format!("#{text}"),
        other => format!("#{other}"),
    });
    let mut text = listed.collect::<Vec<_>>().join(", ");
    if let Some(rest) = ids
        .len()
        .checked_sub(MAX_LISTED_TASKS)
        .filter(|rest| *rest > 0)
    {
        text.push_str(&format!(" … (+{rest})"));
    }
    (!text.is_empty()).then_some(text)
}

fn string_value(raw: &RawJson) -> Option<String> {
    raw.parse_as::<String>()
}

/// Formats the value of a field.
fn format_field_value(field: &str, raw: &RawJson, lang: UiLanguage) -> String {
    let Some(value) = raw.parse_as::<Value>() else {
        return raw.as_str().to_owned();
    };
    match (field, value) {
        ("status", Value::String(name)) => TaskStatus::from_name(&name)
            .map_or(name.clone(), |status| {
                labels::task_status_label(status, lang).to_owned()
            }),
        ("taskType", Value::String(name)) => TaskType::from_name(&name)
            .map_or(name.clone(), |kind| {
                labels::task_type_label(kind, lang).to_owned()
            }),
        ("priority", Value::String(name)) => TaskPriority::from_name(&name)
            .map_or(name.clone(), |priority| {
                labels::task_priority_label(priority, lang).to_owned()
            }),
        ("requiredRole", Value::String(name)) => labels::role_label(&name, lang).to_owned(),
        ("blocks" | "blockedBy", Value::Array(ids)) => format_task_list(&ids).unwrap_or_default(),
        ("approval", Value::Object(fields)) => {
            let text = |name| fields.get(name).and_then(Value::as_str);
            let approver = text("by").unwrap_or_default();
            match text("note") {
                Some(note) => format!("{approver}: {note}"),
                None => approver.to_owned(),
            }
        }
        (_, Value::String(text)) => text,
        (_, Value::Null) => String::new(),
        (_, other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use polis_core::task::history::replay_history;
    use polis_core::{Event, EventArea, Timestamp};

    use super::*;

    fn task_event(kind: &str, actor: &str, data: &str) -> Event {
        Event {
            seq: 1,
            at: Timestamp::from_millis(0),
            actor: actor.to_owned(),
            kind: kind.to_owned(),
            subject: "task/1".to_owned(),
            data: RawJson::parse(data).unwrap(),
        }
    }

    #[test]
    fn every_task_event_has_a_wording() {
        let task_kinds = EventKind::ALL
            .iter()
            .filter(|kind| kind.area() == EventArea::Task);
        for kind in task_kinds {
            let history = replay_history(&[task_event(kind.as_str(), "ada", "{}")]);
            for lang in [UiLanguage::En, UiLanguage::Zh] {
                assert_ne!(describe_history_entry(&history[0], lang), kind.as_str());
            }
        }
        let newer = replay_history(&[task_event("task.split", "ada", r#"{"into":["2"]}"#)]);
        assert_eq!(
            describe_history_entry(&newer[0], UiLanguage::En),
            "task.split"
        );
    }

    #[test]
    fn claim_and_assignment_are_distinguished() {
        let data =
            r#"{"version":2,"changes":{"owner":"ada","status":"in_progress","claimedAt":"x"}}"#;
        let history = replay_history(&[
            task_event("task.claimed", "ada", data),
            task_event("task.claimed", "lead", &data.replace("ada", "bob")),
        ]);
        assert_eq!(
            describe_history_entry(&history[0], UiLanguage::En),
            "claimed it"
        );
        assert_eq!(
            describe_history_entry(&history[0], UiLanguage::Zh),
            "认领了任务"
        );
        assert_eq!(
            describe_history_entry(&history[1], UiLanguage::En),
            "assigned it to bob"
        );
        let fields: Vec<_> = visible_field_changes(&history[0], UiLanguage::En);
        assert_eq!(fields.len(), 2, "times are omitted: {fields:?}");
        assert_eq!(fields[1].to.as_deref(), Some("In progress"));
    }

    #[test]
    fn empty_fields_of_new_task_are_omitted() {
        let data = r#"{"subject":"S","description":"","status":"pending","owner":"","blocks":[],"blockedBy":["3"],"version":1}"#;
        let history = replay_history(&[task_event("task.created", "user", data)]);
        let fields: Vec<_> = visible_field_changes(&history[0], UiLanguage::En);
        let names: Vec<_> = fields.iter().map(|detail| detail.field).collect();
        assert_eq!(names, ["Subject", "Blocked by"]);
        assert_eq!(fields[1].to.as_deref(), Some("#3"));
    }

    #[test]
    fn refusal_names_attempted_operation() {
        let data = r#"{"op":"claim","code":"role_mismatch"}"#;
        let history = replay_history(&[task_event("task.refused", "bob", data)]);
        assert_eq!(
            describe_history_entry(&history[0], UiLanguage::En),
            "was refused an operation: claim (role_mismatch)"
        );
    }

    #[test]
    fn task_list_change_shows_added_and_removed_and_is_truncated() {
        let data = |ids: &[u64]| format!(r#"{{"version":2,"changes":{{"blocks":{ids:?}}}}}"#);
        let many: Vec<u64> = (1..=50).collect();
        let history = replay_history(&[
            task_event("task.linked", "ada", &data(&[1, 2])),
            task_event("task.linked", "ada", &data(&[2, 3])),
            task_event("task.linked", "ada", &data(&many)),
        ]);
        let one = &visible_field_changes(&history[1], UiLanguage::En)[0];
        assert_eq!(
            (one.from.as_deref(), one.to.as_deref()),
            (Some("#1"), Some("#3"))
        );
        let long = &visible_field_changes(&history[2], UiLanguage::En)[0];
        assert!(
            long.to.as_deref().unwrap().ends_with(" … (+28)"),
            "{long:?}"
        );
    }

    #[test]
    fn long_values_are_marked() {
        let data = r#"{"version":2,"changes":{"description":"a\nb"}}"#;
        let history = replay_history(&[task_event("task.updated", "ada", data)]);
        assert!(visible_field_changes(&history[0], UiLanguage::En)[0].is_long);
    }
}
