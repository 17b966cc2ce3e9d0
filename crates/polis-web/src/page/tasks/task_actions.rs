//! Actions on a task: buttons of its page, moving its card by drag and drop or keyboard, and deletion with
//! confirmation.

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::html;
use polis_core::task::claim::TaskClaim;
use polis_core::task::update::TaskUpdate;
use polis_core::{AgentId, Permission, TaskId, TaskStatus};
use polis_ops::OpError;
use polis_ops::op::{self, TaskApprove, TaskRelease};
use serde::Deserialize;

use super::filter::Filter;
use super::{board, show};
use crate::error_page::{OrRefuse as _, Refused};
use crate::extract::{Form, Path};
use crate::layout::{Tab, page, part};
use crate::request_context::Visit;

#[derive(Debug, Deserialize)]
pub(super) struct Step {
    /// The new status.
    to: TaskStatus,
    /// The version that the page showed.
    version: u64,
    /// The filter of the task board.
    #[serde(default)]
    query: String,
}

/// Moves a task to another column. If the move is refused, a notice is shown and the card stays in its column.
pub(super) async fn step(
    visit: Visit,
    Path(id): Path<TaskId>,
    Form(step): Form<Step>,
) -> Result<Response, Refused> {
    let request = TaskUpdate {
        status: Some(step.to),
        expected_version: Some(step.version),
        ..TaskUpdate::of(id)
    };
    let done = op::update_task(&visit.polis, &visit.me, &request).await;
    done.or_refuse(&visit)?;
    if !visit.part {
        return Ok(Redirect::to("/tasks").into_response());
    }
    let filter: Filter = filter_of(&step.query);
    Ok(part(board::board(&visit, &filter).await?))
}

/// Parses the filter from a board's query string; shows all tasks if it cannot be parsed.
fn filter_of(query: &str) -> Filter {
    let uri = format!("/?{query}").parse::<http::Uri>();
    let read = uri
        .ok()
        .and_then(|uri| axum::extract::Query::<Filter>::try_from_uri(&uri).ok());
    read.map(|query| query.0).unwrap_or_default()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Deed {
    Claim,
    Assign,
    Release,
    Start,
    Complete,
    Approve,
}

#[derive(Debug, Deserialize)]
pub(super) struct Act {
    deed: Deed,
    version: u64,
    #[serde(default)]
    note: String,
    /// The new owner.
    #[serde(default)]
    owner: String,
}

/// Performs the action of a button on the task's page.
pub(super) async fn act(
    visit: Visit,
    Path(id): Path<TaskId>,
    Form(act): Form<Act>,
) -> Result<Response, Refused> {
    done(&visit, id, &act).await.or_refuse(&visit)?;
    after(&visit, id).await
}

async fn done(visit: &Visit, id: TaskId, act: &Act) -> Result<(), OpError> {
    let (polis, me) = (&visit.polis, &visit.me);
    let expected_version = Some(act.version);
    let to = |status| TaskUpdate {
        status: Some(status),
        expected_version,
        ..TaskUpdate::of(id)
    };
    match act.deed {
        Deed::Claim => {
            let request = TaskClaim {
                task_id: Some(id),
                expected_version,
                ..TaskClaim::default()
            };
            op::claim_task(polis, me, &request).await?;
        }
        Deed::Assign => {
            // An empty owner would release the task.
            let _: AgentId = act.owner.parse().map_err(OpError::Refused)?;
            let request = TaskUpdate {
                owner: Some(act.owner.clone()),
                expected_version,
                force_assign: may_force(visit).await?,
                ..TaskUpdate::of(id)
            };
            op::update_task(polis, me, &request).await?;
        }
        Deed::Release => {
            let request = TaskRelease {
                task_id: id,
                expected_version,
            };
            op::release_task(polis, me, &request).await?;
        }
        Deed::Start => {
            op::update_task(polis, me, &to(TaskStatus::InProgress)).await?;
        }
        Deed::Complete => {
            op::update_task(polis, me, &to(TaskStatus::Completed)).await?;
        }
        Deed::Approve => {
            let note = act.note.trim();
            let request = TaskApprove {
                task_id: id,
                note: Some(note.to_owned()).filter(|note| !note.is_empty()),
                expected_version,
            };
            op::approve_task(polis, me, &request).await?;
        }
    }
    Ok(())
}

/// Returns whether the reader may assign across roles; then choosing an agent with another role is intentional.
async fn may_force(visit: &Visit) -> Result<bool, OpError> {
    let caller = visit.polis.caller(&visit.me).await?;
    let policy = &visit.polis.settings.policy;
    Ok(policy.allows(&caller, Permission::ForceAssign))
}

/// Returns the updated task: a fragment for htmx, otherwise a redirect to its page.
async fn after(visit: &Visit, id: TaskId) -> Result<Response, Refused> {
    match visit.part {
        true => Ok(part(show::main_part(visit, id).await?)),
        false => Ok(Redirect::to(&format!("/tasks/{id}")).into_response()),
    }
}

/// Confirmation page for deleting a task.
pub(super) async fn ask_delete(visit: Visit, Path(id): Path<TaskId>) -> Result<Response, Refused> {
    let view = op::get_task(&visit.polis, id).await.or_refuse(&visit)?;
    let task = view.task;
    let lang = visit.lang();
    let body = html! {
        form.card method="post" action={ "/tasks/" (id) "/delete" } {
            input type="hidden" name="csrf" value=(visit.csrf);
            input type="hidden" name="version" value=(task.version);
            p { b { "#" (id) " " (task.subject) } }
            p { (lang.say(
                "It leaves all lists for good; its number is not given out again. Tasks that wait for it go on without it.",
                "任务将从所有列表中永久移除，编号不再使用；等待它的任务将不再等待。",
            )) }
            div.actions {
                button.danger { (lang.say("Delete it", "确认删除")) }
                a.button href={ "/tasks/" (id) } { (lang.say("Keep it", "保留")) }
            }
        }
    };
    let title = lang.say("Delete this task?", "删除该任务？");
    Ok(page(&visit, Tab::Tasks, title, "", &body))
}

#[derive(Debug, Deserialize)]
pub(super) struct Delete {
    version: u64,
}

/// Deletes a task.
pub(super) async fn delete(
    visit: Visit,
    Path(id): Path<TaskId>,
    Form(asked): Form<Delete>,
) -> Result<Response, Refused> {
    let request = TaskUpdate {
        status: Some(TaskStatus::Deleted),
        expected_version: Some(asked.version),
        ..TaskUpdate::of(id)
    };
    let done = op::update_task(&visit.polis, &visit.me, &request).await;
    done.or_refuse(&visit)?;
    Ok(Redirect::to("/tasks").into_response())
}
