//! Side panel of a board: version, lock, table of contents, milestones and decisions.

use maud::{Markup, html};
use polis_core::Timestamp;
use polis_ops::op::BoardView;
use polis_view::number_format;

use super::board_url::{self, Wish};
use super::decisions::{self, found};
use super::render_cache::Bound;
use super::{Call, list};
use crate::error_page::{OrRefuse as _, Refused};
use crate::excerpt;
use crate::live;
use crate::time_ago::ago;
use crate::url::segment;

/// Maximum number of headings listed.
const MOST_HEADINGS: usize = 400;
/// Headings of this level and above are always visible; deeper ones are collapsed.
const OPEN_LEVEL: u8 = 2;
/// For a board longer than this, decisions are collected after the page is loaded.
pub(super) const LONG: usize = 256 << 10;

/// Renders the panel; for a long board a placeholder that loads it, so that the page does not have to wait.
pub(super) async fn panel_or_later(
    call: &Call,
    head: &BoardView,
    bound: &Bound,
) -> Result<Markup, Refused> {
    if bound.bytes <= LONG {
        return panel(call).await;
    }
    let address = board_url::to(&call.board, Wish::About);
    Ok(html! {
        div #board-about hx-get=(address) hx-trigger="load" hx-swap="outerHTML" {
            (facts(call, head, bound))
            p.muted { (call.visit.say("Contents and decisions are being gathered …", "正在整理目录与决策……")) }
        }
    })
}

/// Renders the panel, which refreshes itself when the board changes.
pub(super) async fn panel(call: &Call) -> Result<Markup, Refused> {
    let Call {
        house,
        visit,
        board,
    } = call;
    let read = house.shelf.read(&visit.polis, &visit.me, board).await;
    let (head, bound) = read.or_refuse(visit)?;
    let plans = found(call, bound.bytes).await?;
    let own = call.clone();
    let planned = excerpt::drawn(visit, move |_| {
        html! {
            (decisions::progress(&own, &plans.milestones))
            (decisions::votes(&own, &plans))
        }
    });
    let planned = planned.await?;
    let on = live::on(&board_url::live(board));
    Ok(html! {
        div #board-about hx-get=(board_url::to(board, Wish::About)) hx-trigger=(on) hx-swap="morph:outerHTML" {
            (facts(call, &head, &bound))
            (contents(call, &bound))
            (planned)
        }
    })
}

fn facts(call: &Call, head: &BoardView, bound: &Bound) -> Markup {
    let visit = &call.visit;
    html! {
        section.card {
            h2 { (visit.say("About", "概况")) }
            dl {
                dt { (visit.say("Version", "版本")) }
                dd data-fact="version" { (head.version) }
                dt { (visit.say("Size", "大小")) }
                dd { (number_format::bytes(bound.bytes as u64)) }
                dt { (visit.say("Last change", "最近修改")) }
                dd { @if head.version == 0 { "–" }
                    (list::last(visit, head.last_modified_by.as_deref(), head.last_modified_at.as_ref())) }
                dt { (visit.say("Lock", "锁")) }
                dd data-fact="lock" { @match &head.locked_by {
                    None => span.muted { (visit.say("free", "未锁定")) },
                    Some(holder) => {
                        span.pill.warn { (holder) } " "
                        @if let Some(until) = &head.locked_until {
                            (visit.say("until", "至")) " " time.clock datetime=(until.as_str()) { (until.as_str()) }
                        }
                    },
                } }
            }
            @if call.may_change() { div.actions {
                @if head.locked_by.is_none() {
                    (button(call, Wish::Lock, visit.say("Lock for 10 minutes", "锁定 10 分钟"), ""))
                } @else {
                    (button(call, Wish::Unlock, visit.say("End the lock", "解除锁定"),
                        visit.say("End the lock? Its holder may be writing.", "确定解除锁定？持有者可能正在书写。")))
                }
            } }
        }
    }
}

fn button(call: &Call, wish: Wish, text: &str, confirm: &str) -> Markup {
    html! {
        form method="post" action=(board_url::to(&call.board, wish)) {
            input type="hidden" name="csrf" value=(call.visit.csrf);
            button.small data-confirm=[(!confirm.is_empty()).then_some(confirm)] { (text) }
        }
    }
}

/// Renders the table of contents. Deep headings are collapsed, and a very long table is truncated.
fn contents(call: &Call, bound: &Bound) -> Markup {
    let visit = &call.visit;
    let headings = &bound.document.headings;
    if headings.len() < 2 {
        return html! {};
    }
    let top = headings.iter().map(|one| one.level).min().unwrap_or(1);
    let open = OPEN_LEVEL.max(top + 1);
    let page = board_url::of(&call.board);
    let edit = board_url::to(&call.board, Wish::Edit);
    let mut sections = bound.sections.iter();
    let entries: Vec<(bool, Markup)> = headings
        .iter()
        .take(MOST_HEADINGS)
        .map(|heading| {
            let section = heading.section.then(|| sections.next()).flatten();
            // A heading in a part that is not loaded yet links to the page with that part.
            let at = match heading.part {
                0 => format!("#{}", segment(&heading.id)),
                part => format!("{page}?part={part}#{}", segment(&heading.id)),
            };
            let entry = html! {
                div class={ "toc-row level-" (heading.level) } {
                    a.cut href=(at) { (heading.title) @if heading.title.is_empty() { "…" } }
                    @if let Some((title, nth)) = section.filter(|_| call.may_change()) {
                        a.toc-edit href={ (edit) "?section=" (segment(title)) "&nth=" (nth) }
                            aria-label={ (visit.say("Edit", "编辑")) " " (title) } { (visit.say("edit", "编辑")) }
                    }
                }
            };
            (heading.level > open, entry)
        })
        .collect();
    html! {
        section.card {
            h2 { (visit.say("Contents", "目录")) }
            nav.toc aria-label=(visit.say("Contents", "目录")) {
                @for group in entries.chunk_by(|one, two| one.0 == two.0) {
                    @let deep = group.first().is_some_and(|one| one.0);
                    @if deep {
                        details { summary.muted.small { (visit.say(format!("{} deeper", group.len()), format!("{} 个下级标题", group.len()))) }
                            @for (_, entry) in group { (entry) } }
                    } @else { @for (_, entry) in group { (entry) } }
                }
                @if headings.len() > MOST_HEADINGS {
                    p.muted.small { (visit.say(
                        format!("and {} more headings", headings.len() - MOST_HEADINGS),
                        format!("另有 {} 个标题", headings.len() - MOST_HEADINGS),
                    )) }
                }
            }
        }
    }
}

/// Renders when and by whom a version was created, for version lists.
pub(super) fn made(call: &Call, by: &str, at: &Timestamp) -> Markup {
    html! { (by) " " (ago(&call.visit, at)) }
}
