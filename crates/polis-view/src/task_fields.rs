//! The fields of a task as labelled texts. The command line and the terminal UI print the list, without number,
//! subject and description; the web page takes single values and renders owner, times and metadata itself.
//! Names of fields are in `labels`.

use polis_core::number::saturating_cast;
use polis_core::task::task_priority::PRIORITY_KEY;
use polis_core::task::{Task, TaskField};
use polis_core::{RawJson, TaskId, Timestamp};
use polis_i18n::msg;
use polis_ops::op::TaskView;

use crate::labels::{
    role_label, task_field_label, task_priority_label, task_status_label, task_status_value,
    task_type_label,
};
use crate::{UiLanguage, relative_time};

/// How values are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TaskValueStyle {
    /// As stored: names that commands accept, times as in ISO 8601. Statuses are translated.
    Stored,
    /// For people: translated names, times relative to `now`.
    Readable {
        /// The current time in milliseconds since 1970.
        now: i64,
    },
}

/// A field of a task that has a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LabelledTaskField {
    /// Which field it is, for surfaces that render some fields in their own way.
    pub field: TaskField,
    /// Display name of the field.
    pub label: &'static str,
    /// Value of the field as text, not yet sanitized for a terminal.
    pub value: String,
}

/// Returns the details of a task that have a value, in the order of [`TaskField::ALL`]. Number, subject and
/// description are not among them: every surface shows them as heading and body.
pub fn list_task_fields(
    view: &TaskView,
    style: TaskValueStyle,
    lang: UiLanguage,
) -> Vec<LabelledTaskField> {
    let fields = TaskField::ALL.iter().filter_map(|&field| {
        let value = format_task_field(view, field, style, lang)?;
        let label = task_field_label(field, lang);
        Some(LabelledTaskField {
            field,
            label,
            value,
        })
    });
    fields.collect()
}

/// Returns the value of a field as text, or `None` if it is empty or shown as heading or body.
pub fn format_task_field(
    view: &TaskView,
    field: TaskField,
    style: TaskValueStyle,
    lang: UiLanguage,
) -> Option<String> {
    let task = &view.task;
    let time = |at: &Option<Timestamp>| at.as_ref().map(|at| format_time(at, style, lang));
    match field {
        TaskField::Id | TaskField::Subject | TaskField::Description => None,
        TaskField::Status => Some(format_status(view, style, lang)),
        TaskField::Owner => non_empty(&task.owner),
        TaskField::RequiredRole => {
            let role = task.required_role.as_deref()?;
            Some(match style {
                TaskValueStyle::Stored => role.to_owned(),
                TaskValueStyle::Readable { .. } => role_label(role, lang).to_owned(),
            })
        }
        TaskField::TaskType => {
            let task_type = task.task_type?;
            Some(match style {
                TaskValueStyle::Stored => task_type.as_str().to_owned(),
                TaskValueStyle::Readable { .. } => task_type_label(task_type, lang).to_owned(),
            })
        }
        TaskField::Priority => {
            let priority = task.priority?;
            Some(match style {
                TaskValueStyle::Stored => priority.as_str().to_owned(),
                TaskValueStyle::Readable { .. } => task_priority_label(priority, lang).to_owned(),
            })
        }
        TaskField::BlockedBy => non_empty(&join_task_ids(&task.blocked_by)),
        TaskField::Blocks => non_empty(&join_task_ids(&task.blocks)),
        TaskField::ActiveForm => task.active_form.as_deref().and_then(non_empty),
        TaskField::CreatedAt => time(&task.created_at),
        TaskField::UpdatedAt => time(&task.updated_at),
        TaskField::ClaimedAt => time(&task.claimed_at),
        TaskField::StartedAt => time(&task.started_at),
        TaskField::CompletedAt => time(&task.completed_at),
        TaskField::LeaseMs => task
            .lease_ms
            .map(|millis| relative_time::format_duration(saturating_cast::<i64>(millis), lang)),
        TaskField::LeaseExpiresAt => {
            let end = task.lease_expires_at.as_ref()?;
            Some(match (style, end.millis()) {
                (TaskValueStyle::Readable { now }, Some(millis)) => {
                    relative_time::format_until(now, millis, lang)
                }
                _ => end.as_str().to_owned(),
            })
        }
        TaskField::Approval => task.approval.as_ref().map(|approval| {
            let at = format_time(&approval.at, style, lang);
            let note = approval.note.as_deref().and_then(non_empty);
            let note = note.map_or(String::new(), |note| format!(": {note}"));
            format!("{} ({at}){note}", approval.by)
        }),
        TaskField::Version => Some(task.version.to_string()),
        TaskField::Metadata => format_metadata(task),
    }
}

/// Joins task numbers with spaces: "#1 #2".
pub fn join_task_ids(ids: &[TaskId]) -> String {
    let ids: Vec<String> = ids.iter().map(|id| format!("#{id}")).collect();
    ids.join(" ")
}

fn non_empty(text: &str) -> Option<String> {
    (!text.is_empty()).then(|| text.to_owned())
}

fn format_status(view: &TaskView, style: TaskValueStyle, lang: UiLanguage) -> String {
    let status = match style {
        TaskValueStyle::Stored => task_status_value(view.task.status, lang),
        TaskValueStyle::Readable { .. } => task_status_label(view.task.status, lang),
    };
    if view.stale {
        let stale = msg::task_stale_note(lang);
        format!("{status}{stale}")
    } else {
        status.to_owned()
    }
}

fn format_time(at: &Timestamp, style: TaskValueStyle, lang: UiLanguage) -> String {
    match (style, at.millis()) {
        (TaskValueStyle::Readable { now }, Some(millis)) => {
            relative_time::format_age(now, millis, lang)
        }
        _ => at.as_str().to_owned(),
    }
}

/// Formats the metadata as `name=value`; strings without quotes. A priority that is shown as a field is left out.
fn format_metadata(task: &Task) -> Option<String> {
    let metadata = task.metadata.as_ref()?;
    let text = |value: &RawJson| {
        value
            .parse_as::<String>()
            .unwrap_or_else(|| value.as_str().to_owned())
    };
    let pairs: Vec<String> = metadata
        .iter()
        .filter(|(name, _)| task.priority.is_none() || *name != PRIORITY_KEY)
        .map(|(name, value)| format!("{name}={}", text(value)))
        .collect();
    non_empty(&pairs.join(" "))
}
