//! Page of a task: status and actions, description, data, time spent, dependency graph, comments and history.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::token::Area;
use polis_core::{Task, TaskId, TaskStatus};
use polis_ops::op::{self, TaskView};
use polis_view::{labels, time};

use super::assign::Assignees;
use super::{comments, graph, history, status_pill};
use crate::error_page::{OrRefuse as _, Refused};
use crate::excerpt;
use crate::extract::Path;
use crate::layout::{Tab, page, part};
use crate::live;
use crate::request_context::Visit;
use crate::time_ago::{ago, until};

/// Maximum number of work periods listed (the newest).
const STINTS: usize = 12;

/// Maximum number of metadata fields shown.
const METADATA: usize = 50;

/// Returns the whole page.
pub(super) async fn show(visit: Visit, Path(id): Path<TaskId>) -> Result<Response, Refused> {
    let view = op::get_task(&visit.polis, id).await.or_refuse(&visit)?;
    let main = main_of(&visit, &view).await?;
    let body = html! {
        (main)
        (graph::section(&visit, id).await?)
        (comments::talk(&visit, id).await?)
        (history::section(&visit, id).await?)
    };
    let title = format!("#{id} {}", view.task.subject);
    let live = format!("task~,task/{id},task/{id}~");
    Ok(page(&visit, Tab::Tasks, &title, &live, &body))
}

/// Returns the main fragment, for live updates.
pub(super) async fn refresh(visit: Visit, Path(id): Path<TaskId>) -> Result<Response, Refused> {
    Ok(part(main_part(&visit, id).await?))
}

/// Renders the main part: status, actions, description and data.
pub(super) async fn main_part(visit: &Visit, id: TaskId) -> Result<Markup, Refused> {
    let view = op::get_task(&visit.polis, id).await.or_refuse(visit)?;
    main_of(visit, &view).await
}

async fn main_of(visit: &Visit, view: &TaskView) -> Result<Markup, Refused> {
    let task = &view.task;
    let id = task.id;
    let lang = visit.lang();
    let text = task.description.clone();
    let description = excerpt::drawn(visit, move |visit| {
        let all = format!("/tasks/{id}/description");
        excerpt::prose(visit, &text, excerpt::DESCRIPTION, Some(&all))
    });
    let description = description.await?;
    let may_change = task.status != TaskStatus::Deleted && visit.may_change(&[Area::Tasks]);
    let actions = match may_change {
        true => actions(visit, view, &Assignees::of(visit, task).await?),
        false => html! {},
    };
    Ok(html! {
        section #task hx-get={ "/tasks/" (id) "/main" } hx-trigger=(live::on(&format!("task/{id}"))) hx-swap="morph:outerHTML" {
            div.row.head {
                (status_pill(visit, task.status))
                @if view.stale { span.pill.status-stale { (lang.say("stale: its owner's lease has run out", "已失联：负责人的租约已过期")) } }
                @if blocked(view) { span.pill.status-blocked { (lang.say("blocked by ", "被阻塞：")) (view.open_blockers) } }
                @if let Some(role) = &task.required_role { span.pill { (labels::role(role, lang)) } }
                @if let Some(kind) = task.task_type { span.pill { (labels::task_type(kind, lang)) } }
                @if !task.owner.is_empty() { a.pill.accent href={ "/agents/" (task.owner) } { (task.owner) } }
                span.grow {}
                (actions)
            }
            div.split {
                div.card {
                    @if let Some(form) = &task.active_form { p.muted { (form) } }
                    @if task.description.is_empty() { p.muted { (lang.say("No description.", "没有描述。")) } }
                    @else { (description) }
                }
                div.card { (facts(visit, task)) (spent(visit, id).await?) }
            }
        }
    })
}

/// Returns whether the task is open and has open blockers.
fn blocked(view: &TaskView) -> bool {
    let open = matches!(
        view.task.status,
        TaskStatus::Pending | TaskStatus::InProgress
    );
    open && view.open_blockers > 0
}

/// Renders the actions. A refused action shows the reason in a notice.
fn actions(visit: &Visit, view: &TaskView, assignees: &Assignees) -> Markup {
    let task = &view.task;
    let to = format!("/tasks/{}/act", task.id);
    let lang = visit.lang();
    let deed = |name: &str, text: &str, main: bool| html! { button.main[main] name="deed" value=(name) { (text) } };
    // A blocked task cannot be started.
    let (pending, begun) = (
        task.status == TaskStatus::Pending && !blocked(view),
        task.status == TaskStatus::InProgress,
    );
    let held_by_other = !task.owner.is_empty() && task.owner != visit.me.as_str() && !view.stale;
    let claimable =
        (pending && !held_by_other) || (begun && task.owner.is_empty() && !blocked(view));
    html! {
        div.actions {
            form method="post" action=(to) hx-post=(to) hx-target="#task" hx-swap="morph:outerHTML" {
                input type="hidden" name="csrf" value=(visit.csrf);
                input type="hidden" name="version" value=(task.version);
                @if claimable && assignees.includes_reader { (deed("claim", lang.say("Claim", "认领"), true)) }
                @if pending { (deed("start", lang.say("Start", "开始"), false)) }
                @if begun { (deed("complete", lang.say("Complete", "完成"), true)) }
                @if begun && !task.owner.is_empty() { (deed("release", lang.say("Release", "释放"), false)) }
            }
            @if pending || begun { (assignees.form(visit, task, held_by_other || !assignees.includes_reader)) }
            a.button href={ "/tasks/" (task.id) "/edit" } { (lang.say("Edit", "编辑")) }
            a.button.danger href={ "/tasks/" (task.id) "/delete" } { (lang.say("Delete", "删除")) }
        }
    }
}

fn facts(visit: &Visit, task: &Task) -> Markup {
    let lang = visit.lang();
    let moments = [
        (lang.say("Created", "创建"), &task.created_at),
        (lang.say("Changed", "更新"), &task.updated_at),
        (lang.say("Claimed", "认领"), &task.claimed_at),
        (lang.say("Started", "开始"), &task.started_at),
        (lang.say("Completed", "完成"), &task.completed_at),
    ];
    html! {
        dl {
            dt { (lang.say("Owner", "负责人")) }
            dd { @if task.owner.is_empty() { span.muted { (lang.say("nobody", "无")) } } @else { a href={ "/agents/" (task.owner) } { (task.owner) } } }
            @for (name, at) in moments { @if let Some(at) = at { dt { (name) } dd { (ago(visit, at)) } } }
            @if let Some(end) = &task.lease_expires_at { dt { (lang.say("Lease ends", "租约到期")) } dd { (until(visit, end)) } }
            dt { (lang.say("Version", "版本")) } dd { (task.version) }
            @if let Some(metadata) = task.metadata.as_ref().filter(|fields| !fields.is_empty()) {
                @for (name, value) in metadata.iter().take(METADATA) {
                    dt { (name) } dd.mono { (excerpt::beginning(&value.to::<String>().unwrap_or_else(|| value.text().to_owned()), excerpt::CARD)) }
                }
            }
        }
        (approval(visit, task))
    }
}

/// Renders the approval, or the form to give it.
fn approval(visit: &Visit, task: &Task) -> Markup {
    let lang = visit.lang();
    let kinds = &visit.polis.settings.approval_required;
    let needed = task.task_type.is_some_and(|kind| kinds.contains(&kind));
    let to = format!("/tasks/{}/act", task.id);
    html! {
        @if let Some(given) = &task.approval {
            p { span.pill.good { (lang.say("approved", "已批准")) } " " a href={ "/agents/" (given.by) } { (given.by) } " " (ago(visit, &given.at))
                @if let Some(note) = &given.note { br; (excerpt::beginning(note, excerpt::CARD)) } }
        } @else if visit.may_change(&[Area::Tasks]) && (task.status == TaskStatus::InProgress || (needed && task.status != TaskStatus::Deleted)) {
            details open[needed && task.status == TaskStatus::InProgress] {
                summary { (lang.say("Approval", "批准")) @if needed { " " span.pill.warn { (lang.say("needed to complete it", "完成前需要批准")) } } }
                form.stack method="post" action=(to) hx-post=(to) hx-target="#task" hx-swap="morph:outerHTML" {
                    input type="hidden" name="csrf" value=(visit.csrf);
                    input type="hidden" name="version" value=(task.version);
                    label for="note" { (lang.say("Note", "备注")) }
                    input #note.wide name="note" autocomplete="off";
                    div { button name="deed" value="approve" { (lang.say("Approve", "批准")) } }
                }
            }
        }
    }
}

/// Renders the time spent on the task.
async fn spent(visit: &Visit, id: TaskId) -> Result<Markup, Refused> {
    let told = op::task_time(&visit.polis, id).await.or_refuse(visit)?;
    let lang = visit.lang();
    let first = told.stints.len().saturating_sub(STINTS);
    Ok(html! {
        h3 { (lang.say("Time", "用时")) }
        dl {
            dt { (lang.say("worked on", "处理")) } dd { (time::span(told.active_ms, lang)) }
            dt { (lang.say("waited", "等待")) } dd { (time::span(told.waiting_ms, lang)) }
        }
        @if !told.stints.is_empty() {
            ol.list.small { @for stint in told.stints.iter().skip(first) { li {
                a href={ "/agents/" (stint.owner) } { (stint.owner) } " · " (time::span(stint.ms, lang)) " · " (ago(visit, &stint.from))
                @if stint.to.is_none() { " " span.pill.accent { (lang.say("goes on", "进行中")) } }
            } } }
        }
    })
}

/// Returns the page of a long description.
pub(super) async fn description(visit: Visit, Path(id): Path<TaskId>) -> Result<Response, Refused> {
    let view = op::get_task(&visit.polis, id).await.or_refuse(&visit)?;
    let text = view.task.description;
    let body = excerpt::drawn(&visit, move |visit| {
        html! {
            p { a href={ "/tasks/" (id) } { "← #" (id) } }
            div.card { (excerpt::prose(visit, &text, excerpt::WHOLE, None)) }
        }
    });
    let body = body.await?;
    let title = format!("#{id} {}", view.task.subject);
    Ok(page(&visit, Tab::Tasks, &title, "", &body))
}
