//! Form that creates a task.

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::html;
use polis_core::task::create::TaskCreate;
use polis_core::{Fields, Raw};
use polis_ops::{OpError, op};
use polis_serve::http::problem;
use serde::Deserialize;
use serde_json::Value;

use super::form::{Typed, numbers};
use crate::error_page::{Refused, notice};
use crate::extract::Form;
use crate::form_idempotency;
use crate::layout::{Tab, page};
use crate::request_context::Visit;

/// The recognized priorities.
const PRIORITIES: [(&str, &str, &str); 4] = [
    ("critical", "critical", "紧急"),
    ("high", "high", "高"),
    ("normal", "normal", "普通"),
    ("low", "low", "低"),
];

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct NewTask {
    #[serde(flatten)]
    typed: Typed,
    priority: String,
    once: String,
}

/// Returns the empty form.
pub(super) async fn ask(visit: Visit) -> Response {
    form(&visit, &NewTask::default(), None)
}

/// Creates the task. If it is refused, the form is shown again with the typed values.
pub(super) async fn create(
    visit: Visit,
    Form(mut asked): Form<NewTask>,
) -> Result<Response, Refused> {
    asked.typed = asked.typed.tidy();
    Ok(match made(&visit, &asked).await {
        Ok(to) => Redirect::to(&to).into_response(),
        Err(error) => form(&visit, &asked, Some(&error)),
    })
}

async fn made(visit: &Visit, asked: &NewTask) -> Result<String, OpError> {
    let typed = &asked.typed;
    let given = |text: &String| Some(text.clone()).filter(|text| !text.is_empty());
    let priority = given(&asked.priority).and_then(|name| Raw::of(&name).ok());
    let metadata = priority.map(|priority| {
        let mut fields = Fields::default();
        fields.set("priority", priority);
        fields
    });
    let request = TaskCreate {
        subject: typed.subject.clone(),
        description: typed.description.clone(),
        required_role: given(&typed.role),
        task_type: given(&typed.kind),
        metadata,
        add_blocked_by: numbers(&typed.blocked_by)?,
        add_blocks: numbers(&typed.blocks)?,
        ..TaskCreate::default()
    };
    let create = async |polis| op::create_task(&polis, &visit.me, &request).await;
    let made = form_idempotency::done(visit, &asked.once, &request, create).await?;
    let id = made.get("id").and_then(Value::as_str).unwrap_or_default();
    Ok(format!("/tasks/{id}"))
}

fn form(visit: &Visit, asked: &NewTask, refused: Option<&OpError>) -> Response {
    let lang = visit.lang();
    let body = html! {
        @if let Some(error) = refused { (notice(visit.taste, error, false)) }
        form.card.stack #create method="post" action="/tasks/new" {
            input type="hidden" name="csrf" value=(visit.csrf);
            (form_idempotency::field(visit))
            (asked.typed.fields(visit, false))
            div {
                label for="priority" { (lang.say("Priority", "优先级")) }
                select #priority name="priority" {
                    option value="" { (lang.say("none", "无")) }
                    @for (name, en, zh) in PRIORITIES {
                        option value=(name) selected[asked.priority == name] { (lang.say(en, zh)) }
                    }
                }
            }
            div.actions {
                button.main { (lang.say("Create", "创建")) }
                a.button.quiet href="/tasks" { (lang.say("Cancel", "取消")) }
            }
        }
    };
    let mut answer = page(
        visit,
        Tab::Tasks,
        lang.say("New task", "新建任务"),
        "",
        &body,
    );
    if let Some(error) = refused {
        *answer.status_mut() = problem::status_of(error.code());
    }
    answer
}
