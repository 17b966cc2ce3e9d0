//! Page of a task: status and action buttons, description, details (owner, times, lease, version, metadata
//! and approval), time spent, dependency graph, comments and history.
//!
//! The requests that the buttons send are handled in `task_actions`.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::task::TaskField;
use polis_core::task::task_priority::PRIORITY_KEY;
use polis_core::token::OperationArea;
use polis_core::{Task, TaskId, TaskStatus, Timestamp};
use polis_i18n::msg;
use polis_ops::op::{self, TaskView};
use polis_view::task_fields::{TaskValueStyle, format_task_field};
use polis_view::{labels, relative_time};

use super::assignees::AssigneeOptions;
use super::{
    dependency_graph, render_priority_pill, render_status_pill, task_comments, task_history,
};
use crate::component::excerpt;
use crate::component::time_ago::{render_time_ago, render_time_until};
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::{Tab, html_fragment, tab_page};
use crate::live_updates;
use crate::request::extract::PathParams;
use crate::request::request_context::RequestContext;

/// Maximum number of work periods listed (the newest).
const MAX_SHOWN_WORK_PERIODS: usize = 12;

/// Maximum number of metadata fields shown.
const MAX_SHOWN_METADATA: usize = 50;

/// Returns the whole page.
pub(super) async fn show_task(
    context: RequestContext,
    PathParams(id): PathParams<TaskId>,
) -> Result<Response, PageError> {
    let view = op::get_task(&context.request, id)
        .await
        .or_page_error(&context)?;
    let main = render_task_section(&context, &view).await?;
    let body = html! {
        (main)
        (dependency_graph::render_graph_section(&context, id).await?)
        (task_comments::render_comments_section(&context, id).await?)
        (task_history::render_history_section(&context, id).await?)
    };
    let title = format!("#{id} {}", view.task.subject);
    let live = format!("task~,task/{id},task/{id}~");
    Ok(tab_page(&context, Tab::Tasks, &title, &live, &body))
}

/// Returns the main fragment, for live updates.
pub(super) async fn refresh_task(
    context: RequestContext,
    PathParams(id): PathParams<TaskId>,
) -> Result<Response, PageError> {
    Ok(html_fragment(load_task_section(&context, id).await?))
}

/// Renders the main part: status, actions, description and data.
pub(super) async fn load_task_section(
    context: &RequestContext,
    id: TaskId,
) -> Result<Markup, PageError> {
    let view = op::get_task(&context.request, id)
        .await
        .or_page_error(context)?;
    render_task_section(context, &view).await
}

async fn render_task_section(
    context: &RequestContext,
    view: &TaskView,
) -> Result<Markup, PageError> {
    let task = &view.task;
    let id = task.id;
    let lang = context.lang();
    let text = task.description.clone();
    let description = excerpt::render_blocking(context, move |context| {
        let all = format!("/tasks/{id}/description");
        excerpt::render_markdown_excerpt(
            context,
            &text,
            excerpt::DESCRIPTION_EXCERPT_BYTES,
            Some(&all),
        )
    });
    let description = description.await?;
    let may_change =
        task.status != TaskStatus::Deleted && context.may_write(&[OperationArea::Tasks]);
    let actions = if may_change {
        render_task_actions(context, view, &AssigneeOptions::load(context, task).await?)
    } else {
        html! {}
    };
    Ok(html! {
        section #task hx-get={ "/tasks/" (id) "/main" } hx-trigger=(live_updates::htmx_trigger(&format!("task/{id}"))) hx-swap="morph:outerHTML" {
            div.row.head {
                (render_status_pill(context, task.status))
                @if view.stale { span.pill.status-stale { (msg::task_stale_explanation(lang)) } }
                @if is_blocked(view) { span.pill.status-blocked { (msg::task_blocked_by_prefix(lang)) (view.open_blockers) } }
                (render_priority_pill(context, task.priority))
                @if let Some(role) = &task.required_role { span.pill { (labels::role_label(role, lang)) } }
                @if let Some(kind) = task.task_type { span.pill { (labels::task_type_label(kind, lang)) } }
                @if !task.owner.is_empty() { a.pill.accent href={ "/agents/" (task.owner) } { (task.owner) } }
                span.grow {}
                (actions)
            }
            div.split {
                div.card {
                    @if let Some(form) = &task.active_form { p.muted { (form) } }
                    @if task.description.is_empty() { p.muted { (msg::task_no_description(lang)) } }
                    @else { (description) }
                }
                div.card { (render_task_facts(context, view)) (render_time_spent(context, id).await?) }
            }
        }
    })
}

/// Returns whether the task is open and has open blockers.
fn is_blocked(view: &TaskView) -> bool {
    let open = matches!(
        view.task.status,
        TaskStatus::Pending | TaskStatus::InProgress
    );
    open && view.open_blockers > 0
}

/// Renders the actions. A refused action shows the reason in a notice.
fn render_task_actions(
    context: &RequestContext,
    view: &TaskView,
    assignees: &AssigneeOptions,
) -> Markup {
    let task = &view.task;
    let to = format!("/tasks/{}/act", task.id);
    let lang = context.lang();
    let action_button = |name: &str, text: &str, main: bool| html! { button.main[main] name="action" value=(name) { (text) } };
    // A blocked task cannot be started.
    let (pending, in_progress) = (
        task.status == TaskStatus::Pending && !is_blocked(view),
        task.status == TaskStatus::InProgress,
    );
    let held_by_other = !task.owner.is_empty() && task.owner != context.me.as_str() && !view.stale;
    let claimable =
        (pending && !held_by_other) || (in_progress && task.owner.is_empty() && !is_blocked(view));
    html! {
        div.actions {
            form method="post" action=(to) hx-post=(to) hx-target="#task" hx-swap="morph:outerHTML" {
                input type="hidden" name="csrf" value=(context.csrf);
                input type="hidden" name="version" value=(task.version);
                @if claimable && assignees.includes_reader { (action_button("claim", msg::task_claim(lang), true)) }
                @if pending { (action_button("start", msg::task_start(lang), false)) }
                @if in_progress { (action_button("complete", msg::task_complete(lang), true)) }
                @if in_progress && !task.owner.is_empty() { (action_button("release", msg::task_release(lang), false)) }
            }
            @if pending || in_progress { (assignees.render_form(context, task, held_by_other || !assignees.includes_reader)) }
            a.button href={ "/tasks/" (task.id) "/edit" } { (msg::common_edit(lang)) }
            a.button.danger href={ "/tasks/" (task.id) "/delete" } { (msg::task_delete(lang)) }
        }
    }
}

/// Renders the details of the task, except for the fields that are shown elsewhere on the page.
fn render_task_facts(context: &RequestContext, view: &TaskView) -> Markup {
    let lang = context.lang();
    let style = TaskValueStyle::Readable {
        now: context.request.app.clock.now_millis(),
    };
    let value = |field| format_task_field(view, field, style, lang);
    let label = |field| labels::task_field_label(field, lang);
    html! {
        dl.fields {
            @for &field in TaskField::ALL {
                @match field {
                    TaskField::Id | TaskField::Subject | TaskField::Description | TaskField::Status | TaskField::RequiredRole
                    | TaskField::TaskType | TaskField::Priority | TaskField::ActiveForm | TaskField::Approval => {}
                    TaskField::Owner => {
                        dt { (label(field)) }
                        dd { @if view.task.owner.is_empty() { span.muted { (msg::task_unassigned(lang)) } } @else { a href={ "/agents/" (view.task.owner) } { (view.task.owner) } } }
                    }
                    TaskField::CreatedAt => (render_time_fact(context, field, view.task.created_at.as_ref())),
                    TaskField::UpdatedAt => (render_time_fact(context, field, view.task.updated_at.as_ref())),
                    TaskField::ClaimedAt => (render_time_fact(context, field, view.task.claimed_at.as_ref())),
                    TaskField::StartedAt => (render_time_fact(context, field, view.task.started_at.as_ref())),
                    TaskField::CompletedAt => (render_time_fact(context, field, view.task.completed_at.as_ref())),
                    TaskField::LeaseExpiresAt => {
                        @if let Some(end) = &view.task.lease_expires_at { dt { (label(field)) } dd { (render_time_until(context, end)) } }
                    }
                    TaskField::Metadata => (render_metadata(&view.task)),
                    TaskField::BlockedBy | TaskField::Blocks | TaskField::LeaseMs | TaskField::Version => {
                        @if let Some(text) = value(field) { dt { (label(field)) } dd { (text) } }
                    }
                }
            }
        }
        (render_approval(context, &view.task))
    }
}

fn render_time_fact(context: &RequestContext, field: TaskField, at: Option<&Timestamp>) -> Markup {
    html! {
        @if let Some(at) = at { dt { (labels::task_field_label(field, context.lang())) } dd { (render_time_ago(context, at)) } }
    }
}

fn render_metadata(task: &Task) -> Markup {
    html! {
        @if let Some(metadata) = &task.metadata {
            // The priority is shown as such.
            @let own = metadata.iter().filter(|(name, _)| task.priority.is_none() || *name != PRIORITY_KEY);
            @for (name, value) in own.take(MAX_SHOWN_METADATA) {
                dt.own { (name) } dd.mono { (excerpt::truncate_text(&value.parse_as::<String>().unwrap_or_else(|| value.as_str().to_owned()), excerpt::CARD_EXCERPT_BYTES)) }
            }
        }
    }
}

/// Renders the approval, or the form to give it.
fn render_approval(context: &RequestContext, task: &Task) -> Markup {
    let lang = context.lang();
    let kinds = &context.request.app.settings.approval_required;
    let needed = task.task_type.is_some_and(|kind| kinds.contains(&kind));
    let to = format!("/tasks/{}/act", task.id);
    html! {
        @if let Some(approval) = &task.approval {
            p { span.pill.good { (msg::task_approved_mark(lang)) } " " a href={ "/agents/" (approval.by) } { (approval.by) } " " (render_time_ago(context, &approval.at))
                @if let Some(note) = &approval.note { br; (excerpt::truncate_text(note, excerpt::CARD_EXCERPT_BYTES)) } }
        } @else if context.may_write(&[OperationArea::Tasks]) && (task.status == TaskStatus::InProgress || (needed && task.status != TaskStatus::Deleted)) {
            details open[needed && task.status == TaskStatus::InProgress] {
                summary { (msg::task_field_approval(lang)) @if needed { " " span.pill.warn { (msg::task_approval_required(lang)) } } }
                form.stack method="post" action=(to) hx-post=(to) hx-target="#task" hx-swap="morph:outerHTML" {
                    input type="hidden" name="csrf" value=(context.csrf);
                    input type="hidden" name="version" value=(task.version);
                    label for="note" { (msg::task_note_field(lang)) }
                    input #note.wide name="note" autocomplete="off";
                    div { button name="action" value="approve" { (msg::task_approve(lang)) } }
                }
            }
        }
    }
}

/// Renders the time spent on the task.
async fn render_time_spent(context: &RequestContext, id: TaskId) -> Result<Markup, PageError> {
    let time = op::task_time(&context.request.app, id)
        .await
        .or_page_error(context)?;
    let lang = context.lang();
    let first = time
        .work_periods
        .len()
        .saturating_sub(MAX_SHOWN_WORK_PERIODS);
    Ok(html! {
        h3 { (msg::command_time_taken(lang)) }
        dl {
            dt { (msg::task_time_active(lang)) } dd { (relative_time::format_duration(time.active_ms, lang)) }
            dt { (msg::task_time_waiting(lang)) } dd { (relative_time::format_duration(time.waiting_ms, lang)) }
        }
        @if !time.work_periods.is_empty() {
            ol.list.small { @for stint in time.work_periods.iter().skip(first) { li {
                a href={ "/agents/" (stint.owner) } { (stint.owner) } " · " (relative_time::format_duration(stint.ms, lang)) " · " (render_time_ago(context, &stint.from))
                @if stint.to.is_none() { " " span.pill.accent { (msg::task_status_in_progress(lang)) } }
            } } }
        }
    })
}

/// Returns the page of a long description.
pub(super) async fn show_description(
    context: RequestContext,
    PathParams(id): PathParams<TaskId>,
) -> Result<Response, PageError> {
    let view = op::get_task(&context.request, id)
        .await
        .or_page_error(&context)?;
    let text = view.task.description;
    let body = excerpt::render_blocking(&context, move |context| {
        html! {
            p { a href={ "/tasks/" (id) } { "← #" (id) } }
            div.card { (excerpt::render_markdown_excerpt(context, &text, excerpt::MAX_PAGE_TEXT_BYTES, None)) }
        }
    });
    let body = body.await?;
    let title = format!("#{id} {}", view.task.subject);
    Ok(tab_page(&context, Tab::Tasks, &title, "", &body))
}
