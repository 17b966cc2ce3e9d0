//! Tasks: the board by status, a task's own page, creating and editing.
//!
//! `board` and `filter` are the board, `show` is a task's page with `graph`, `talk` and `history` as its
//! parts, `act` has the deeds, `form` and `new` and `edit` the forms, `conflict` what is shown when somebody
//! was faster.

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

/// A task's state as a pill.
fn status_pill(visit: &Visit, status: TaskStatus) -> Markup {
    html! { span class={ "pill status-" (status.as_str()) } { (labels::status(status, visit.lang())) } }
}
