//! Form fields of a task, shared by the pages that create and edit tasks.

use maud::{Markup, html};
use polis_core::task::{TaskField, TaskPriority};
use polis_core::{Refusal, Task, TaskId, TaskType};
use polis_i18n::msg;
use polis_view::labels;
use serde::Deserialize;

use crate::refusal_tables::PageRefusal;
use crate::request::request_context::RequestContext;

/// Field values exactly as typed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct TaskFormFields {
    pub(super) subject: String,
    pub(super) description: String,
    pub(super) role: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    /// Name of the priority; empty means that it was not chosen.
    pub(super) priority: String,
    pub(super) owner: String,
    pub(super) blocked_by: String,
    pub(super) blocks: String,
}

impl TaskFormFields {
    /// Returns a task's fields as the form shows them.
    pub(super) fn from_task(task: &Task) -> Self {
        Self {
            subject: task.subject.clone(),
            description: task.description.clone(),
            role: task.required_role.clone().unwrap_or_default(),
            kind: task.task_type.map_or("", TaskType::as_str).to_owned(),
            priority: task.priority.unwrap_or_default().as_str().to_owned(),
            owner: task.owner.clone(),
            blocked_by: format_task_numbers(&task.blocked_by),
            blocks: format_task_numbers(&task.blocks),
        }
    }

    /// Normalizes submitted values: CRLF, which browsers send, becomes LF, and single-line fields are
    /// trimmed.
    pub(super) fn normalized(mut self) -> Self {
        self.description = self.description.replace("\r\n", "\n");
        for line in [
            &mut self.subject,
            &mut self.role,
            &mut self.kind,
            &mut self.priority,
            &mut self.owner,
            &mut self.blocked_by,
            &mut self.blocks,
        ] {
            *line = line.trim().to_owned();
        }
        self
    }

    /// Returns the priority that the form shows as chosen.
    fn chosen_priority(&self) -> TaskPriority {
        TaskPriority::from_name(&self.priority).unwrap_or_default()
    }

    /// Renders the fields for an existing task (`edits`) or a new one.
    pub(super) fn render_fields(&self, context: &RequestContext, edits: bool) -> Markup {
        let lang = context.lang();
        let none = msg::common_none(lang);
        let numbers = msg::task_numbers_placeholder(lang);
        html! {
            div {
                label for="subject" { (labels::task_field_label(TaskField::Subject, lang)) }
                input #subject.wide name="subject" value=(self.subject) required maxlength="1000" autocomplete="off" autofocus[!edits];
            }
            div {
                label for="description" { (labels::task_field_label(TaskField::Description, lang)) " " span.muted { "Markdown" } }
                textarea #description name="description" rows="10" { "\n" (self.description) }
            }
            div.grid {
                div {
                    label for="role" { (labels::task_field_label(TaskField::RequiredRole, lang)) }
                    select #role.wide name="role" {
                        option value="" { (none) }
                        @for name in context.request.app.settings.roles.iter() {
                            option value=(name) selected[self.role == name] { (labels::role_label(name, lang)) }
                        }
                        // Keep a role that is no longer configured.
                        @if !self.role.is_empty() && !context.request.app.settings.roles.contains(&self.role) {
                            option value=(self.role) selected { (self.role) }
                        }
                    }
                }
                div {
                    label for="type" { (labels::task_field_label(TaskField::TaskType, lang)) }
                    select #type.wide name="type" {
                        option value="" { (none) }
                        @for kind in TaskType::ALL {
                            option value=(kind.as_str()) selected[self.kind == kind.as_str()] { (labels::task_type_label(*kind, lang)) }
                        }
                    }
                }
                div {
                    label for="priority" { (labels::task_field_label(TaskField::Priority, lang)) }
                    select #priority.wide name="priority" {
                        @for priority in TaskPriority::ALL {
                            option value=(priority.as_str()) selected[self.chosen_priority() == priority] {
                                (labels::task_priority_label(priority, lang))
                            }
                        }
                    }
                }
                @if edits {
                    div {
                        label for="owner" { (labels::task_field_label(TaskField::Owner, lang)) }
                        input #owner.wide name="owner" value=(self.owner) autocomplete="off" spellcheck="false";
                    }
                }
                div {
                    label for="blocked_by" { (msg::task_field_blocked_by(lang)) }
                    input #blocked_by.wide name="blocked_by" value=(self.blocked_by) placeholder=(numbers) autocomplete="off";
                }
                div {
                    label for="blocks" { (msg::task_field_blocks(lang)) }
                    input #blocks.wide name="blocks" value=(self.blocks) placeholder=(numbers) autocomplete="off";
                }
            }
        }
    }
}

/// Formats task numbers for the form.
pub(super) fn format_task_numbers(ids: &[TaskId]) -> String {
    let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

/// Parses task numbers: separated by whitespace, commas or semicolons, with or without `#`. Fails with
/// `InvalidInput` if a word is not a task number.
pub(super) fn parse_task_numbers(text: &str) -> Result<Vec<TaskId>, Refusal> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '，' | '、'));
    let mut found = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        let number = word.trim_start_matches('#').parse().ok();
        let id = number.and_then(TaskId::new).ok_or_else(|| {
            Refusal::from(PageRefusal::NotATaskNumber {
                text: polis_core::id::quote_untrusted(word),
            })
        })?;
        if !found.contains(&id) {
            found.push(id);
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use polis_core::RefusalCode;

    #[test]
    fn task_numbers_parse_with_any_separator() {
        let read = |text| parse_task_numbers(text).map(|ids| format_task_numbers(&ids));
        assert_eq!(read(" #3, 7 ，9、3\n").unwrap(), "3, 7, 9");
        assert_eq!(read("").unwrap(), "");
        assert_eq!(read("three").unwrap_err().code, RefusalCode::INVALID_INPUT);
        assert_eq!(read("0").unwrap_err().code, RefusalCode::INVALID_INPUT);
    }
}
