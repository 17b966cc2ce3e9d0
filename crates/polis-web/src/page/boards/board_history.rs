//! Version history of a board: list, side-by-side diff of any two versions, and restore with confirmation.

use std::sync::Arc;

use axum::response::Response;
use maud::{Markup, html};
use polis_core::RefusalCode;
use polis_core::board::VersionEntry;
use polis_core::number::saturating_cast;
use polis_i18n::msg;
use polis_ops::OpError;
use polis_ops::op::{self, BoardHistoryParams, BoardVersionShowParams};
use polis_view::{labels, number_format};

use super::board_url::{self, BoardViewKind};
use super::{BoardQuery, BoardRequest, board_panel, missing_field_error};
use crate::component::side_by_side;
use crate::error_page::{OrPageError as _, PageError, render_error_notice};
use crate::layout::{Tab, tab_page};

/// Maximum number of versions listed.
const MAX_LISTED_VERSIONS: u32 = 200;

pub(super) async fn show_history(
    call: &BoardRequest,
    query: &BoardQuery,
) -> Result<Response, PageError> {
    let BoardRequest { context, board, .. } = call;
    let request = BoardHistoryParams {
        board: board.clone(),
        limit: Some(MAX_LISTED_VERSIONS),
    };
    let list = op::list_board_versions(&context.request, &request).await;
    let versions = list.or_page_error(context)?.versions;
    let (writes, _) = call.write_and_append_rights().await?;
    let limit = saturating_cast::<usize>(context.request.app.settings.boards.max_versions);
    let newest = versions.first().map_or(0, |one| one.version);
    let to = query.to.unwrap_or(newest);
    let from = query.from.unwrap_or(to.saturating_sub(1));
    let comparison = if versions.is_empty() || to == from {
        html! {}
    } else {
        render_comparison(call, from.min(to), from.max(to), query.from.is_some()).await?
    };
    let body = html! {
        p { a href=(board_url::board_url(board)) { "← " (board) } }
        @if versions.is_empty() {
            div.empty {
                h2 { (msg::board_no_versions_title(context.lang())) }
                p { (msg::board_no_versions_explanation(context.lang())) }
            }
        } @else {
            div.history {
                (comparison)
                form.card method="get" action=(board_url::board_view_url(board, BoardViewKind::History)) {
                    h2 { (msg::board_versions_title(context.lang())) span.count { (versions.len()) } }
                    @if versions.len() >= limit {
                        p.muted.small { (msg::board_versions_kept(context.lang(), limit)) }
                    }
                    div.scroll tabindex="0" { table.table {
                        thead { tr {
                            th scope="col" { (msg::board_compare_from(context.lang())) }
                            th scope="col" { (msg::board_compare_to(context.lang())) }
                            th.num scope="col" { (msg::common_version(context.lang())) }
                            th scope="col" { (msg::board_version_change(context.lang())) }
                            th scope="col" { (msg::board_version_author_and_time(context.lang())) }
                            th.num scope="col" { (msg::common_size(context.lang())) }
                            th scope="col" { span.hide { (msg::board_restore(context.lang())) } }
                        } }
                        tbody { @for one in &versions { (render_version_row(call, one, (from, to), writes && one.version != newest)) } }
                    } }
                    div.actions { button.main { (msg::board_compare(context.lang())) } }
                }
            }
        }
    };
    let title = msg::board_history_title(context.lang(), board);
    Ok(tab_page(context, Tab::Boards, &title, "", &body))
}

/// Renders a version, with the radio buttons for the compared versions, and a restore link if `restores` is
/// set.
fn render_version_row(
    call: &BoardRequest,
    one: &VersionEntry,
    (from, to): (u64, u64),
    restores: bool,
) -> Markup {
    let context = &call.context;
    let number = one.version;
    let label = |prefix: &str| format!("{prefix} {number}");
    let restore = format!(
        "{}?version={number}",
        board_url::board_view_url(&call.board, BoardViewKind::Restore)
    );
    html! {
        tr data-row data-version=(number) {
            td { input type="radio" name="from" value=(number) checked[number == from] aria-label=(label(msg::board_compare_from_version(context.lang()))); }
            td { input type="radio" name="to" value=(number) checked[number == to] aria-label=(label(msg::board_compare_to_version(context.lang()))); }
            td.num { a href={ "?to=" (number) } { (number) } }
            td { (labels::version_action_label(one.action, context.lang())) }
            td { (board_panel::render_author_and_time(call, &one.by, &one.at)) }
            td.num.nowrap { (number_format::format_bytes(one.bytes)) }
            td { @if restores { a.button.small href=(restore) { (msg::board_restore_link(context.lang())) } } }
        }
    }
}

async fn load_version_text(call: &BoardRequest, version: u64) -> Result<Arc<String>, PageError> {
    fetch_version_text(call, version)
        .await
        .or_page_error(&call.context)
}

async fn fetch_version_text(call: &BoardRequest, version: u64) -> Result<Arc<String>, OpError> {
    let request = BoardVersionShowParams {
        board: call.board.clone(),
        version,
        offset: None,
        max_bytes: None,
    };
    let found = op::show_board_version(&call.context.request, &request).await;
    Ok(found?.content)
}

/// Renders the diff of two versions. The predecessor of the oldest stored version no longer exists; that is
/// an error only if it was requested explicitly.
async fn render_comparison(
    call: &BoardRequest,
    from: u64,
    to: u64,
    explicit: bool,
) -> Result<Markup, PageError> {
    let context = &call.context;
    let new = load_version_text(call, to).await?;
    let old = match fetch_version_text(call, from).await {
        Err(error) if error.code() == RefusalCode::VERSION_NOT_FOUND && !explicit => {
            return Ok(html! { p.muted { (msg::board_oldest_version(context.lang(), to)) } });
        }
        old => old.or_page_error(context)?,
    };
    let title = msg::board_compare_title(context.lang(), from, to);
    Ok(
        html! { section.card #difference { h2 { (title) } (render_version_diff(call, (from, old), (to, new)).await?) } },
    )
}

/// Renders the side-by-side diff of two versions. Runs on a blocking thread, because long texts take time.
pub(super) async fn render_version_diff(
    call: &BoardRequest,
    old: (u64, Arc<String>),
    new: (u64, Arc<String>),
) -> Result<Markup, PageError> {
    let name = |version: u64| match version {
        0 => msg::board_initial_version_mark(call.context.lang()).to_owned(),
        n => msg::board_version_number(call.context.lang(), n),
    };
    render_text_diff(call, (name(old.0), old.1), (name(new.0), new.1)).await
}

/// Renders the side-by-side diff of two named texts.
pub(super) async fn render_text_diff(
    call: &BoardRequest,
    (old_name, old): (String, Arc<String>),
    (is, new): (String, Arc<String>),
) -> Result<Markup, PageError> {
    let context = call.context.clone();
    let rendered = tokio::task::spawn_blocking(move || {
        side_by_side::render_diff_table(&context, (&old_name, &old), (&is, &new))
    });
    rendered
        .await
        .map_err(|error| super::render_cache::render_failed(&error))
        .or_page_error(&call.context)
}

/// Returns the confirmation page for restoring a version, with a diff of the resulting change.
pub(super) async fn confirm_restore(
    call: &BoardRequest,
    query: &BoardQuery,
) -> Result<Response, PageError> {
    let version = query
        .version
        .ok_or_else(|| missing_field_error(call, "version"))?;
    restore_confirmation_page(call, version, None).await
}

/// Returns the confirmation page; `previous_error` is the conflict if the board has changed since the page
/// was shown before.
pub(super) async fn restore_confirmation_page(
    call: &BoardRequest,
    version: u64,
    previous_error: Option<&OpError>,
) -> Result<Response, PageError> {
    let BoardRequest { context, board, .. } = call;
    let head = super::render_cache::read_board_head(&context.request, board).await;
    let now = head.or_page_error(context)?.version;
    let (old, new) = (
        load_version_text(call, now).await?,
        load_version_text(call, version).await?,
    );
    let body = html! {
        @if let Some(error) = previous_error { (render_error_notice(context.preferences, error, false)) }
        p { (msg::board_restore_explanation(context.lang())) }
        form.actions method="post" action=(board_url::board_view_url(board, BoardViewKind::Restore)) {
            input type="hidden" name="csrf" value=(context.csrf);
            input type="hidden" name="version" value=(version);
            input type="hidden" name="now" value=(now);
            button.main { (msg::board_restore_version_title(context.lang(), version)) }
            a.button.quiet href=(board_url::board_view_url(board, BoardViewKind::History)) { (msg::common_back(context.lang())) }
        }
        section.card { h2 { (msg::board_version_changes(context.lang())) } (render_version_diff(call, (now, old), (version, new)).await?) }
    };
    let title = msg::board_restore_title(context.lang(), board);
    Ok(tab_page(context, Tab::Boards, &title, "", &body))
}
