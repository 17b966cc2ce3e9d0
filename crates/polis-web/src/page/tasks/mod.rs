//! Tasks tab: its routes with the access that each requires, and the status pill. The pages are in submodules.
//!
//! `task_board` and `task_filter` implement the task board. `task_page` is the page of a task, with
//! `dependency_graph`, `task_comments` and `task_history` as its parts. `task_actions` and `assignees`
//! contain the actions on a task; `task_comments` handles new comments. `task_form`, `new_task` and
//! `task_editor` are the forms, and `edit_conflict` the page for an edit conflict.

use maud::{Markup, html};
use polis_core::token::{AccessLevel, OperationArea};
use polis_core::{TaskPriority, TaskStatus};
use polis_i18n::msg;
use polis_view::labels;

use crate::request::request_context::RequestContext;
use crate::route_table::{RouteAccess, WebRoute};

mod assignees;
mod dependency_graph;
mod edit_conflict;
mod new_task;
mod task_actions;
mod task_board;
mod task_comments;
mod task_editor;
mod task_filter;
mod task_form;
mod task_history;
mod task_page;

const READ: RouteAccess = RouteAccess::Scoped(&[(OperationArea::Tasks, AccessLevel::Read)]);
/// Also for forms: a form that would be refused on submission, with everything typed into it, is not shown in
/// the first place.
const WRITE: RouteAccess = RouteAccess::Scoped(&[(OperationArea::Tasks, AccessLevel::Write)]);

pub(crate) fn task_routes() -> Vec<WebRoute> {
    vec![
        WebRoute::get("/tasks", READ, task_board::show_task_board),
        WebRoute::get("/tasks/board", READ, task_board::refresh_task_board),
        WebRoute::get("/tasks/filter", READ, task_board::filter_task_board),
        WebRoute::get("/tasks/new", WRITE, new_task::show_new_task_form),
        WebRoute::post("/tasks/new", WRITE, new_task::submit_new_task),
        WebRoute::get("/tasks/{id}", READ, task_page::show_task),
        WebRoute::get("/tasks/{id}/main", READ, task_page::refresh_task),
        WebRoute::get("/tasks/{id}/graph", READ, dependency_graph::refresh_graph),
        WebRoute::get("/tasks/{id}/comments", READ, task_comments::show_comments),
        WebRoute::post("/tasks/{id}/comments", WRITE, task_comments::submit_comment),
        WebRoute::get(
            "/tasks/{id}/comments/{number}",
            READ,
            task_comments::show_comment,
        ),
        WebRoute::get("/tasks/{id}/description", READ, task_page::show_description),
        WebRoute::get("/tasks/{id}/history", READ, task_history::refresh_history),
        WebRoute::get("/tasks/{id}/edit", WRITE, task_editor::show_edit_form),
        WebRoute::post("/tasks/{id}/edit", WRITE, task_editor::save_task),
        WebRoute::post("/tasks/{id}/move", WRITE, task_actions::move_task),
        WebRoute::post("/tasks/{id}/act", WRITE, task_actions::perform_action),
        WebRoute::get(
            "/tasks/{id}/delete",
            WRITE,
            task_actions::confirm_delete_task,
        ),
        WebRoute::post("/tasks/{id}/delete", WRITE, task_actions::delete_task),
    ]
}

/// Renders a task's status.
/// Renders the priority of a task if it is not normal; most tasks are, so a mark on those would hide the others.
pub(in crate::page) fn render_priority_pill(
    context: &RequestContext,
    priority: Option<TaskPriority>,
) -> Markup {
    html! {
        @if let Some(priority) = priority.filter(|priority| *priority != TaskPriority::Normal) {
            span class={ "pill priority-" (priority.as_str()) } title=(msg::task_priority(context.lang())) {
                (labels::task_priority_label(priority, context.lang()))
            } " "
        }
    }
}

fn render_status_pill(context: &RequestContext, status: TaskStatus) -> Markup {
    html! { span class={ "pill status-" (status.as_str()) } { (labels::task_status_label(status, context.lang())) } }
}
