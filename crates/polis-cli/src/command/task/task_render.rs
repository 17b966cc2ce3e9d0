//! Renders tasks and task lists as text, for `polis task`.

use polis_core::task::{TaskPriority, TaskSummary};
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::TaskView;
use polis_view::display_width::pad_to_width;
use polis_view::labels::task_status_value;
use polis_view::task_fields::{TaskValueStyle, join_task_ids, list_task_fields};

use crate::output::{CliOutput, TextStyle, TextTable, sanitize_line, sanitize_lines};

/// Renders a task at length.
pub(super) fn render_task(view: &TaskView, out: &CliOutput) -> String {
    let task = &view.task;
    let mut text = out.paint(
        TextStyle::Bold,
        &format!("#{} {}", task.id, sanitize_line(&task.subject)),
    );
    text.push('\n');
    for entry in list_task_fields(view, TaskValueStyle::Stored, out.lang()) {
        let value = sanitize_line(&entry.value);
        text.push_str(&format!("  {} {value}\n", pad_to_width(entry.label, 17)));
    }
    if !task.description.is_empty() {
        text.push('\n');
        for line in sanitize_lines(&task.description).lines() {
            text.push_str(&format!("  {line}\n"));
        }
    }
    text
}

/// Returns a line with the tasks that became ready.
pub(super) fn render_unblocked(view: &TaskView, lang: UiLanguage) -> String {
    if view.unblocked.is_empty() {
        String::new()
    } else {
        msg::cli_task_now_ready(lang, join_task_ids(&view.unblocked)) + "\n"
    }
}

/// What the table of a page of tasks contains.
#[derive(Debug, Clone, Copy)]
pub(super) struct TaskTableColumns {
    /// Whether it begins with the headers.
    pub(super) has_headers: bool,
    /// Whether it has a column for the priority, which most boards do not use.
    pub(super) has_priorities: bool,
}

/// Returns the column headers of a task list.
fn task_columns(columns: TaskTableColumns, lang: UiLanguage) -> Vec<&'static str> {
    let mut headers = vec![
        msg::cli_column_id(lang),
        msg::cli_column_status(lang),
        msg::cli_column_owner(lang),
        msg::cli_column_role(lang),
        msg::cli_column_type(lang),
    ];
    if columns.has_priorities {
        headers.push(msg::cli_task_column_priority(lang));
    }
    headers.push(msg::cli_task_column_blocked_by(lang));
    headers.push(msg::cli_task_column_subject(lang));
    headers
}

/// Renders a page of tasks.
pub(super) fn render_task_table(
    tasks: &[TaskSummary],
    columns: TaskTableColumns,
    out: &CliOutput,
) -> String {
    let mut table = TextTable::new(&task_columns(columns, out.lang()));
    for task in tasks {
        let dash = |text: &str| {
            if text.is_empty() {
                "-".to_owned()
            } else {
                text.to_owned()
            }
        };
        let status = if task.stale {
            msg::task_stale_mark(out.lang()).to_owned()
        } else {
            task_status_value(task.status, out.lang()).to_owned()
        };
        let blocked = if task.open_blockers == 0 {
            String::new()
        } else {
            join_task_ids(&task.blocked_by)
        };
        let mut row = vec![
            task.id.to_string(),
            status,
            dash(&task.owner),
            dash(task.required_role.as_deref().unwrap_or_default()),
            dash(task.task_type.map_or("", polis_core::TaskType::as_str)),
        ];
        if columns.has_priorities {
            row.push(dash(task.priority.map_or("", TaskPriority::as_str)));
        }
        row.push(dash(&blocked));
        row.push(task.subject.clone());
        table.push_row(row);
    }
    let text = table.render(out);
    if columns.has_headers {
        return text;
    }
    text.split_once('\n')
        .map_or(String::new(), |(_, rows)| rows.to_owned())
}
