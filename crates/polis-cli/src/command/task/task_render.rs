//! Renders tasks and task lists as text, for `polis task`.

use polis_core::task::TaskSummary;
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

/// Returns the column headers of a task list.
fn task_columns(lang: UiLanguage) -> [&'static str; 7] {
    [
        msg::cli_column_id(lang),
        msg::cli_column_status(lang),
        msg::cli_column_owner(lang),
        msg::cli_column_role(lang),
        msg::cli_column_type(lang),
        msg::cli_task_column_blocked_by(lang),
        msg::cli_task_column_subject(lang),
    ]
}

/// Renders a page of tasks; only the first page has the headers.
pub(super) fn render_task_table(tasks: &[TaskSummary], first: bool, out: &CliOutput) -> String {
    let mut table = TextTable::new(&task_columns(out.lang()));
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
        table.push_row([
            task.id.to_string(),
            status,
            dash(&task.owner),
            dash(task.required_role.as_deref().unwrap_or_default()),
            dash(task.task_type.map_or("", polis_core::TaskType::as_str)),
            dash(&blocked),
            task.subject.clone(),
        ]);
    }
    let text = table.render(out);
    if first {
        return text;
    }
    text.split_once('\n')
        .map_or(String::new(), |(_, rows)| rows.to_owned())
}
