//! Handlers of the requests that change a task: the buttons of the task page (rendered by `task_page`),
//! moving a card to another column of the task board (`board-drag.js`), and deletion with its confirmation
//! page.
//!
//! Each request contains the version that the page showed, so that a change made in the meantime is not
//! overwritten.

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::html;
use polis_core::task::claim::TaskClaimParams;
use polis_core::task::update::TaskUpdateParams;
use polis_core::{AgentId, Permission, TaskId, TaskStatus};
use polis_i18n::msg;
use polis_ops::OpError;
use polis_ops::op::{self, TaskApproveParams, TaskReleaseParams};
use serde::Deserialize;

use super::task_filter::TaskBoardFilter;
use super::{task_board, task_page};
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::{Tab, html_fragment, tab_page};
use crate::request::extract::{FormFields, PathParams};
use crate::request::request_context::RequestContext;

#[derive(Debug, Deserialize)]
pub(super) struct MoveTaskForm {
    /// Status of the column to which the card is moved.
    to: TaskStatus,
    /// The version that the page showed.
    version: u64,
    /// The filter of the task board.
    #[serde(default)]
    query: String,
}

/// Moves a task to another column. If the move is refused, a notice is shown and the card stays in its
/// column.
pub(super) async fn move_task(
    context: RequestContext,
    PathParams(id): PathParams<TaskId>,
    FormFields(step): FormFields<MoveTaskForm>,
) -> Result<Response, PageError> {
    let request = TaskUpdateParams {
        status: Some(step.to),
        expected_version: Some(step.version),
        ..TaskUpdateParams::new(id)
    };
    let done = op::update_task(&context.request, &request).await;
    done.or_page_error(&context)?;
    if !context.is_fragment {
        return Ok(Redirect::to("/tasks").into_response());
    }
    let filter: TaskBoardFilter = parse_board_filter(&step.query);
    Ok(html_fragment(
        task_board::render_task_board(&context, &filter).await?,
    ))
}

/// Parses the filter from a board's query string; shows all tasks if it cannot be parsed.
fn parse_board_filter(query: &str) -> TaskBoardFilter {
    let uri = format!("/?{query}").parse::<http::Uri>();
    let read = uri
        .ok()
        .and_then(|uri| axum::extract::Query::<TaskBoardFilter>::try_from_uri(&uri).ok());
    read.map(|query| query.0).unwrap_or_default()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum TaskAction {
    Claim,
    Assign,
    Release,
    Start,
    Complete,
    Approve,
}

#[derive(Debug, Deserialize)]
pub(super) struct TaskPageActionForm {
    action: TaskAction,
    version: u64,
    #[serde(default)]
    note: String,
    /// Agent to assign the task to; only for that action.
    #[serde(default)]
    owner: String,
}

/// Performs the action of a button on the task's page.
pub(super) async fn perform_action(
    context: RequestContext,
    PathParams(id): PathParams<TaskId>,
    FormFields(form): FormFields<TaskPageActionForm>,
) -> Result<Response, PageError> {
    run_task_action(&context, id, &form)
        .await
        .or_page_error(&context)?;
    updated_task_response(&context, id).await
}

async fn run_task_action(
    context: &RequestContext,
    id: TaskId,
    form: &TaskPageActionForm,
) -> Result<(), OpError> {
    let expected_version = Some(form.version);
    let status_update = |status| TaskUpdateParams {
        status: Some(status),
        expected_version,
        ..TaskUpdateParams::new(id)
    };
    match form.action {
        TaskAction::Claim => {
            let request = TaskClaimParams {
                task_id: Some(id),
                expected_version,
                ..TaskClaimParams::default()
            };
            op::claim_task(&context.request, &request).await?;
        }
        TaskAction::Assign => {
            // An empty owner would release the task.
            let _: AgentId = form.owner.parse().map_err(OpError::Refused)?;
            let request = TaskUpdateParams {
                owner: Some(form.owner.clone()),
                expected_version,
                force_assign: may_force_assign(context).await?,
                ..TaskUpdateParams::new(id)
            };
            op::update_task(&context.request, &request).await?;
        }
        TaskAction::Release => {
            let request = TaskReleaseParams {
                task_id: id,
                expected_version,
            };
            op::release_task(&context.request, &request).await?;
        }
        TaskAction::Start => {
            op::update_task(&context.request, &status_update(TaskStatus::InProgress)).await?;
        }
        TaskAction::Complete => {
            op::update_task(&context.request, &status_update(TaskStatus::Completed)).await?;
        }
        TaskAction::Approve => {
            let note = form.note.trim();
            let request = TaskApproveParams {
                task_id: id,
                note: Some(note.to_owned()).filter(|note| !note.is_empty()),
                expected_version,
            };
            op::approve_task(&context.request, &request).await?;
        }
    }
    Ok(())
}

/// Returns whether the reader may assign across roles; then choosing an agent with another role is
/// intentional.
async fn may_force_assign(context: &RequestContext) -> Result<bool, OpError> {
    let caller = context.request.resolve_caller().await?;
    let policy = &context.request.app.settings.policy;
    Ok(policy.allows(&caller, Permission::ForceAssign))
}

/// Returns the updated task: a fragment for htmx, otherwise a redirect to its page.
async fn updated_task_response(
    context: &RequestContext,
    id: TaskId,
) -> Result<Response, PageError> {
    if context.is_fragment {
        Ok(html_fragment(
            task_page::load_task_section(context, id).await?,
        ))
    } else {
        Ok(Redirect::to(&format!("/tasks/{id}")).into_response())
    }
}

/// Confirmation page for deleting a task.
pub(super) async fn confirm_delete_task(
    context: RequestContext,
    PathParams(id): PathParams<TaskId>,
) -> Result<Response, PageError> {
    let view = op::get_task(&context.request, id)
        .await
        .or_page_error(&context)?;
    let task = view.task;
    let lang = context.lang();
    let body = html! {
        form.card method="post" action={ "/tasks/" (id) "/delete" } {
            input type="hidden" name="csrf" value=(context.csrf);
            input type="hidden" name="version" value=(task.version);
            p { b { "#" (id) " " (task.subject) } }
            p { (msg::task_delete_explanation(lang)) }
            div.actions {
                button.danger { (msg::task_delete_confirm(lang)) }
                a.button href={ "/tasks/" (id) } { (msg::common_cancel(lang)) }
            }
        }
    };
    let title = msg::task_delete_question(lang);
    Ok(tab_page(&context, Tab::Tasks, title, "", &body))
}

#[derive(Debug, Deserialize)]
pub(super) struct DeleteTaskForm {
    version: u64,
}

/// Deletes a task and redirects to the task board.
pub(super) async fn delete_task(
    context: RequestContext,
    PathParams(id): PathParams<TaskId>,
    FormFields(form): FormFields<DeleteTaskForm>,
) -> Result<Response, PageError> {
    let request = TaskUpdateParams {
        status: Some(TaskStatus::Deleted),
        expected_version: Some(form.version),
        ..TaskUpdateParams::new(id)
    };
    let done = op::update_task(&context.request, &request).await;
    done.or_page_error(&context)?;
    Ok(Redirect::to("/tasks").into_response())
}
