//! What is known about a board beside its text: version, lock, contents, milestones, decisions.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::Timestamp;
use polis_core::board::{Decision, DecisionKind, DecisionStatus, Milestone};
use polis_ops::op::{self, BoardView, OfBoard};
use polis_view::amount;

use super::address::{self, Wish};
use super::shelf::{Bound, failed};
use super::{Asked, Call, lacks, list};
use crate::layout::{Tab, page};
use crate::live;
use crate::markdown;
use crate::moment::ago;
use crate::refused::{OrRefuse as _, Refused};

/// The most headings that are listed.
const MOST_HEADINGS: usize = 400;
/// Headings at this level and above are shown; deeper ones are folded.
const OPEN_LEVEL: u8 = 2;
/// The most decisions and milestones that are shown.
const MOST: usize = 100;
/// A board longer than this is searched for decisions after the page is there.
const LONG: usize = 256 << 10;

/// The panel; of a long board the place for it, so that the page need not wait.
pub(super) async fn panel_or_later(
    call: &Call,
    head: &BoardView,
    bound: &Bound,
) -> Result<Markup, Refused> {
    if bound.bytes <= LONG {
        return panel(call).await;
    }
    let address = address::to(&call.board, Wish::About);
    Ok(html! {
        div #board-about hx-get=(address) hx-trigger="load" hx-swap="outerHTML" {
            (facts(call, head, bound))
            p.muted { (call.visit.say("Contents and decisions are being gathered …", "正在整理目录与决策……")) }
        }
    })
}

/// The panel, which fetches itself again when the board changes.
pub(super) async fn panel(call: &Call) -> Result<Markup, Refused> {
    let Call {
        house,
        visit,
        board,
    } = call;
    let read = house.shelf.read(&visit.polis, &visit.me, board).await;
    let (head, bound) = read.or_refuse(visit)?;
    let (milestones, decisions) = found(call, bound.bytes).await?;
    let on = live::on(&address::live(board));
    Ok(html! {
        div #board-about hx-get=(address::to(board, Wish::About)) hx-trigger=(on) hx-swap="morph:outerHTML" {
            (facts(call, &head, &bound))
            (contents(call, &bound))
            @if !milestones.is_empty() { (progress(call, &milestones)) }
            @if !decisions.is_empty() { (votes(call, &decisions)) }
        }
    })
}

/// What is decided and planned on the board; in a long one that is looked for aside.
async fn found(call: &Call, bytes: usize) -> Result<(Vec<Milestone>, Vec<Decision>), Refused> {
    let (polis, me) = (call.visit.polis.clone(), call.visit.me.clone());
    let of = OfBoard {
        board: call.board.clone(),
    };
    let look = async move {
        let milestones = op::board_milestones(&polis, &me, &of).await?.milestones;
        let decisions = op::board_decisions(&polis, &me, &of).await?.decisions;
        Ok((milestones, decisions))
    };
    if bytes <= LONG {
        return look.await.or_refuse(&call.visit);
    }
    let here = tokio::runtime::Handle::current();
    let found = tokio::task::spawn_blocking(move || here.block_on(look)).await;
    found
        .map_err(|error| failed(&error))
        .flatten()
        .or_refuse(&call.visit)
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
                dd { (amount::bytes(bound.bytes as u64)) }
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
            div.actions {
                @if head.locked_by.is_none() {
                    (button(call, Wish::Lock, visit.say("Lock for 10 minutes", "锁定 10 分钟"), ""))
                } @else {
                    (button(call, Wish::Unlock, visit.say("End the lock", "解除锁定"),
                        visit.say("End the lock? Its holder may be writing.", "确定解除锁定？持有者可能正在书写。")))
                }
            }
        }
    }
}

fn button(call: &Call, wish: Wish, text: &str, confirm: &str) -> Markup {
    html! {
        form method="post" action=(address::to(&call.board, wish)) {
            input type="hidden" name="csrf" value=(call.visit.csrf);
            button.small data-confirm=[(!confirm.is_empty()).then_some(confirm)] { (text) }
        }
    }
}

/// The table of contents. Deep headings are folded, and a very long table ends somewhere.
fn contents(call: &Call, bound: &Bound) -> Markup {
    let visit = &call.visit;
    let headings = &bound.document.headings;
    if headings.len() < 2 {
        return html! {};
    }
    let top = headings.iter().map(|one| one.level).min().unwrap_or(1);
    let open = OPEN_LEVEL.max(top + 1);
    let page = address::of(&call.board);
    let edit = address::to(&call.board, Wish::Edit);
    let mut sections = bound.sections.iter();
    let entries: Vec<(bool, Markup)> = headings
        .iter()
        .take(MOST_HEADINGS)
        .map(|heading| {
            let section = heading.section.then(|| sections.next()).flatten();
            // What is not in the page yet is on the page with its part.
            let at = match heading.part {
                0 => format!("#{}", address::value(&heading.id)),
                part => format!("{page}?part={part}#{}", address::value(&heading.id)),
            };
            let entry = html! {
                div class={ "toc-row level-" (heading.level) } {
                    a.cut href=(at) { (heading.title) @if heading.title.is_empty() { "…" } }
                    @if let Some((title, nth)) = section {
                        a.toc-edit href={ (edit) "?section=" (address::value(title)) "&nth=" (nth) }
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

fn progress(call: &Call, milestones: &[Milestone]) -> Markup {
    let visit = &call.visit;
    let done = milestones.iter().filter(|one| one.done).count();
    html! {
        section.card {
            h2 { (visit.say("Milestones", "里程碑")) span.count { (done) " / " (milestones.len()) } }
            progress max=(milestones.len()) value=(done) aria-label=(visit.say("Milestones reached", "已达成的里程碑")) {}
            ul.list {
                @for one in milestones.iter().take(MOST) {
                    li.row data-milestone=(one.title) {
                        span.tick.done[one.done] aria-hidden="true" { @if one.done { "☑" } @else { "☐" } }
                        span.grow { b { (one.title) } @if !one.description.is_empty() { " " span.muted { (one.description) } } }
                        @if one.done { span.pill.good { (visit.say("reached", "已达成")) } }
                        @else {
                            form method="post" action=(address::to(&call.board, Wish::Milestone)) {
                                input type="hidden" name="csrf" value=(visit.csrf);
                                input type="hidden" name="title" value=(one.title);
                                button.small aria-label={ (visit.say("Reached:", "已达成：")) " " (one.title) } { (visit.say("Reached", "达成")) }
                            }
                        }
                    }
                }
            }
        }
    }
}

fn votes(call: &Call, decisions: &[Decision]) -> Markup {
    let visit = &call.visit;
    html! {
        section.card {
            h2 { (visit.say("Decisions", "决策")) span.count { (decisions.len()) } }
            // The newest are those that wait.
            @for decision in decisions.iter().rev().take(MOST) { (vote(call, decision)) }
        }
    }
}

fn vote(call: &Call, decision: &Decision) -> Markup {
    let visit = &call.visit;
    let names = |names: &[String]| names.join(visit.say(", ", "、"));
    let status = match decision.status {
        DecisionStatus::Pending => visit.say("waits for signatures", "等待签署"),
        DecisionStatus::Approved => visit.say("approved", "已通过"),
        DecisionStatus::Rejected => visit.say("rejected", "已否决"),
        DecisionStatus::Appealing => visit.say("voted on again", "复议中"),
    };
    let open = matches!(
        decision.status,
        DecisionStatus::Pending | DecisionStatus::Appealing
    );
    let signed = decision
        .signers
        .iter()
        .any(|name| name == visit.me.as_str());
    let class = format!("pill status-{}", decision.status.as_str());
    html! {
        article.decision data-decision=(decision.id) {
            div.row { b { "#" (decision.id) } span class=(class) { (status) }
                @if decision.kind == DecisionKind::Milestone { span.pill.calm { (visit.say("milestone", "里程碑")) } } }
            div.prose { (markdown::html(&decision.content)) }
            @if let Some(milestone) = &decision.milestone { p.small { (visit.say("Milestone:", "里程碑：")) " " (milestone) } }
            p.muted.small { (decision.proposer) " " (proposed(call, decision)) }
            @if !decision.signers.is_empty() { p.small { (visit.say("Signed:", "已签署：")) " " (names(&decision.signers)) } }
            @if !decision.vetoed_by.is_empty() { p.small { (visit.say("Vetoed:", "否决：")) " " (names(&decision.vetoed_by)) } }
            @if let Some(reason) = &decision.reason { div.prose.small { (markdown::html(reason)) } }
            @if open || decision.status == DecisionStatus::Rejected {
                div.actions {
                    @if open {
                        @if !signed { (act(call, decision, "sign", visit.say("Sign", "签署"), "main")) }
                        form method="get" action=(address::to(&call.board, Wish::Decide)) {
                            input type="hidden" name="id" value=(decision.id);
                            button.small.danger name="act" value="veto" { (visit.say("Veto …", "否决……")) }
                        }
                    } @else { (act(call, decision, "appeal", visit.say("Appeal", "申请复议"), "")) }
                }
            }
        }
    }
}

/// When a decision was proposed; in the record's own words, if they are no moment.
fn proposed(call: &Call, decision: &Decision) -> Markup {
    match Timestamp::parse(&decision.time) {
        Some(at) => ago(&call.visit, &at),
        None => html! { (decision.time) },
    }
}

fn act(call: &Call, decision: &Decision, verb: &str, text: &str, class: &str) -> Markup {
    html! {
        form method="post" action=(address::to(&call.board, Wish::Decide)) {
            input type="hidden" name="csrf" value=(call.visit.csrf);
            input type="hidden" name="id" value=(decision.id);
            button class={ "small " (class) } name="act" value=(verb) { (text) }
        }
    }
}

/// Proposing a decision and adding a milestone: beside the panel, because what is typed there must not go
/// when the panel is fetched again.
pub(super) fn forms(call: &Call, writes: bool) -> Markup {
    let visit = &call.visit;
    html! {
        details.card {
            summary { (visit.say("Propose a decision", "提出决策")) }
            form method="post" action=(address::to(&call.board, Wish::Decide)) {
                input type="hidden" name="csrf" value=(visit.csrf);
                label for="proposal" { (visit.say("What is to be decided", "决策内容")) }
                textarea #proposal name="content" rows="3" required {}
                label for="proposal-of" { (visit.say("Milestone it declares reached (if any)", "宣告达成的里程碑（可不填）")) }
                input #proposal-of name="title";
                div.actions { button name="act" value="propose" { (visit.say("Propose", "提出")) } }
            }
        }
        @if writes {
            details.card {
                summary { (visit.say("Add a milestone", "新增里程碑")) }
                form method="post" action=(address::to(&call.board, Wish::Milestone)) {
                    input type="hidden" name="csrf" value=(visit.csrf);
                    label for="milestone" { (visit.say("Title", "标题")) }
                    input #milestone name="title" required;
                    label for="milestone-of" { (visit.say("What it is", "说明")) }
                    input #milestone-of name="content";
                    div.actions { button name="add" value="1" { (visit.say("Add", "新增")) } }
                }
            }
        }
    }
}

/// A veto says why, on a page of its own: a form within what is fetched again would lose what was typed.
pub(super) async fn ask_veto(call: &Call, asked: &Asked) -> Result<Response, Refused> {
    let Call { visit, board, .. } = call;
    let id = asked.id.as_deref().ok_or_else(|| lacks(call, "id"))?;
    let of = OfBoard {
        board: board.clone(),
    };
    let found = op::board_decisions(&visit.polis, &visit.me, &of).await;
    let decisions = found.or_refuse(visit)?.decisions;
    let decision = decisions.iter().find(|one| one.id == id);
    let body = html! {
        @if let Some(decision) = decision {
            div.card.prose { (markdown::html(&decision.content)) p.muted.small { (decision.proposer) " " (proposed(call, decision)) } }
        }
        form #veto.card method="post" action=(address::to(board, Wish::Decide)) {
            input type="hidden" name="csrf" value=(visit.csrf);
            input type="hidden" name="id" value=(id);
            label for="reason" { (visit.say("Why", "理由")) }
            textarea #reason name="reason" rows="4" required autofocus {}
            div.actions {
                button.danger name="act" value="veto" { (visit.say("Veto", "否决")) }
                a.button.quiet href=(address::of(board)) { (visit.say("Back", "返回")) }
            }
        }
    };
    let title = visit.say(format!("Veto decision #{id}"), format!("否决决策 #{id}"));
    Ok(page(visit, Tab::Boards, &title, "", &body))
}

/// When a version was made and by whom, for lists of them.
pub(super) fn made(call: &Call, by: &str, at: &Timestamp) -> Markup {
    html! { (by) " " (ago(&call.visit, at)) }
}
