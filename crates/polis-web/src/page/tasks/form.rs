//! Form fields of a task, shared by the pages that create and edit tasks.

use maud::{Markup, html};
use polis_core::{Code, Refusal, Task, TaskId, TaskType};
use polis_view::labels;
use serde::Deserialize;

use crate::request_context::Visit;

/// Field values exactly as typed.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Typed {
    pub(super) subject: String,
    pub(super) description: String,
    pub(super) role: String,
    #[serde(rename = "type")]
    pub(super) kind: String,
    pub(super) owner: String,
    pub(super) blocked_by: String,
    pub(super) blocks: String,
}

impl Typed {
    /// Returns a task's fields as the form shows them.
    pub(super) fn of(task: &Task) -> Self {
        Self {
            subject: task.subject.clone(),
            description: task.description.clone(),
            role: task.required_role.clone().unwrap_or_default(),
            kind: task.task_type.map_or("", TaskType::as_str).to_owned(),
            owner: task.owner.clone(),
            blocked_by: numbers_text(&task.blocked_by),
            blocks: numbers_text(&task.blocks),
        }
    }

    /// Normalizes submitted values: CRLF, which browsers send, becomes LF, and single-line fields are trimmed.
    pub(super) fn tidy(mut self) -> Self {
        self.description = self.description.replace("\r\n", "\n");
        for line in [
            &mut self.subject,
            &mut self.role,
            &mut self.kind,
            &mut self.owner,
            &mut self.blocked_by,
            &mut self.blocks,
        ] {
            *line = line.trim().to_owned();
        }
        self
    }

    /// Renders the fields for an existing task (`edits`) or a new one.
    pub(super) fn fields(&self, visit: &Visit, edits: bool) -> Markup {
        let lang = visit.lang();
        let none = lang.say("none", "无");
        let numbers = lang.say("numbers, such as 3, 7", "任务编号，如 3, 7");
        html! {
            div {
                label for="subject" { (labels::field("subject", lang)) }
                input #subject.wide name="subject" value=(self.subject) required maxlength="1000" autocomplete="off" autofocus[!edits];
            }
            div {
                label for="description" { (labels::field("description", lang)) " " span.muted { "Markdown" } }
                textarea #description name="description" rows="10" { "\n" (self.description) }
            }
            div.grid {
                div {
                    label for="role" { (labels::field("requiredRole", lang)) }
                    select #role.wide name="role" {
                        option value="" { (none) }
                        @for name in visit.polis.settings.roles.iter() {
                            option value=(name) selected[self.role == name] { (labels::role(name, lang)) }
                        }
                        // Keep a role that is no longer configured.
                        @if !self.role.is_empty() && !visit.polis.settings.roles.contains(&self.role) {
                            option value=(self.role) selected { (self.role) }
                        }
                    }
                }
                div {
                    label for="type" { (labels::field("taskType", lang)) }
                    select #type.wide name="type" {
                        option value="" { (none) }
                        @for kind in TaskType::ALL {
                            option value=(kind.as_str()) selected[self.kind == kind.as_str()] { (labels::task_type(*kind, lang)) }
                        }
                    }
                }
                @if edits {
                    div {
                        label for="owner" { (labels::field("owner", lang)) }
                        input #owner.wide name="owner" value=(self.owner) autocomplete="off" spellcheck="false";
                    }
                }
                div {
                    label for="blocked_by" { (lang.say("Waits for", "前置任务")) }
                    input #blocked_by.wide name="blocked_by" value=(self.blocked_by) placeholder=(numbers) autocomplete="off";
                }
                div {
                    label for="blocks" { (lang.say("Others wait for it", "后续任务")) }
                    input #blocks.wide name="blocks" value=(self.blocks) placeholder=(numbers) autocomplete="off";
                }
            }
        }
    }
}

/// Formats task numbers for the form.
pub(super) fn numbers_text(ids: &[TaskId]) -> String {
    let texts: Vec<String> = ids.iter().map(ToString::to_string).collect();
    texts.join(", ")
}

/// Parses task numbers: separated by whitespace, commas or semicolons, with or without `#`.
pub(super) fn numbers(text: &str) -> Result<Vec<TaskId>, Refusal> {
    let words = text.split(|c: char| c.is_whitespace() || matches!(c, ',' | ';' | '，' | '、'));
    let mut found = Vec::new();
    for word in words.filter(|word| !word.is_empty()) {
        let number = word.trim_start_matches('#').parse().ok();
        let id = number.and_then(TaskId::new).ok_or_else(|| {
            Refusal::new(
                Code::InvalidInput,
                format!(
                    "{} is not the number of a task.",
                    polis_core::id::quoted(word)
                ),
                "write numbers, divided by commas: 3, 7",
            )
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

    #[test]
    fn numbers_are_read_however_they_are_divided() {
        let read = |text| numbers(text).map(|ids| numbers_text(&ids));
        assert_eq!(read(" #3, 7 ，9、3\n").unwrap(), "3, 7, 9");
        assert_eq!(read("").unwrap(), "");
        assert_eq!(read("three").unwrap_err().code, Code::InvalidInput);
        assert_eq!(read("0").unwrap_err().code, Code::InvalidInput);
    }
}
