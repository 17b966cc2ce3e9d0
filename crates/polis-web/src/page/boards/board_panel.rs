//! Side panel of a board: version, lock, table of contents, milestones and decisions.

use maud::{Markup, html};
use polis_core::Timestamp;
use polis_i18n::msg;
use polis_ops::op::BoardView;
use polis_view::number_format;

use super::board_decisions::{self, load_decisions_and_milestones};
use super::board_url::{self, BoardViewKind};
use super::render_cache::RenderedBoard;
use super::{BoardRequest, board_list};
use crate::component::excerpt;
use crate::component::time_ago::render_time_ago;
use crate::error_page::{OrPageError as _, PageError};
use crate::live_updates;
use crate::url::encode_segment;

/// Maximum number of headings listed.
const MAX_TOC_HEADINGS: usize = 400;
/// Headings of this level and above are always visible; deeper ones are collapsed.
const TOC_OPEN_LEVEL: u8 = 2;
/// For a board longer than this, the panel is loaded after the page, and its decisions are parsed on a
/// blocking thread.
pub(super) const DEFERRED_PANEL_BYTES: usize = 256 << 10;

/// Renders the panel; for a long board a placeholder that loads it, so that the page does not have to wait.
pub(super) async fn render_panel_or_placeholder(
    call: &BoardRequest,
    head: &BoardView,
    rendered: &RenderedBoard,
) -> Result<Markup, PageError> {
    if rendered.bytes <= DEFERRED_PANEL_BYTES {
        return render_panel(call).await;
    }
    let address = board_url::board_view_url(&call.board, BoardViewKind::About);
    Ok(html! {
        div #board-about hx-get=(address) hx-trigger="load" hx-swap="outerHTML" {
            (render_board_facts(call, head, rendered))
            p.muted { (msg::board_panel_loading(call.context.lang())) }
        }
    })
}

/// Renders the panel, which refreshes itself when the board changes.
pub(super) async fn render_panel(call: &BoardRequest) -> Result<Markup, PageError> {
    let BoardRequest {
        state,
        context,
        board,
    } = call;
    let read = state
        .render_cache
        .read_rendered(&context.request, board)
        .await;
    let (head, rendered) = read.or_page_error(context)?;
    let plans = load_decisions_and_milestones(call, rendered.bytes).await?;
    let owned_call = call.clone();
    let planned = excerpt::render_blocking(context, move |_| {
        html! {
            (board_decisions::render_milestones(&owned_call, &plans.milestones))
            (board_decisions::render_decisions(&owned_call, &plans))
        }
    });
    let planned = planned.await?;
    let trigger = live_updates::htmx_trigger(&board_url::board_live_topic(board));
    Ok(html! {
        div #board-about hx-get=(board_url::board_view_url(board, BoardViewKind::About)) hx-trigger=(trigger) hx-swap="morph:outerHTML" {
            (render_board_facts(call, &head, &rendered))
            (render_table_of_contents(call, &rendered))
            (planned)
        }
    })
}

fn render_board_facts(call: &BoardRequest, head: &BoardView, rendered: &RenderedBoard) -> Markup {
    let context = &call.context;
    html! {
        section.card {
            h2 { (msg::board_details_title(context.lang())) }
            dl {
                dt { (msg::common_version(context.lang())) }
                dd data-fact="version" { (head.version) }
                dt { (msg::common_size(context.lang())) }
                dd { (number_format::format_bytes(rendered.bytes as u64)) }
                dt { (msg::board_last_change(context.lang())) }
                dd { @if head.version == 0 { "–" }
                    (board_list::render_last_change(context, head.last_modified_by.as_deref(), head.last_modified_at.as_ref())) }
                dt { (msg::board_lock(context.lang())) }
                dd data-fact="lock" { @match &head.locked_by {
                    None => span.muted { (msg::board_unlocked(context.lang())) },
                    Some(holder) => {
                        span.pill.warn { (holder) } " "
                        @if let Some(until) = &head.locked_until {
                            (msg::board_locked_until(context.lang())) " " time.clock datetime=(until.as_str()) { (until.as_str()) }
                        }
                    },
                } }
            }
            @if call.scopes_allow_write() { div.actions {
                @if head.locked_by.is_none() {
                    (render_action_button(call, BoardViewKind::Lock, msg::board_lock_for_ten_minutes(context.lang()), ""))
                } @else {
                    (render_action_button(call, BoardViewKind::Unlock, msg::board_release_lock(context.lang()),
                        msg::board_release_lock_question(context.lang())))
                }
            } }
        }
    }
}

fn render_action_button(
    call: &BoardRequest,
    view: BoardViewKind,
    text: &str,
    confirm: &str,
) -> Markup {
    html! {
        form method="post" action=(board_url::board_view_url(&call.board, view)) {
            input type="hidden" name="csrf" value=(call.context.csrf);
            button.small data-confirm=[(!confirm.is_empty()).then_some(confirm)] { (text) }
        }
    }
}

/// Renders the table of contents. Deep headings are collapsed, and a very long table is truncated.
fn render_table_of_contents(call: &BoardRequest, rendered: &RenderedBoard) -> Markup {
    let context = &call.context;
    let headings = &rendered.document.headings;
    if headings.len() < 2 {
        return html! {};
    }
    let top = headings.iter().map(|one| one.level).min().unwrap_or(1);
    let open = TOC_OPEN_LEVEL.max(top + 1);
    let page = board_url::board_url(&call.board);
    let edit = board_url::board_view_url(&call.board, BoardViewKind::Edit);
    let mut sections = rendered.sections.iter();
    let entries: Vec<(bool, Markup)> = headings
        .iter()
        .take(MAX_TOC_HEADINGS)
        .map(|heading| {
            let section = heading.begins_section.then(|| sections.next()).flatten();
            // A heading in a part that is not loaded yet links to the page with that part.
            let at = match heading.part {
                0 => format!("#{}", encode_segment(&heading.id)),
                part => format!("{page}?part={part}#{}", encode_segment(&heading.id)),
            };
            let entry = html! {
                div class={ "toc-row level-" (heading.level) } {
                    a.cut href=(at) { (heading.title) @if heading.title.is_empty() { "…" } }
                    @if let Some((title, nth)) = section.filter(|_| call.scopes_allow_write()) {
                        a.toc-edit href={ (edit) "?section=" (encode_segment(title)) "&nth=" (nth) }
                            aria-label={ (msg::common_edit(context.lang())) " " (title) } { (msg::board_edit_section(context.lang())) }
                    }
                }
            };
            (heading.level > open, entry)
        })
        .collect();
    html! {
        section.card {
            h2 { (msg::board_contents_title(context.lang())) }
            nav.toc aria-label=(msg::board_contents_title(context.lang())) {
                @for group in entries.chunk_by(|one, two| one.0 == two.0) {
                    @let deep = group.first().is_some_and(|one| one.0);
                    @if deep {
                        details { summary.muted.small { (msg::board_subheading_count(context.lang(), group.len())) }
                            @for (_, entry) in group { (entry) } }
                    } @else { @for (_, entry) in group { (entry) } }
                }
                @if headings.len() > MAX_TOC_HEADINGS {
                    p.muted.small { (msg::board_headings_omitted(context.lang(), headings.len() - MAX_TOC_HEADINGS)) }
                }
            }
        }
    }
}

/// Renders the author and the time of a version, for version lists.
pub(super) fn render_author_and_time(call: &BoardRequest, author: &str, at: &Timestamp) -> Markup {
    html! { (author) " " (render_time_ago(&call.context, at)) }
}
