//! Editor of a task. The form contains the version it was created from (optimistic concurrency): on a
//! concurrent change, nothing that was typed is lost and nothing is overwritten unseen.

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, html};
use polis_core::task::update::TaskUpdateParams;
use polis_core::{Refusal, RefusalCode, Task, TaskId, TaskPriority};
use polis_i18n::msg;
use polis_ops::{OpError, op};
use polis_serve::http::problem;
use serde::Deserialize;

use super::edit_conflict;
use super::task_form::{TaskFormFields, parse_task_numbers};
use crate::error_page::{OrPageError as _, PageError, render_error_notice};
use crate::layout::{Tab, tab_page};
use crate::request::extract::{FormFields, PathParams};
use crate::request::request_context::RequestContext;

#[derive(Debug, Deserialize)]
pub(super) struct TaskEditForm {
    #[serde(flatten)]
    typed: TaskFormFields,
    /// The version that the form was created from.
    version: u64,
    /// Whether to assign across roles; any non-empty text means yes.
    #[serde(default)]
    force: String,
}

/// Returns the form with the current values.
pub(super) async fn show_edit_form(
    context: RequestContext,
    PathParams(id): PathParams<TaskId>,
) -> Result<Response, PageError> {
    let view = op::get_task(&context.request, id)
        .await
        .or_page_error(&context)?;
    let form = render_edit_form(
        &context,
        id,
        view.task.version,
        &TaskFormFields::from_task(&view.task),
    );
    Ok(edit_page(&context, id, &form))
}

/// Saves the form, or shows the conflict if the task was changed in the meantime.
pub(super) async fn save_task(
    context: RequestContext,
    PathParams(id): PathParams<TaskId>,
    FormFields(edited): FormFields<TaskEditForm>,
) -> Result<Response, PageError> {
    let view = op::get_task(&context.request, id)
        .await
        .or_page_error(&context)?;
    let mine = edited.typed.normalized();
    let error = match changed_fields(&view.task, &mine, edited.version, !edited.force.is_empty()) {
        Err(refusal) => OpError::from(refusal),
        Ok(None) => return Ok(Redirect::to(&format!("/tasks/{id}")).into_response()),
        Ok(Some(request)) => match op::update_task(&context.request, &request).await {
            Ok(_) => return Ok(Redirect::to(&format!("/tasks/{id}")).into_response()),
            Err(error) => error,
        },
    };
    let body = match error.code() {
        RefusalCode::VERSION_MISMATCH => {
            edit_conflict::render_conflict_page(&context, id, edited.version, mine).await?
        }
        _ => {
            html! { (render_error_notice(context.preferences, &error, false)) (render_edit_form(&context, id, edited.version, &mine)) }
        }
    };
    let mut answer = edit_page(&context, id, &body);
    *answer.status_mut() = problem::status_for_code(error.code());
    Ok(answer)
}

/// Returns the update that makes the task match the form; `None` if it already matches.
fn changed_fields(
    task: &Task,
    mine: &TaskFormFields,
    version: u64,
    force: bool,
) -> Result<Option<TaskUpdateParams>, Refusal> {
    let now = TaskFormFields::from_task(task);
    let set = |mine: &String, now: &String| Some(mine.clone()).filter(|mine| mine != now);
    let (add_blocked_by, remove_blocked_by) =
        added_and_removed(&task.blocked_by, parse_task_numbers(&mine.blocked_by)?);
    let (add_blocks, remove_blocks) =
        added_and_removed(&task.blocks, parse_task_numbers(&mine.blocks)?);
    let priority = set(&mine.priority, &now.priority).filter(|name| !name.is_empty());
    let priority = priority.as_deref().map(TaskPriority::parse).transpose()?;
    let request = TaskUpdateParams {
        priority,
        subject: set(&mine.subject, &now.subject),
        description: set(&mine.description, &now.description),
        required_role: set(&mine.role, &now.role),
        task_type: set(&mine.kind, &now.kind),
        owner: set(&mine.owner, &now.owner),
        add_blocked_by,
        remove_blocked_by,
        add_blocks,
        remove_blocks,
        ..TaskUpdateParams::new(task.id)
    };
    Ok(if request == TaskUpdateParams::new(task.id) {
        None
    } else {
        Some(TaskUpdateParams {
            expected_version: Some(version),
            force_assign: force,
            ..request
        })
    })
}

/// Returns the ids to add and the ids to remove.
fn added_and_removed(now: &[TaskId], desired: Vec<TaskId>) -> (Vec<TaskId>, Vec<TaskId>) {
    let removed = now.iter().filter(|id| !desired.contains(id)).copied();
    let removed = removed.collect();
    let added = desired.into_iter().filter(|id| !now.contains(id));
    (added.collect(), removed)
}

fn edit_page(context: &RequestContext, id: TaskId, body: &Markup) -> Response {
    let title = msg::task_edit_title(context.lang(), id);
    tab_page(context, Tab::Tasks, &title, "", body)
}

/// Renders the form with the given values.
pub(super) fn render_edit_form(
    context: &RequestContext,
    id: TaskId,
    version: u64,
    typed: &TaskFormFields,
) -> Markup {
    let lang = context.lang();
    html! {
        form.card.stack #edit method="post" action={ "/tasks/" (id) "/edit" } {
            input type="hidden" name="csrf" value=(context.csrf);
            input type="hidden" name="version" value=(version);
            (typed.render_fields(context, true))
            label.check { input type="checkbox" name="force" value="1"; " "
                (msg::task_assign_despite_role(lang)) }
            div.actions {
                button.main { (msg::common_save(lang)) }
                a.button.quiet href={ "/tasks/" (id) } { (msg::common_cancel(lang)) }
            }
        }
    }
}
