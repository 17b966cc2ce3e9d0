//! Edit conflict of a task: shows what others changed since the form was loaded, the fields that both sides
//! changed, and a form that merges the two versions field by field. Where both changed a field, the form contains
//! the reader's value, so saving overwrites the other one. The base version is reconstructed from the history.

use std::collections::HashSet;

use maud::{Markup, html};
use polis_core::task::history::{TaskFieldChange, TaskHistoryEntry};
use polis_core::{RawJson, TaskId, TaskPriority};
use polis_i18n::msg;
use polis_ops::op::{self, TaskHistoryParams};
use polis_view::three_way_merge::{FieldComparison, compare_three_way};
use polis_view::{labels, task_history};

use super::task_editor;
use super::task_form::{TaskFormFields, format_task_numbers};
use crate::component::side_by_side;
use crate::component::time_ago::render_time_ago;
use crate::error_page::{OrPageError as _, PageError};
use crate::request::request_context::RequestContext;

/// Name of a field in the history, and its accessor in the form.
type FieldAccessor = (&'static str, fn(&mut TaskFormFields) -> &mut String);

const MERGED_FIELDS: [FieldAccessor; 8] = [
    ("subject", |typed| &mut typed.subject),
    ("description", |typed| &mut typed.description),
    ("requiredRole", |typed| &mut typed.role),
    ("taskType", |typed| &mut typed.kind),
    ("priority", |typed| &mut typed.priority),
    ("owner", |typed| &mut typed.owner),
    ("blockedBy", |typed| &mut typed.blocked_by),
    ("blocks", |typed| &mut typed.blocks),
];

/// Maximum number of changes of others shown (the newest).
const MAX_SHOWN_CHANGES: usize = 50;

/// A field that was changed, with both versions and the outcome of the merge.
struct FieldConflict {
    name: &'static str,
    theirs: String,
    mine: String,
    outcome: FieldComparison,
}

/// Renders the conflict: the changes of the others, the conflicting fields, and the form with the reader's
/// text. A change made by only one side is kept, so saving undoes only what is shown.
pub(super) async fn render_conflict_page(
    context: &RequestContext,
    id: TaskId,
    version: u64,
    mine: TaskFormFields,
) -> Result<Markup, PageError> {
    let request = TaskHistoryParams {
        task_id: id,
        cursor: None,
        limit: None,
    };
    let history = op::task_history(&context.request, &request).await;
    let history = history.or_page_error(context)?.history;
    let view = op::get_task(&context.request, id)
        .await
        .or_page_error(context)?;
    let later: Vec<&TaskHistoryEntry> = history
        .iter()
        .filter(|entry| entry.version.is_some_and(|then| then > version))
        .collect();
    let (merged, conflicts) = merge_edits(mine, TaskFormFields::from_task(&view.task), &later);
    let lang = context.lang();
    Ok(html! {
        div.notice.warn.conflict role="alert" data-code="version_mismatch" {
            p { b { (msg::task_conflict_title(lang)) } }
            p { (msg::task_conflict_explanation(lang)) }
        }
        section.card {
            h2 { (msg::common_changes_by_others(lang)) }
            ol.list { @for entry in later.iter().rev().take(MAX_SHOWN_CHANGES) { li {
                div { b { (entry.actor) } " " (task_history::describe_history_entry(entry, lang)) " " span.small { (render_time_ago(context, &entry.at)) } }
                @for detail in task_history::visible_field_changes(entry, lang) { (super::task_history::render_field_change(&detail)) }
            } } }
        }
        @for conflict in conflicts.iter().filter(|conflict| conflict.outcome == FieldComparison::Conflict) {
            section.card data-clash=(conflict.name) {
                h2 { (msg::task_conflict_both_changed_prefix(lang)) (labels::task_field_name_label(conflict.name, lang)) }
                (side_by_side::render_diff_table(
                    context,
                    (msg::common_theirs(lang), &conflict.theirs),
                    (msg::common_yours(lang), &conflict.mine),
                ))
            }
        }
        @if !conflicts.iter().any(|conflict| conflict.outcome == FieldComparison::Conflict) {
            p { (msg::task_conflict_merged(lang)) }
        }
        @let their_fields: Vec<&str> = conflicts.iter().filter(|c| c.outcome == FieldComparison::OnlyTheirs).map(|c| labels::task_field_name_label(c.name, lang)).collect();
        @if !their_fields.is_empty() { p.muted { (msg::task_conflict_taken_prefix(lang)) (their_fields.join(msg::common_list_separator(lang))) } }
        p { a.button href={ "/tasks/" (id) "/edit" } { (msg::common_use_theirs(lang)) }
            " " (msg::common_overwrite_with_yours(lang)) }
        (task_editor::render_edit_form(context, id, view.task.version, &merged))
    })
}

/// Returns the merged content of the form, and the outcome for each changed field.
fn merge_edits(
    mut mine: TaskFormFields,
    mut theirs: TaskFormFields,
    later: &[&TaskHistoryEntry],
) -> (TaskFormFields, Vec<FieldConflict>) {
    let mut base = theirs.clone();
    // In reverse order: the first change since the form was loaded contains the base value of a field.
    for entry in later.iter().rev() {
        for change in &entry.changes {
            let field = MERGED_FIELDS.iter().find(|(name, _)| *name == change.field);
            if let Some((name, accessor)) = field {
                let value = accessor(&mut base);
                *value = if change.is_truncated {
                    revert_list_change(value, change)
                } else {
                    form_value(name, change.from.as_ref())
                };
            }
        }
    }
    let mut merged = mine.clone();
    let mut conflicts = Vec::new();
    for (name, accessor) in MERGED_FIELDS {
        let (original, they, i) = (
            accessor(&mut base),
            accessor(&mut theirs),
            accessor(&mut mine),
        );
        let outcome = compare_three_way(original.as_str(), they.as_str(), i.as_str());
        if outcome == FieldComparison::OnlyTheirs {
            accessor(&mut merged).clone_from(they);
        }
        if outcome != FieldComparison::NoConflict {
            conflicts.push(FieldConflict {
                name,
                theirs: they.clone(),
                mine: i.clone(),
                outcome,
            });
        }
    }
    (merged, conflicts)
}

/// Returns a long list before a change that records only the added and removed entries.
fn revert_list_change(list: &str, change: &TaskFieldChange) -> String {
    let ids = |raw: &Option<RawJson>| raw.as_ref().and_then(RawJson::parse_as::<Vec<TaskId>>);
    let inserted: HashSet<TaskId> = ids(&change.to).unwrap_or_default().into_iter().collect();
    let now = list.split(", ").filter_map(|id| id.parse::<TaskId>().ok());
    let mut before: Vec<TaskId> = now.filter(|id| !inserted.contains(id)).collect();
    before.extend(ids(&change.from).unwrap_or_default());
    format_task_numbers(&before)
}

/// Returns a value of the history as the form represents it.
fn form_value(field: &str, value: Option<&RawJson>) -> String {
    let Some(value) = value else {
        return match field {
            "priority" => TaskPriority::Normal.as_str().to_owned(),
            _ => String::new(),
        };
    };
    match field {
        "blocks" | "blockedBy" => {
            format_task_numbers(&value.parse_as::<Vec<TaskId>>().unwrap_or_default())
        }
        _ => value.parse_as::<String>().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use polis_core::Timestamp;

    use super::*;

    fn history_entry(field: &str, from: &str, to: &str) -> TaskHistoryEntry {
        TaskHistoryEntry {
            seq: 1,
            at: Timestamp::from_millis(0),
            actor: "ada".into(),
            kind: "task.updated".into(),
            version: Some(2),
            changes: vec![TaskFieldChange {
                field: field.into(),
                from: RawJson::parse(from).ok(),
                to: RawJson::parse(to).ok(),
                is_truncated: false,
            }],
            data: None,
        }
    }

    #[test]
    fn field_changed_by_both_is_a_conflict() {
        let later = [
            history_entry("description", "\"old\"", "\"between\""),
            history_entry("description", "\"between\"", "\"theirs\""),
            history_entry("blockedBy", "[\"1\"]", "[\"1\",\"2\"]"),
        ];
        let theirs = TaskFormFields {
            subject: "S".into(),
            description: "theirs".into(),
            blocked_by: "1, 2".into(),
            ..TaskFormFields::default()
        };
        let mine = TaskFormFields {
            subject: "my S".into(),
            description: "mine".into(),
            blocked_by: "1".into(),
            ..TaskFormFields::default()
        };
        let (merged, conflicts) = merge_edits(mine, theirs, &later.iter().collect::<Vec<_>>());
        let outcomes: Vec<_> = conflicts.iter().map(|c| (c.name, c.outcome)).collect();
        assert_eq!(
            outcomes,
            [
                ("subject", FieldComparison::OnlyMine),
                ("description", FieldComparison::Conflict),
                ("blockedBy", FieldComparison::OnlyTheirs),
            ]
        );
        assert_eq!(merged.subject, "my S");
        assert_eq!(merged.description, "mine");
        assert_eq!(merged.blocked_by, "1, 2");
    }

    #[test]
    fn same_change_by_both_is_no_conflict() {
        let later = [history_entry("subject", "\"old\"", "\"new\"")];
        let new = TaskFormFields {
            subject: "new".into(),
            ..TaskFormFields::default()
        };
        let (_, conflicts) = merge_edits(new.clone(), new, &later.iter().collect::<Vec<_>>());
        assert!(conflicts.is_empty());
    }
}
