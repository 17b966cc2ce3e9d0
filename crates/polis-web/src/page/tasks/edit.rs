//! Editor of a task. The form contains the version it was created from (optimistic concurrency): on a concurrent
//! change, nothing that was typed is lost and nothing is overwritten unseen.

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, html};
use polis_core::task::update::TaskUpdate;
use polis_core::{Code, Refusal, Task, TaskId};
use polis_ops::{OpError, op};
use polis_serve::http::problem;
use serde::Deserialize;

use super::conflict;
use super::form::{Typed, numbers};
use crate::error_page::{OrRefuse as _, Refused, notice};
use crate::extract::{Form, Path};
use crate::layout::{Tab, page};
use crate::request_context::Visit;

#[derive(Debug, Deserialize)]
pub(super) struct Edited {
    #[serde(flatten)]
    typed: Typed,
    /// The version that the form was created from.
    version: u64,
    /// Whether to assign across roles; any non-empty text means yes.
    #[serde(default)]
    force: String,
}

/// Returns the form with the current values.
pub(super) async fn ask(visit: Visit, Path(id): Path<TaskId>) -> Result<Response, Refused> {
    let view = op::get_task(&visit.polis, id).await.or_refuse(&visit)?;
    let form = form(&visit, id, view.task.version, &Typed::of(&view.task));
    Ok(whole(&visit, id, &form))
}

/// Saves the form, or shows the conflict if the task was changed in the meantime.
pub(super) async fn save(
    visit: Visit,
    Path(id): Path<TaskId>,
    Form(edited): Form<Edited>,
) -> Result<Response, Refused> {
    let view = op::get_task(&visit.polis, id).await.or_refuse(&visit)?;
    let mine = edited.typed.tidy();
    let error = match changes(&view.task, &mine, edited.version, !edited.force.is_empty()) {
        Err(refusal) => OpError::from(refusal),
        Ok(None) => return Ok(Redirect::to(&format!("/tasks/{id}")).into_response()),
        Ok(Some(request)) => match op::update_task(&visit.polis, &visit.me, &request).await {
            Ok(_) => return Ok(Redirect::to(&format!("/tasks/{id}")).into_response()),
            Err(error) => error,
        },
    };
    let body = match error.code() {
        Code::VersionMismatch => conflict::body(&visit, id, edited.version, mine).await?,
        _ => {
            html! { (notice(visit.taste, &error, false)) (form(&visit, id, edited.version, &mine)) }
        }
    };
    let mut answer = whole(&visit, id, &body);
    *answer.status_mut() = problem::status_of(error.code());
    Ok(answer)
}

/// Returns the update that makes the task match the form; `None` if it already matches.
fn changes(
    task: &Task,
    mine: &Typed,
    version: u64,
    force: bool,
) -> Result<Option<TaskUpdate>, Refusal> {
    let now = Typed::of(task);
    let set = |mine: &String, now: &String| Some(mine.clone()).filter(|mine| mine != now);
    let (add_blocked_by, remove_blocked_by) =
        exchange(&task.blocked_by, numbers(&mine.blocked_by)?);
    let (add_blocks, remove_blocks) = exchange(&task.blocks, numbers(&mine.blocks)?);
    let request = TaskUpdate {
        subject: set(&mine.subject, &now.subject),
        description: set(&mine.description, &now.description),
        required_role: set(&mine.role, &now.role),
        task_type: set(&mine.kind, &now.kind),
        owner: set(&mine.owner, &now.owner),
        add_blocked_by,
        remove_blocked_by,
        add_blocks,
        remove_blocks,
        ..TaskUpdate::of(task.id)
    };
    Ok(match request == TaskUpdate::of(task.id) {
        true => None,
        false => Some(TaskUpdate {
            expected_version: Some(version),
            force_assign: force,
            ..request
        }),
    })
}

/// Returns the ids to add and the ids to remove.
fn exchange(now: &[TaskId], wanted: Vec<TaskId>) -> (Vec<TaskId>, Vec<TaskId>) {
    let gone = now.iter().filter(|id| !wanted.contains(id)).copied();
    let gone = gone.collect();
    let come = wanted.into_iter().filter(|id| !now.contains(id));
    (come.collect(), gone)
}

fn whole(visit: &Visit, id: TaskId, body: &Markup) -> Response {
    let title = visit.say(format!("Edit #{id}"), format!("编辑 #{id}"));
    page(visit, Tab::Tasks, &title, "", body)
}

/// Renders the form with the given values.
pub(super) fn form(visit: &Visit, id: TaskId, version: u64, typed: &Typed) -> Markup {
    let lang = visit.lang();
    html! {
        form.card.stack #edit method="post" action={ "/tasks/" (id) "/edit" } {
            input type="hidden" name="csrf" value=(visit.csrf);
            input type="hidden" name="version" value=(version);
            (typed.fields(visit, true))
            label.check { input type="checkbox" name="force" value="1"; " "
                (lang.say("give it to the owner even if the role does not fit", "即使角色不符也指派给该负责人")) }
            div.actions {
                button.main { (lang.say("Save", "保存")) }
                a.button.quiet href={ "/tasks/" (id) } { (lang.say("Cancel", "取消")) }
            }
        }
    }
}
