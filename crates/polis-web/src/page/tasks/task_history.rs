//! History section of the task page, and its fragment for live updates: renders the newest changes with the old and
//! new values of the fields. The sentences come from `polis_view::task_history`.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::{EventKind, TaskId};
use polis_i18n::msg;
use polis_ops::op;
use polis_view::task_history::{self, FieldChangeView};

use crate::component::excerpt::{CARD_EXCERPT_BYTES, truncate_text};
use crate::component::time_ago::render_time_ago;
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::html_fragment;
use crate::live_updates;
use crate::request::extract::PathParams;
use crate::request::request_context::RequestContext;

/// Maximum number of entries shown (the newest).
const MAX_HISTORY_ENTRIES: usize = 100;

/// Returns the history fragment, for live updates.
pub(super) async fn refresh_history(
    context: RequestContext,
    PathParams(id): PathParams<TaskId>,
) -> Result<Response, PageError> {
    Ok(html_fragment(render_history_section(&context, id).await?))
}

/// Renders the history, newest first.
pub(super) async fn render_history_section(
    context: &RequestContext,
    id: TaskId,
) -> Result<Markup, PageError> {
    let found = op::newest_task_history(&context.request, id, MAX_HISTORY_ENTRIES).await;
    let page = found.or_page_error(context)?;
    Ok(html! {
        section.card #history hx-get={ "/tasks/" (id) "/history" } hx-trigger=(live_updates::htmx_trigger(&format!("task/{id}~"))) hx-swap="morph:outerHTML" {
            h2 { (msg::common_history(context.lang())) @if !page.has_earlier { " " span.count { (page.history.len()) } } }
            ol.list.history reversed {
                @for entry in &page.history {
                    li.refused[entry.known_kind() == Some(EventKind::TaskRefused)] {
                        div { b { (entry.actor) } " " (task_history::describe_history_entry(entry, context.lang())) " " span.small { (render_time_ago(context, &entry.at)) } }
                        @for detail in task_history::visible_field_changes(entry, context.lang()) { (render_field_change(&detail)) }
                    }
                }
            }
            @if page.has_earlier { p.muted { (msg::task_history_earlier_on_events_page(context.lang())) } }
        }
    })
}

/// Renders the change of a field: short values side by side, long ones collapsed.
pub(super) fn render_field_change(detail: &FieldChangeView<'_>) -> Markup {
    html! {
        @if !detail.is_long {
            div.small.change { span.muted { (detail.field) ": " } @if let Some(from) = &detail.from { del { (from) } " → " } ins { (detail.to.as_deref().unwrap_or("—")) } }
        } @else {
            details.small.change { summary { (detail.field) }
                @if let Some(from) = &detail.from { pre { del { (truncate_text(from, CARD_EXCERPT_BYTES)) } } } pre { ins { (truncate_text(detail.to.as_deref().unwrap_or("—"), CARD_EXCERPT_BYTES)) } } }
        }
    }
}
