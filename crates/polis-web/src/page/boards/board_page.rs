//! Page of a board: its text in parts, and the side panel.
//!
//! The first part is in the page; further parts are loaded when they scroll into view. When the board
//! changes, the text is fetched again. Parts are identified by their content, so the browser keeps unchanged
//! parts and gets only new ones.

use std::collections::HashSet;

use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use maud::{Markup, PreEscaped, html};
use polis_core::board::BoardName;
use polis_i18n::msg;
use polis_ops::op::BoardView;

use super::board_url::{self, BoardViewKind};
use super::render_cache::RenderedBoard;
use super::{BoardQuery, BoardRequest, board_decisions, board_list, board_panel};
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::{self, Tab};
use crate::live_updates;
use crate::request::form_idempotency;
use crate::request::request_context::RequestContext;

/// Maximum number of changed parts sent with an update; further ones are loaded when they scroll into view.
const MAX_INCLUDED_PARTS: usize = 8;

pub(super) async fn show_board(
    call: &BoardRequest,
    query: &BoardQuery,
) -> Result<Response, PageError> {
    let BoardRequest { context, board, .. } = call;
    let (head, rendered) = load_rendered_board(call).await?;
    let current_part = query.part.unwrap_or(0);
    let (writes, appends) = call.write_and_append_rights().await?;
    let body = html! {
        p.muted { (board_list::board_purpose(board, context.lang())) }
        div.actions.board-actions {
            @if writes { a.button.main href=(board_url::board_view_url(board, BoardViewKind::Edit)) { (msg::common_edit(context.lang())) } }
            a.button href=(board_url::board_view_url(board, BoardViewKind::History)) { (msg::common_history(context.lang())) }
        }
        div.split {
            div {
                (render_board_text(call, &head, &rendered, &|at| if at == 0 || at == current_part { PartDelivery::Included } else { PartDelivery::Placeholder }))
                @if appends { (render_append_form(context, board)) }
            }
            aside.board-aside {
                (board_panel::render_panel_or_placeholder(call, &head, &rendered).await?)
                @if appends { (board_decisions::render_proposal_forms(call, writes)) }
            }
        }
    };
    let live = board_url::board_live_topic(board);
    Ok(layout::tab_page(
        context,
        Tab::Boards,
        &board.to_string(),
        &live,
        &body,
    ))
}

async fn load_rendered_board(
    call: &BoardRequest,
) -> Result<(BoardView, std::sync::Arc<RenderedBoard>), PageError> {
    let BoardRequest {
        state,
        context,
        board,
    } = call;
    let found = state
        .render_cache
        .read_rendered(&context.request, board)
        .await;
    found.or_page_error(context)
}

/// Returns the text fragment for a live update: parts that the browser has are only referenced, new ones are
/// included.
pub(super) async fn refresh_board_text(
    call: &BoardRequest,
    query: &BoardQuery,
) -> Result<Response, PageError> {
    let (head, rendered) = load_rendered_board(call).await?;
    let known_ids = query
        .loaded
        .and_then(|version| call.state.render_cache.find_version(&call.board, version));
    let known_ids: HashSet<&str> = match &known_ids {
        Some(ids) => ids
            .document
            .parts
            .iter()
            .map(|part| part.id.as_str())
            .collect(),
        None => HashSet::new(),
    };
    let parts = &rendered.document.parts;
    let is_new = |at: &usize| {
        let part = parts.get(*at);
        part.is_some_and(|part| !known_ids.contains(part.id.as_str()))
    };
    let new = (0..parts.len()).filter(is_new).take(MAX_INCLUDED_PARTS);
    let new: HashSet<usize> = new.collect();
    let delivery = |at: usize| match (new.contains(&at), is_new(&at)) {
        (true, _) => PartDelivery::Included,
        (false, true) => PartDelivery::Placeholder,
        (false, false) => PartDelivery::Reference,
    };
    Ok(layout::html_fragment(render_board_text(
        call, &head, &rendered, &delivery,
    )))
}

/// Returns one part, to replace its placeholder.
pub(super) async fn show_board_part(
    call: &BoardRequest,
    query: &BoardQuery,
) -> Result<Response, PageError> {
    let (now, rendered) = load_rendered_board(call).await?;
    // Use the version that the page shows if it is still cached; otherwise the part may exist in the current
    // version.
    let cached = query.version.and_then(|version| {
        let cached = call.state.render_cache.find_version(&call.board, version)?;
        Some((version, cached))
    });
    let (version, rendered) = cached.unwrap_or((now.version, rendered));
    let part_index = |id: &str| {
        rendered
            .document
            .parts
            .iter()
            .position(|part| part.id == id)
    };
    let Some(at) = query.id.as_deref().and_then(part_index) else {
        // The part no longer exists; its placeholder disappears when the page receives the change
        // notification.
        return Ok(StatusCode::NO_CONTENT.into_response());
    };
    let delivery = PartDelivery::Included;
    Ok(layout::html_fragment(render_board_part(
        call, version, &rendered, at, delivery,
    )))
}

/// How a part is represented in a response.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum PartDelivery {
    /// With the HTML of the part.
    Included,
    /// As a placeholder that loads it.
    Placeholder,
    /// As a reference: the browser has it, loaded or not.
    Reference,
}

/// Renders the text; `delivery` returns how the part with an index is represented.
fn render_board_text(
    call: &BoardRequest,
    head: &BoardView,
    rendered: &RenderedBoard,
    delivery: &dyn Fn(usize) -> PartDelivery,
) -> Markup {
    let BoardRequest { context, board, .. } = call;
    let parts = &rendered.document.parts;
    let refresh_url = format!(
        "{}?loaded={}",
        board_url::board_view_url(board, BoardViewKind::Text),
        head.version
    );
    let trigger = live_updates::htmx_trigger(&board_url::board_live_topic(board));
    // A single part is morphed where it differs. Several parts are replaced, and unchanged ones are kept by
    // their ids.
    let swap = if parts.len() == 1 {
        "morph:outerHTML"
    } else {
        "outerHTML"
    };
    let empty = parts.iter().all(|part| part.html.is_empty());
    html! {
        article #board-text.board.card hx-get=(refresh_url) hx-trigger=(trigger) hx-swap=(swap) data-version=(head.version) {
            @if head.version == 0 {
                p.notice { (msg::board_not_written(context.lang())) }
            }
            @if empty && head.version > 0 { p.muted { (msg::board_empty(context.lang())) } }
            @for at in 0..parts.len() {
                (render_board_part(call, head.version, rendered, at, delivery(at)))
            }
        }
    }
}

/// Renders a part or its placeholder. With `hx-preserve` the browser keeps its existing element, which is
/// correct for parts, because their ids are derived from their content.
fn render_board_part(
    call: &BoardRequest,
    version: u64,
    rendered: &RenderedBoard,
    at: usize,
    delivery: PartDelivery,
) -> Markup {
    let Some(part) = rendered.document.parts.get(at) else {
        return html! {};
    };
    if rendered.document.parts.len() == 1 {
        return html! { div.part data-part=(at) { (PreEscaped(&part.html)) } };
    }
    if delivery == PartDelivery::Included {
        return html! { div.part id=(part.id) data-part=(at) { (PreEscaped(&part.html)) } };
    }
    let address = board_url::board_view_url(&call.board, BoardViewKind::Part);
    let address = format!("{address}?id={}&version={version}", part.id);
    let preserve = (delivery == PartDelivery::Reference).then_some("true");
    html! {
        div.part.later id=(part.id) data-part=(at) hx-preserve=[preserve]
            hx-get=(address) hx-trigger="revealed" hx-swap="outerHTML" {
            @if at == 1 {
                a href={ (board_url::board_url(&call.board)) "?part=1" } {
                    (msg::board_rest(call.context.lang()))
                }
            }
        }
    }
}

fn render_append_form(context: &RequestContext, board: &BoardName) -> Markup {
    html! {
        form.card method="post" action=(board_url::board_view_url(board, BoardViewKind::Append)) {
            input type="hidden" name="csrf" value=(context.csrf);
            (form_idempotency::render_idempotency_key_field(context))
            label for="append" { (msg::board_append_title(context.lang())) }
            textarea #append name="content" rows="3" required
                placeholder=(msg::board_append_placeholder(context.lang())) {}
            div.actions { button { (msg::board_append(context.lang())) } }
        }
    }
}
