//! Formats a task's history for people: what was done, and the old and new value of each changed field.

use polis_core::event::kind;
use polis_core::task::history::{FieldChange, HistoryEntry, Refused};
use polis_core::{Raw, TaskStatus, TaskType};
use serde_json::Value;

use crate::{Lang, labels};

/// Values longer than this many characters are shown on demand.
const SHORT: usize = 80;

/// Maximum number of tasks named in a list.
const LISTED: usize = 20;

/// Change of a field.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Detail<'a> {
    /// Display name of the field.
    pub field: &'a str,
    /// Old value; `None` if there was none.
    pub from: Option<String>,
    /// New value; `None` if there is none.
    pub to: Option<String>,
    /// Whether a value is too long for one line.
    pub long: bool,
}

/// Returns what was done, without the actor: "claimed it", "认领了任务".
pub fn sentence(entry: &HistoryEntry, lang: Lang) -> String {
    let told = match entry.kind.as_str() {
        kind::TASK_CREATED => lang.say("created it", "创建了任务"),
        kind::TASK_IMPORTED => lang.say("imported it", "导入了任务"),
        kind::TASK_UPDATED => lang.say("changed it", "修改了任务"),
        kind::TASK_LINKED => lang.say("changed its dependencies", "修改了依赖关系"),
        kind::TASK_CLAIMED => lang.say("gave it an owner", "指定了负责人"),
        kind::TASK_STARTED => lang.say("started it", "开始了任务"),
        kind::TASK_RELEASED => lang.say("released it", "释放了任务"),
        kind::TASK_COMPLETED => lang.say("completed it", "完成了任务"),
        kind::TASK_DELETED => lang.say("deleted it", "删除了任务"),
        kind::TASK_APPROVED => lang.say("approved it", "批准了任务"),
        kind::TASK_COMMENTED => lang.say("commented on it", "发表了评论"),
        kind::TASK_HEARTBEAT => lang.say("kept the claim alive", "续了租约"),
        kind::TASK_REFUSED => return refused(entry, lang),
        other => other,
    };
    let own = entry.changes.iter().find(|change| change.field == "owner");
    let own = own.and_then(|change| text_of(change.to.as_ref()?));
    match (entry.kind.as_str(), own) {
        (kind::TASK_CLAIMED, Some(owner)) if owner == entry.actor => {
            lang.say("claimed it", "认领了任务").to_owned()
        }
        (kind::TASK_CLAIMED, Some(owner)) => {
            lang.say(format!("gave it to {owner}"), format!("将任务交给 {owner}"))
        }
        _ => told.to_owned(),
    }
}

fn refused(entry: &HistoryEntry, lang: Lang) -> String {
    let why = entry.data.as_ref().and_then(Raw::to::<Refused>);
    match why {
        Some(Refused { op, code }) => lang.say(
            format!("tried to {op} it and was refused: {code}"),
            format!("尝试 {op} 被拒绝：{code}"),
        ),
        None => lang.say("was refused", "被拒绝").to_owned(),
    }
}

/// Returns the changed fields, without those that the sentence and the time already express.
pub fn details<'a>(entry: &'a HistoryEntry, lang: Lang) -> Vec<Detail<'a>> {
    let whole = matches!(
        entry.kind.as_str(),
        kind::TASK_CREATED | kind::TASK_IMPORTED
    );
    let told = |change: &&FieldChange| {
        let technical = matches!(
            change.field.as_str(),
            "claimedAt" | "startedAt" | "completedAt" | "leaseMs" | "leaseExpiresAt"
        );
        // The fields of a new task are visible on its page; initially empty ones are not worth showing.
        let empty = |raw: &Raw| matches!(raw.text(), "\"\"" | "[]" | "null" | "\"pending\"");
        let began_empty = change.from.is_none() && change.to.as_ref().is_none_or(empty);
        !(technical || whole && began_empty)
    };
    let shown = entry.changes.iter().filter(told);
    shown.map(|change| detail(change, lang)).collect()
}

/// Formats the change of a field.
pub fn detail(change: &FieldChange, lang: Lang) -> Detail<'_> {
    let said = |raw: &Option<Raw>| {
        let text = raw.as_ref().map(|raw| value(&change.field, raw, lang));
        text.filter(|text| !text.is_empty())
    };
    let (from, to) = match list_change(change) {
        Some((gone, come)) => (gone, come),
        None => (said(&change.from), said(&change.to)),
    };
    let long = [&from, &to]
        .into_iter()
        .flatten()
        .any(|text| text.contains('\n') || text.chars().count() > SHORT);
    Detail {
        field: labels::field(&change.field, lang),
        from,
        to,
        long,
    }
}

/// Returns the removed and added entries of a list of tasks.
fn list_change(change: &FieldChange) -> Option<(Option<String>, Option<String>)> {
    if !matches!(change.field.as_str(), "blocks" | "blockedBy") {
        return None;
    }
    let ids = |raw: &Option<Raw>| raw.as_ref()?.to::<Vec<Value>>();
    let (from, to) = (ids(&change.from)?, ids(&change.to)?);
    if change.partly {
        return Some((listed(&from), listed(&to)));
    }
    // Quadratic, which is fine for short lists; equal ids have equal text.
    let without = |all: &[Value], others: &[Value]| {
        let left: Vec<Value> = all
            .iter()
            .filter(|id| !others.contains(id))
            .cloned()
            .collect();
        listed(&left)
    };
    Some((without(&from, &to), without(&to, &from)))
}

/// Formats task numbers, truncated if there are many.
fn listed(ids: &[Value]) -> Option<String> {
    let shown = ids.iter().take(LISTED).map(|id| match id {
        Value::String(text) => format!("#{text}"),
        other => format!("#{other}"),
    });
    let mut text = shown.collect::<Vec<_>>().join(", ");
    if let Some(rest) = ids.len().checked_sub(LISTED).filter(|rest| *rest > 0) {
        text.push_str(&format!(" … (+{rest})"));
    }
    (!text.is_empty()).then_some(text)
}

fn text_of(raw: &Raw) -> Option<String> {
    raw.to::<String>()
}

/// Formats the value of a field.
fn value(field: &str, raw: &Raw, lang: Lang) -> String {
    let Some(value) = raw.to::<Value>() else {
        return raw.text().to_owned();
    };
    match (field, value) {
        ("status", Value::String(name)) => TaskStatus::from_name(&name)
            .map_or(name.clone(), |status| {
                labels::status(status, lang).to_owned()
            }),
        ("taskType", Value::String(name)) => TaskType::from_name(&name)
            .map_or(name.clone(), |kind| {
                labels::task_type(kind, lang).to_owned()
            }),
        ("requiredRole", Value::String(name)) => labels::role(&name, lang).to_owned(),
        ("blocks" | "blockedBy", Value::Array(ids)) => listed(&ids).unwrap_or_default(),
        ("approval", Value::Object(fields)) => {
            let text = |name| fields.get(name).and_then(Value::as_str);
            let by = text("by").unwrap_or_default();
            match text("note") {
                Some(note) => format!("{by}: {note}"),
                None => by.to_owned(),
            }
        }
        (_, Value::String(text)) => text,
        (_, Value::Null) => String::new(),
        (_, other) => other.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use polis_core::task::history::history;
    use polis_core::{Event, Timestamp};

    use super::*;

    fn event(kind: &str, actor: &str, data: &str) -> Event {
        Event {
            seq: 1,
            at: Timestamp::from_millis(0),
            actor: actor.to_owned(),
            kind: kind.to_owned(),
            subject: "task/1".to_owned(),
            data: Raw::parse(data).unwrap(),
        }
    }

    #[test]
    fn a_claim_and_an_assignment_are_told_apart() {
        let data =
            r#"{"version":2,"changes":{"owner":"ada","status":"in_progress","claimedAt":"x"}}"#;
        let told = history(&[
            event("task.claimed", "ada", data),
            event("task.claimed", "lead", &data.replace("ada", "bob")),
        ]);
        assert_eq!(sentence(&told[0], Lang::En), "claimed it");
        assert_eq!(sentence(&told[0], Lang::Zh), "认领了任务");
        assert_eq!(sentence(&told[1], Lang::En), "gave it to bob");
        let fields: Vec<_> = details(&told[0], Lang::En);
        assert_eq!(fields.len(), 2, "times are not told twice: {fields:?}");
        assert_eq!(fields[1].to.as_deref(), Some("in progress"));
    }

    #[test]
    fn a_new_task_is_not_told_field_by_empty_field() {
        let data = r#"{"subject":"S","description":"","status":"pending","owner":"","blocks":[],"blockedBy":["3"],"version":1}"#;
        let told = history(&[event("task.created", "user", data)]);
        let fields: Vec<_> = details(&told[0], Lang::En);
        let names: Vec<_> = fields.iter().map(|detail| detail.field).collect();
        assert_eq!(names, ["subject", "tasks it waits for"]);
        assert_eq!(fields[1].to.as_deref(), Some("#3"));
    }

    #[test]
    fn a_refusal_says_what_was_tried() {
        let data = r#"{"op":"claim","code":"role_mismatch"}"#;
        let told = history(&[event("task.refused", "bob", data)]);
        assert_eq!(
            sentence(&told[0], Lang::En),
            "tried to claim it and was refused: role_mismatch"
        );
    }

    #[test]
    fn a_list_is_told_by_what_came_and_went_and_cut_where_it_is_long() {
        let data = |ids: &[u64]| format!(r#"{{"version":2,"changes":{{"blocks":{ids:?}}}}}"#);
        let many: Vec<u64> = (1..=50).collect();
        let told = history(&[
            event("task.linked", "ada", &data(&[1, 2])),
            event("task.linked", "ada", &data(&[2, 3])),
            event("task.linked", "ada", &data(&many)),
        ]);
        let one = &details(&told[1], Lang::En)[0];
        assert_eq!(
            (one.from.as_deref(), one.to.as_deref()),
            (Some("#1"), Some("#3"))
        );
        let long = &details(&told[2], Lang::En)[0];
        assert!(
            long.to.as_deref().unwrap().ends_with(" … (+28)"),
            "{long:?}"
        );
    }

    #[test]
    fn long_values_are_marked() {
        let data = r#"{"version":2,"changes":{"description":"a\nb"}}"#;
        let told = history(&[event("task.updated", "ada", data)]);
        assert!(details(&told[0], Lang::En)[0].long);
    }
}
