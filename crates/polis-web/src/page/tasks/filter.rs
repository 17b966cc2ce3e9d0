//! Filter of the task board, as stored in the page's query string.

use maud::{Markup, html};
use polis_core::token::Area;
use polis_core::{TaskStatus, TaskType};
use polis_ops::op::TaskList;
use polis_view::labels;
use serde::Deserialize;

use crate::request_context::Visit;
use crate::url;

/// Initial number of cards per column, and the increment of "More".
pub(super) const STEP: u32 = 50;
/// Maximum number of cards per column.
pub(super) const MOST: u32 = 500;

/// Filter of the task board. Empty fields do not filter.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
#[serde(default)]
pub(super) struct Filter {
    /// Search words.
    q: String,
    /// The required role.
    role: String,
    /// The type.
    #[serde(rename = "type")]
    kind: String,
    /// The owner.
    owner: String,
    /// Whether to show only claimable tasks; any non-empty text means yes.
    ready: String,
    /// Number of cards per column; ignored if it is not a number.
    pending: String,
    in_progress: String,
    completed: String,
}

impl Filter {
    /// Returns whether any filter is set.
    pub(super) fn is_set(&self) -> bool {
        let texts = [&self.q, &self.role, &self.kind, &self.owner, &self.ready];
        texts.iter().any(|text| !text.trim().is_empty())
    }

    /// Returns the number of cards of a column.
    pub(super) fn shown(&self, status: TaskStatus) -> u32 {
        self.wanted(status)
            .parse()
            .unwrap_or(STEP)
            .clamp(STEP, MOST)
    }

    fn wanted(&self, status: TaskStatus) -> &str {
        match status {
            TaskStatus::Pending => &self.pending,
            TaskStatus::InProgress => &self.in_progress,
            TaskStatus::Completed => &self.completed,
            TaskStatus::Deleted => "",
        }
    }

    /// Returns the filter with more cards of a column.
    pub(super) fn with_more(&self, status: TaskStatus) -> Self {
        let more = (self.shown(status) + STEP).min(MOST).to_string();
        let mut new = self.clone();
        match status {
            TaskStatus::Pending => new.pending = more,
            TaskStatus::InProgress => new.in_progress = more,
            TaskStatus::Completed => new.completed = more,
            TaskStatus::Deleted => {}
        }
        new
    }

    /// Returns the list request of a column. An unknown type matches nothing, like any other unknown word.
    pub(super) fn list(&self, status: TaskStatus) -> Option<TaskList> {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let task_type = match given(&self.kind) {
            Some(name) => Some(TaskType::from_name(&name)?),
            None => None,
        };
        Some(TaskList {
            status: Some(status),
            required_role: given(&self.role),
            owner: given(&self.owner),
            task_type,
            ready: given(&self.ready).is_some(),
            search: given(&self.q),
            newest: true,
            limit: Some(self.shown(status)),
            ..TaskList::default()
        })
    }

    /// Returns the card counts that are set; they are not part of the form.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&'static str, &str)> {
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
    pub(super) fn query(&self) -> String {
        url::query(&[
            ("q", self.q.trim()),
            ("role", self.role.trim()),
            ("type", self.kind.trim()),
            ("owner", self.owner.trim()),
            ("ready", self.ready.trim()),
            ("pending", self.pending.trim()),
            ("in_progress", self.in_progress.trim()),
            ("completed", self.completed.trim()),
        ])
    }

    /// Renders the form. It works without scripts; with htmx the board is filtered while the reader types.
    pub(super) fn form(&self, visit: &Visit) -> Markup {
        let lang = visit.lang();
        let any = lang.say("any", "不限");
        html! {
            form.toolbar #filter role="search" method="get" action="/tasks" hx-get="/tasks/filter" hx-target="#board"
                hx-swap="morph:outerHTML" hx-trigger="input delay:200ms, submit" hx-sync="#board:replace" {
                div.grow {
                    label for="q" { (lang.say("Search", "搜索")) }
                    input #q type="search" name="q" value=(self.q) data-filter placeholder=(lang.say("words or #12", "关键词或 #12"));
                }
                div {
                    label for="role" { (lang.say("Role", "角色")) }
                    select #role name="role" {
                        option value="" { (any) }
                        @for name in visit.polis.settings.roles.iter() {
                            option value=(name) selected[self.role == name] { (labels::role(name, lang)) }
                        }
                    }
                }
                div {
                    label for="type" { (lang.say("Type", "类型")) }
                    select #type name="type" {
                        option value="" { (any) }
                        @for kind in TaskType::ALL {
                            option value=(kind.as_str()) selected[self.kind == kind.as_str()] { (labels::task_type(*kind, lang)) }
                        }
                    }
                }
                div {
                    label for="owner" { (lang.say("Owner", "负责人")) }
                    input #owner type="text" name="owner" value=(self.owner) size="12" autocomplete="off" spellcheck="false";
                }
                label.check {
                    input type="checkbox" name="ready" value="1" checked[!self.ready.is_empty()];
                    " " (lang.say("ready", "可认领"))
                }
                button { (lang.say("Filter", "筛选")) }
                @if visit.may_change(&[Area::Tasks]) { a.button.main href="/tasks/new" { (lang.say("New task", "新建任务")) } }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_brings_back_what_was_asked_for() {
        let filter = Filter {
            q: "a&b 中".into(),
            role: "architect".into(),
            completed: "100".into(),
            ..Filter::default()
        };
        assert_eq!(
            filter.query(),
            "q=a%26b%20%E4%B8%AD&role=architect&completed=100"
        );
        assert_eq!(filter.shown(TaskStatus::Completed), 100);
        assert_eq!(filter.shown(TaskStatus::Pending), STEP);
    }

    #[test]
    fn a_column_never_grows_past_its_most() {
        let mut filter = Filter {
            pending: "99999999999".into(),
            ..Filter::default()
        };
        assert_eq!(filter.shown(TaskStatus::Pending), STEP);
        for _ in 0..20 {
            filter = filter.with_more(TaskStatus::Pending);
        }
        assert_eq!(filter.shown(TaskStatus::Pending), MOST);
    }
}
