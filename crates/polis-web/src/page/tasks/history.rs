//! History of a task, as sentences.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::TaskId;
use polis_ops::op;
use polis_view::history::{self, Detail};

use crate::error_page::{OrRefuse as _, Refused};
use crate::excerpt::{CARD, beginning};
use crate::extract::Path;
use crate::layout::part;
use crate::live;
use crate::request_context::Visit;
use crate::time_ago::ago;

/// Maximum number of entries shown (the newest).
const MOST: usize = 100;

/// Returns the history fragment, for live updates.
pub(super) async fn refresh(visit: Visit, Path(id): Path<TaskId>) -> Result<Response, Refused> {
    Ok(part(section(&visit, id).await?))
}

/// Renders the history, newest first.
pub(super) async fn section(visit: &Visit, id: TaskId) -> Result<Markup, Refused> {
    let found = op::newest_history(&visit.polis, id, MOST).await;
    let told = found.or_refuse(visit)?;
    Ok(html! {
        section.card #history hx-get={ "/tasks/" (id) "/history" } hx-trigger=(live::on(&format!("task/{id}~"))) hx-swap="morph:outerHTML" {
            h2 { (visit.say("History", "历史")) @if !told.earlier { " " span.count { (told.history.len()) } } }
            ol.list.history reversed {
                @for entry in &told.history {
                    li.refused[entry.kind == polis_core::event::kind::TASK_REFUSED] {
                        div { b { (entry.actor) } " " (history::sentence(entry, visit.lang())) " " span.small { (ago(visit, &entry.at)) } }
                        @for detail in history::details(entry, visit.lang()) { (change(&detail)) }
                    }
                }
            }
            @if told.earlier { p.muted { (visit.say("earlier entries: polis task history", "更早的记录：polis task history")) " " (id) } }
        }
    })
}

/// Renders the change of a field: short values side by side, long ones collapsed.
pub(super) fn change(detail: &Detail<'_>) -> Markup {
    html! {
        @match detail.long {
            false => div.small.change { span.muted { (detail.field) ": " } @if let Some(from) = &detail.from { del { (from) } " → " } ins { (detail.to.as_deref().unwrap_or("—")) } },
            true => details.small.change { summary { (detail.field) }
                @if let Some(from) = &detail.from { pre { del { (beginning(from, CARD)) } } } pre { ins { (beginning(detail.to.as_deref().unwrap_or("—"), CARD)) } } },
        }
    }
}
