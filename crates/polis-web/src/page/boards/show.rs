//! Page of a board: its text in parts, and the side panel.
//!
//! The first part is in the page; further parts are loaded when they scroll into view. When the board changes, the text
//! is fetched again. Parts are identified by their content, so the browser keeps unchanged parts and gets only new
//! ones.

use std::collections::HashSet;

use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use maud::{Markup, PreEscaped, html};
use polis_core::board::BoardName;
use polis_ops::op::BoardView;

use super::board_url::{self, Wish};
use super::render_cache::Bound;
use super::{Asked, Call, about, decisions, list};
use crate::error_page::{OrRefuse as _, Refused};
use crate::form_idempotency;
use crate::layout::{self, Tab};
use crate::live;
use crate::request_context::Visit;

/// Maximum number of changed parts sent with an update; further ones are loaded when they scroll into view.
const SENT_ALONG: usize = 8;

pub(super) async fn page(call: &Call, asked: &Asked) -> Result<Response, Refused> {
    let Call { visit, board, .. } = call;
    let (head, bound) = read(call).await?;
    let shown = asked.part.unwrap_or(0);
    let (writes, appends) = call.rights().await?;
    let body = html! {
        p.muted { (list::purpose(board, visit.lang())) }
        div.actions.board-actions {
            @if writes { a.button.main href=(board_url::to(board, Wish::Edit)) { (visit.say("Edit", "编辑")) } }
            a.button href=(board_url::to(board, Wish::History)) { (visit.say("History", "历史")) }
        }
        div.split {
            div {
                (text(call, &head, &bound, &|at| if at == 0 || at == shown { Within::Sent } else { Within::Later }))
                @if appends { (append(visit, board)) }
            }
            aside.board-aside {
                (about::panel_or_later(call, &head, &bound).await?)
                @if appends { (decisions::forms(call, writes)) }
            }
        }
    };
    let live = board_url::live(board);
    Ok(layout::page(
        visit,
        Tab::Boards,
        &board.to_string(),
        &live,
        &body,
    ))
}

async fn read(call: &Call) -> Result<(BoardView, std::sync::Arc<Bound>), Refused> {
    let Call {
        house,
        visit,
        board,
    } = call;
    let found = house.shelf.read(&visit.polis, &visit.me, board).await;
    found.or_refuse(visit)
}

/// Returns the text fragment for a live update: parts that the browser has are only referenced, new ones are included.
pub(super) async fn refresh(call: &Call, asked: &Asked) -> Result<Response, Refused> {
    let (head, bound) = read(call).await?;
    let had = asked
        .have
        .and_then(|version| call.house.shelf.find(&call.board, version));
    let had: HashSet<&str> = match &had {
        Some(had) => had
            .document
            .parts
            .iter()
            .map(|part| part.id.as_str())
            .collect(),
        None => HashSet::new(),
    };
    let parts = &bound.document.parts;
    let is_new = |at: &usize| {
        let part = parts.get(*at);
        part.is_some_and(|part| !had.contains(part.id.as_str()))
    };
    let new = (0..parts.len()).filter(is_new).take(SENT_ALONG);
    let new: HashSet<usize> = new.collect();
    let within = |at: usize| match (new.contains(&at), is_new(&at)) {
        (true, _) => Within::Sent,
        (false, true) => Within::Later,
        (false, false) => Within::Had,
    };
    Ok(layout::part(text(call, &head, &bound, &within)))
}

/// Returns one part, to replace its placeholder.
pub(super) async fn one_part(call: &Call, asked: &Asked) -> Result<Response, Refused> {
    let (now, bound) = read(call).await?;
    // Use the version that the page shows if it is still cached; otherwise the part may exist in the current version.
    let kept = asked.version.and_then(|version| {
        let kept = call.house.shelf.find(&call.board, version)?;
        Some((version, kept))
    });
    let (version, bound) = kept.unwrap_or((now.version, bound));
    let named = |id: &str| bound.document.parts.iter().position(|part| part.id == id);
    let Some(at) = asked.id.as_deref().and_then(named) else {
        // The part no longer exists; its placeholder disappears when the page receives the change notification.
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let within = Within::Sent;
    Ok(layout::part(drawn(call, version, &bound, at, within)))
}

/// How a part is represented in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Within {
    /// With its content.
    Sent,
    /// As a placeholder that loads it.
    Later,
    /// As a reference: the browser has it, loaded or not.
    Had,
}

/// Renders the text; `within` returns the representation of each part.
fn text(call: &Call, head: &BoardView, bound: &Bound, within: &dyn Fn(usize) -> Within) -> Markup {
    let Call { visit, board, .. } = call;
    let parts = &bound.document.parts;
    let again = format!("{}?have={}", board_url::to(board, Wish::Text), head.version);
    let on = live::on(&board_url::live(board));
    // A single part is morphed where it differs. Several parts are replaced, and unchanged ones are kept by their ids.
    let swap = if parts.len() == 1 {
        "morph:outerHTML"
    } else {
        "outerHTML"
    };
    let empty = parts.iter().all(|part| part.html.is_empty());
    html! {
        article #board-text.board.card hx-get=(again) hx-trigger=(on) hx-swap=(swap) data-version=(head.version) {
            @if head.version == 0 {
                p.notice { (visit.say(
                    "Nobody has written here yet; this is what the board begins with.",
                    "还没有人写过；这是白板的初始内容。",
                )) }
            }
            @if empty && head.version > 0 { p.muted { (visit.say("The board is empty.", "白板是空的。")) } }
            @for at in 0..parts.len() {
                (drawn(call, head.version, bound, at, within(at)))
            }
        }
    }
}

/// Renders a part or its placeholder. With `hx-preserve` the browser keeps its existing element, which is correct for
/// parts, because their ids are derived from their content.
fn drawn(call: &Call, version: u64, bound: &Bound, at: usize, within: Within) -> Markup {
    let Some(part) = bound.document.parts.get(at) else {
        return html! {};
    };
    if bound.document.parts.len() == 1 {
        return html! { div.part data-part=(at) { (PreEscaped(&part.html)) } };
    }
    if within == Within::Sent {
        return html! { div.part id=(part.id) data-part=(at) { (PreEscaped(&part.html)) } };
    }
    let address = board_url::to(&call.board, Wish::Part);
    let address = format!("{address}?id={}&version={version}", part.id);
    let had = (within == Within::Had).then_some("true");
    html! {
        div.part.later id=(part.id) data-part=(at) hx-preserve=[had]
            hx-get=(address) hx-trigger="revealed" hx-swap="outerHTML" {
            @if at == 1 {
                a href={ (board_url::of(&call.board)) "?part=1" } {
                    (call.visit.say("More of the board", "白板的其余部分"))
                }
            }
        }
    }
}

fn append(visit: &Visit, board: &BoardName) -> Markup {
    html! {
        form.card method="post" action=(board_url::to(board, Wish::Append)) {
            input type="hidden" name="csrf" value=(visit.csrf);
            (form_idempotency::field(visit))
            label for="append" { (visit.say("Add to the end", "追加到末尾")) }
            textarea #append name="content" rows="3" required
                placeholder=(visit.say("Markdown; it is stamped with your name and the time", "Markdown；会附上您的名字和时间")) {}
            div.actions { button { (visit.say("Append", "追加")) } }
        }
    }
}
