//! Tasks tab: the task board, the page of a task, and the forms that create and edit tasks.
//!
//! `board` and `filter` implement the task board. `show` is the page of a task, with `graph`, `talk` and `history` as
//! its parts. `act` and `assign` contain the actions, `form`, `new` and `edit` the forms, and `conflict` the page for
//! an edit conflict.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use maud::{Markup, html};
use polis_core::TaskStatus;
use polis_view::labels;

use crate::request_context::Visit;
use crate::state::House;

mod assign;
mod board;
mod comments;
mod conflict;
mod edit;
mod filter;
mod form;
mod graph;
mod history;
mod new;
mod show;
mod task_actions;

pub(crate) fn routes() -> Router<Arc<House>> {
    Router::new()
        .route("/tasks", get(board::show))
        .route("/tasks/board", get(board::refresh))
        .route("/tasks/filter", get(board::filtered))
        .route("/tasks/new", get(new::ask).post(new::create))
        .route("/tasks/{id}", get(show::show))
        .route("/tasks/{id}/main", get(show::refresh))
        .route("/tasks/{id}/graph", get(graph::refresh))
        .route(
            "/tasks/{id}/comments",
            get(comments::refresh).post(comments::say),
        )
        .route("/tasks/{id}/comments/{number}", get(comments::alone))
        .route("/tasks/{id}/description", get(show::description))
        .route("/tasks/{id}/history", get(history::refresh))
        .route("/tasks/{id}/edit", get(edit::ask).post(edit::save))
        .route("/tasks/{id}/move", post(task_actions::step))
        .route("/tasks/{id}/act", post(task_actions::act))
        .route(
            "/tasks/{id}/delete",
            get(task_actions::ask_delete).post(task_actions::delete),
        )
}

/// Renders a task's status.
fn status_pill(visit: &Visit, status: TaskStatus) -> Markup {
    html! { span class={ "pill status-" (status.as_str()) } { (labels::status(status, visit.lang())) } }
}
