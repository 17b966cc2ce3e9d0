//! Page with the form that creates a task. The form carries an idempotency key, so submitting it twice
//! creates one task.

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::html;
use polis_core::TaskPriority;
use polis_core::task::create::TaskCreateParams;
use polis_i18n::msg;
use polis_ops::{OpError, op};
use polis_serve::http::problem;
use serde::Deserialize;
use serde_json::Value;

use super::task_form::{TaskFormFields, parse_task_numbers};
use crate::error_page::{PageError, render_error_notice};
use crate::layout::{Tab, tab_page};
use crate::request::extract::FormFields;
use crate::request::form_idempotency;
use crate::request::request_context::RequestContext;

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NewTaskForm {
    #[serde(flatten)]
    typed: TaskFormFields,
    idempotency_key: String,
}

/// Returns the empty form.
pub(super) async fn show_new_task_form(context: RequestContext) -> Response {
    new_task_page(&context, &NewTaskForm::default(), None)
}

/// Creates the task. If it is refused, the form is shown again with the typed values.
pub(super) async fn submit_new_task(
    context: RequestContext,
    FormFields(mut asked): FormFields<NewTaskForm>,
) -> Result<Response, PageError> {
    asked.typed = asked.typed.normalized();
    Ok(match create_from_form(&context, &asked).await {
        Ok(to) => Redirect::to(&to).into_response(),
        Err(error) => new_task_page(&context, &asked, Some(&error)),
    })
}

async fn create_from_form(context: &RequestContext, form: &NewTaskForm) -> Result<String, OpError> {
    let typed = &form.typed;
    let non_empty = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    // A normal task is one without a priority.
    let priority = non_empty(&typed.priority)
        .map(|name| TaskPriority::parse(&name))
        .transpose()?
        .filter(|priority| *priority != TaskPriority::Normal);
    let request = TaskCreateParams {
        subject: typed.subject.clone(),
        description: typed.description.clone(),
        required_role: non_empty(&typed.role),
        task_type: non_empty(&typed.kind),
        priority,
        add_blocked_by: parse_task_numbers(&typed.blocked_by)?,
        add_blocks: parse_task_numbers(&typed.blocks)?,
        ..TaskCreateParams::default()
    };
    let create = async |hooked| op::create_task(&hooked, &request).await;
    let created =
        form_idempotency::submit_once(context, &form.idempotency_key, &request, create).await?;
    let id = created
        .get("id")
        .and_then(Value::as_str)
        .unwrap_or_default();
    Ok(format!("/tasks/{id}"))
}

fn new_task_page(
    context: &RequestContext,
    form: &NewTaskForm,
    refused: Option<&OpError>,
) -> Response {
    let lang = context.lang();
    let body = html! {
        @if let Some(error) = refused { (render_error_notice(context.preferences, error, false)) }
        form.card.stack #create method="post" action="/tasks/new" {
            input type="hidden" name="csrf" value=(context.csrf);
            (form_idempotency::render_idempotency_key_field(context))
            (form.typed.render_fields(context, false))
            div.actions {
                button.main { (msg::task_create(lang)) }
                a.button.quiet href="/tasks" { (msg::common_cancel(lang)) }
            }
        }
    };
    let mut answer = tab_page(context, Tab::Tasks, msg::task_new_title(lang), "", &body);
    if let Some(error) = refused {
        *answer.status_mut() = problem::status_for_code(error.code());
    }
    answer
}
