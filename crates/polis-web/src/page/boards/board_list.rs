//! Page with the list of boards that the reader may read, with search and pagination.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::Timestamp;
use polis_core::board::BoardName;
use polis_core::number::saturating_cast;
use polis_i18n::msg;
use polis_ops::op::{self, BoardEntry, BoardList, ListBoardsParams};
use polis_view::{UiLanguage, number_format};
use serde::Deserialize;

use super::board_url;
use crate::component::time_ago::render_time_ago;
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::{Tab, html_fragment_with_url, tab_page};
use crate::request::extract::QueryParams;
use crate::request::request_context::RequestContext;
use crate::url::url_with_query;

/// Maximum number of boards per page.
const MAX_LISTED_BOARDS: u32 = 200;

/// Filter and pagination of the list.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct BoardListQuery {
    /// Only boards with this text in their name.
    q: String,
    /// Only boards after this one (pagination).
    after: String,
}

impl BoardListQuery {
    fn url(&self, page: &str) -> String {
        let fields = [("q", self.q.trim()), ("after", self.after.as_str())];
        url_with_query(page, &fields)
    }
}

pub(super) async fn show_boards(
    context: RequestContext,
    QueryParams(query): QueryParams<BoardListQuery>,
) -> Result<Response, PageError> {
    let body = html! {
        form.toolbar #filter role="search" method="get" action="/boards" hx-get="/boards/list" hx-target="#boards" hx-swap="morph:outerHTML"
            hx-trigger="input delay:200ms, submit" hx-sync="#boards:replace" {
            div.grow {
                label for="q" { (msg::common_search(context.lang())) }
                input #q type="search" name="q" value=(query.q) data-filter placeholder=(msg::board_search_placeholder(context.lang()));
            }
            button { (msg::common_filter(context.lang())) }
        }
        (render_board_table(&context, &query).await?)
    };
    Ok(tab_page(
        &context,
        Tab::Boards,
        msg::common_tab_boards(context.lang()),
        "board~",
        &body,
    ))
}

pub(super) async fn refresh_boards(
    context: RequestContext,
    QueryParams(query): QueryParams<BoardListQuery>,
) -> Result<Response, PageError> {
    Ok(html_fragment_with_url(
        &query.url("/boards"),
        render_board_table(&context, &query).await?,
    ))
}

/// Returns a page of the boards and its next cursor.
async fn load_boards(
    context: &RequestContext,
    query: &BoardListQuery,
) -> Result<BoardList, PageError> {
    let search = query.q.trim().to_lowercase();
    let after = Some(query.after.clone()).filter(|after| !after.is_empty());
    let params = ListBoardsParams {
        cursor: after,
        limit: search.is_empty().then_some(MAX_LISTED_BOARDS),
    };
    let list = op::list_boards(&context.request, &params).await;
    let mut list = list.or_page_error(context)?;
    if !search.is_empty() {
        let limit = saturating_cast::<usize>(MAX_LISTED_BOARDS);
        list.boards
            .retain(|board| board.board.to_lowercase().contains(&search));
        let more = list.boards.len() > limit;
        list.boards.truncate(limit);
        let last = list.boards.last().filter(|_| more);
        list.next = last.map(|last| last.board.clone());
    }
    Ok(list)
}

async fn render_board_table(
    context: &RequestContext,
    query: &BoardListQuery,
) -> Result<Markup, PageError> {
    let BoardList { boards, next } = load_boards(context, query).await?;
    let lang = context.lang();
    let unfiltered = query.q.trim().is_empty() && query.after.is_empty();
    let unwritten = unfiltered && boards.iter().all(|board| board.version == 0);
    let next = next.map(|after| BoardListQuery {
        q: query.q.clone(),
        after,
    });
    Ok(html! {
        // The filter values are read from the form when the request is sent, so that text typed in the
        // meantime is included.
        section #boards hx-get="/boards/list" hx-trigger="polis:board~ from:body" hx-swap="morph:outerHTML"
            hx-include="#filter, #boards > input" hx-sync="this:queue last" hx-disinherit="hx-include hx-sync" {
            @if !query.after.is_empty() { input type="hidden" name="after" value=(query.after); }
            @if unwritten { (render_no_boards(context)) }
            @if boards.is_empty() { div.empty { p { (msg::board_no_matches(lang)) } } }
            @else { div.scroll tabindex="0" {
                table.table.boards {
                    thead { tr {
                        th scope="col" { (msg::common_board(lang)) }
                        th scope="col" { (msg::board_purpose(lang)) }
                        th.num scope="col" { (msg::common_version(lang)) }
                        th.num scope="col" { (msg::common_size(lang)) }
                        th scope="col" { (msg::board_last_change(lang)) }
                        th scope="col" { (msg::board_locked_by_column(lang)) }
                    } }
                    tbody { @for board in &boards { (render_board_row(context, board)) } }
                }
            } }
            @if !query.after.is_empty() || next.is_some() {
                nav.row.small aria-label=(msg::board_list_pages(lang)) {
                    @if !query.after.is_empty() { a href=(url_with_query("/boards", &[("q", query.q.trim())])) { (msg::board_list_first_page(lang)) } }
                    @if let Some(next) = next { a href=(next.url("/boards")) rel="next" { (msg::board_list_more(lang)) " →" } }
                }
            }
        }
    })
}

fn render_board_row(context: &RequestContext, entry: &BoardEntry) -> Markup {
    let lang = context.lang();
    let name = BoardName::from_stored(&entry.board);
    html! {
        tr data-row data-board=(entry.board) {
            td { @match &name {
                Some(name) => a href=(board_url::board_url(name)) { (entry.board) },
                None => (entry.board),
            } }
            td.muted { (name.as_ref().map_or("", |name| board_purpose(name, lang))) }
            td.num { @if entry.version == 0 { span.muted { (msg::board_new_mark(lang)) } } @else { (entry.version) } }
            td.num.nowrap { @if entry.version > 0 { (number_format::format_bytes(entry.bytes)) } }
            td { (render_last_change(context, entry.last_modified_by.as_deref(), entry.last_modified_at.as_ref())) }
            td { @if let Some(holder) = &entry.locked_by { span.pill.warn { (holder) } } }
        }
    }
}

/// Renders who changed a board last, and when.
pub(super) fn render_last_change(
    context: &RequestContext,
    author: Option<&str>,
    at: Option<&Timestamp>,
) -> Markup {
    html! {
        @if let Some(author) = author { (author) " " }
        @if let Some(at) = at { (render_time_ago(context, at)) }
    }
}

/// Returns a sentence on the purpose of a board, by its layer.
pub(super) fn board_purpose(name: &BoardName, lang: UiLanguage) -> &'static str {
    match name {
        BoardName::Global => msg::board_purpose_global(lang),
        BoardName::Top => msg::board_purpose_top(lang),
        BoardName::Mid(_) => msg::board_purpose_mid(lang),
        BoardName::Bottom(_) => msg::board_purpose_bottom(lang),
        BoardName::Blackboard(_) => msg::board_purpose_blackboard(lang),
    }
}

fn render_no_boards(context: &RequestContext) -> Markup {
    html! {
        div.empty {
            h2 { (msg::board_none_title(context.lang())) }
            p { (msg::board_none_explanation(context.lang())) }
            pre { code { "polis board append global --content \"" (msg::board_example_entry(context.lang())) "\"" } }
        }
    }
}
