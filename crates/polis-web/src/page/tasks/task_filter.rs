//! Filter of the task board, with the number of cards per column, as stored in the page's query string; and
//! the form that sets it.

use maud::{Markup, html};
use polis_core::task::{TaskPriority, TaskSort};
use polis_core::token::OperationArea;
use polis_core::{TaskStatus, TaskType};
use polis_i18n::msg;
use polis_ops::op::TaskListParams;
use polis_view::labels;
use serde::Deserialize;

use crate::request::request_context::RequestContext;
use crate::url;

/// Initial number of cards per column, and the increment of "More".
pub(super) const COLUMN_PAGE_SIZE: u32 = 50;
/// Maximum number of cards per column.
pub(super) const MAX_COLUMN_CARDS: u32 = 500;

/// Filter of the task board. Empty fields do not filter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct TaskBoardFilter {
    /// Words that the subject or description contains, or a task number.
    q: String,
    /// Name of the required role.
    role: String,
    /// Name of the task type.
    #[serde(rename = "type")]
    kind: String,
    /// Name of the priority.
    priority: String,
    /// Id of the owner.
    owner: String,
    /// Whether to show only claimable tasks; any non-empty text means yes.
    ready: String,
    /// Number of cards per column; ignored if it is not a number.
    pending: String,
    in_progress: String,
    completed: String,
}

impl TaskBoardFilter {
    /// Returns whether any filter is set.
    pub(super) fn is_set(&self) -> bool {
        let texts = [
            &self.q,
            &self.role,
            &self.kind,
            &self.priority,
            &self.owner,
            &self.ready,
        ];
        texts.iter().any(|text| !text.trim().is_empty())
    }

    /// Returns the number of cards of a column.
    pub(super) fn card_limit(&self, status: TaskStatus) -> u32 {
        self.requested_limit(status)
            .parse()
            .unwrap_or(COLUMN_PAGE_SIZE)
            .clamp(COLUMN_PAGE_SIZE, MAX_COLUMN_CARDS)
    }

    fn requested_limit(&self, status: TaskStatus) -> &str {
        match status {
            TaskStatus::Pending => &self.pending,
            TaskStatus::InProgress => &self.in_progress,
            TaskStatus::Completed => &self.completed,
            TaskStatus::Deleted => "",
        }
    }

    /// Returns the filter with more cards of a column.
    pub(super) fn with_more(&self, status: TaskStatus) -> Self {
        let more = (self.card_limit(status) + COLUMN_PAGE_SIZE)
            .min(MAX_COLUMN_CARDS)
            .to_string();
        let mut new = self.clone();
        match status {
            TaskStatus::Pending => new.pending = more,
            TaskStatus::InProgress => new.in_progress = more,
            TaskStatus::Completed => new.completed = more,
            TaskStatus::Deleted => {}
        }
        new
    }

    /// Returns the list request of a column; `None` if the type or priority is unknown, which matches nothing,
    /// like any other unknown word.
    pub(super) fn list_params(&self, status: TaskStatus) -> Option<TaskListParams> {
        let non_empty = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let task_type = match non_empty(&self.kind) {
            Some(name) => Some(TaskType::from_name(&name)?),
            None => None,
        };
        let priority = match non_empty(&self.priority) {
            Some(name) => Some(TaskPriority::from_name(&name)?),
            None => None,
        };
        Some(TaskListParams {
            status: Some(status),
            required_role: non_empty(&self.role),
            owner: non_empty(&self.owner),
            task_type,
            priority,
            ready: non_empty(&self.ready).is_some(),
            search: non_empty(&self.q),
            // Open tasks in the order in which they should be done.
            sort: (status != TaskStatus::Completed).then_some(TaskSort::Priority),
            newest: true,
            limit: Some(self.card_limit(status)),
            ..TaskListParams::default()
        })
    }

    /// Returns the card counts that are set; they are not part of the form.
    pub(super) fn set_card_limits(&self) -> impl Iterator<Item = (&'static str, &str)> {
        let counts = [
            ("pending", self.pending.as_str()),
            ("in_progress", &self.in_progress),
            ("completed", &self.completed),
        ];
        counts
            .into_iter()
            .filter(|(_, count)| !count.trim().is_empty())
    }

    /// Returns the query string without the question mark.
    pub(super) fn query_string(&self) -> String {
        url::query_string(&[
            ("q", self.q.trim()),
            ("role", self.role.trim()),
            ("type", self.kind.trim()),
            ("priority", self.priority.trim()),
            ("owner", self.owner.trim()),
            ("ready", self.ready.trim()),
            ("pending", self.pending.trim()),
            ("in_progress", self.in_progress.trim()),
            ("completed", self.completed.trim()),
        ])
    }

    /// Renders the form. It works without scripts; with htmx the board is filtered while the reader types.
    pub(super) fn render_form(&self, context: &RequestContext) -> Markup {
        let lang = context.lang();
        let any = msg::task_filter_any(lang);
        html! {
            form.toolbar #filter role="search" method="get" action="/tasks" hx-get="/tasks/filter" hx-target="#board"
                hx-swap="morph:outerHTML" hx-trigger="input delay:200ms, submit" hx-sync="#board:replace" {
                div.grow {
                    label for="q" { (msg::common_search(lang)) }
                    input #q type="search" name="q" value=(self.q) data-filter placeholder=(msg::task_filter_placeholder(lang));
                }
                div {
                    label for="role" { (msg::common_role(lang)) }
                    select #role name="role" {
                        option value="" { (any) }
                        @for name in context.request.app.settings.roles.iter() {
                            option value=(name) selected[self.role == name] { (labels::role_label(name, lang)) }
                        }
                    }
                }
                div {
                    label for="type" { (msg::common_type(lang)) }
                    select #type name="type" {
                        option value="" { (any) }
                        @for kind in TaskType::ALL {
                            option value=(kind.as_str()) selected[self.kind == kind.as_str()] { (labels::task_type_label(*kind, lang)) }
                        }
                    }
                }
                div {
                    label for="priority" { (msg::task_priority(lang)) }
                    select #priority name="priority" {
                        option value="" { (any) }
                        @for priority in TaskPriority::ALL {
                            option value=(priority.as_str()) selected[self.priority == priority.as_str()] { (labels::task_priority_label(priority, lang)) }
                        }
                    }
                }
                div {
                    label for="owner" { (msg::task_field_owner(lang)) }
                    input #owner type="text" name="owner" value=(self.owner) size="12" autocomplete="off" spellcheck="false";
                }
                label.check {
                    input type="checkbox" name="ready" value="1" checked[!self.ready.is_empty()];
                    " " (msg::task_filter_ready(lang))
                }
                button { (msg::common_filter(lang)) }
                @if context.may_write(&[OperationArea::Tasks]) { a.button.main href="/tasks/new" { (msg::task_new_title(lang)) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn query_string_contains_set_fields() {
        let filter = TaskBoardFilter {
            q: "a&b 中".into(),
            role: "architect".into(),
            completed: "100".into(),
            ..TaskBoardFilter::default()
        };
        assert_eq!(
            filter.query_string(),
            "q=a%26b%20%E4%B8%AD&role=architect&completed=100"
        );
        assert_eq!(filter.card_limit(TaskStatus::Completed), 100);
        assert_eq!(filter.card_limit(TaskStatus::Pending), COLUMN_PAGE_SIZE);
    }

    #[test]
    fn card_limit_never_exceeds_maximum() {
        let mut filter = TaskBoardFilter {
            pending: "99999999999".into(),
            ..TaskBoardFilter::default()
        };
        assert_eq!(filter.card_limit(TaskStatus::Pending), COLUMN_PAGE_SIZE);
        for _ in 0..20 {
            filter = filter.with_more(TaskStatus::Pending);
        }
        assert_eq!(filter.card_limit(TaskStatus::Pending), MAX_COLUMN_CARDS);
    }
}
