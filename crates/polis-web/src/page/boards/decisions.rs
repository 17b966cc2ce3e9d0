//! Milestones and decisions of a board with their actions, the page of a single decision, and the forms that add
//! either.
//!
//! All of it is parsed from the board's text, which agents write, so every piece of text is truncated.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::board::{Decision, DecisionKind, DecisionStatus, Milestone};
use polis_core::{Code, Refusal, Timestamp};
use polis_ops::op::{self, OfBoard};
use polis_view::labels;

use super::about::LONG;
use super::board_url::{self, Wish};
use super::render_cache::failed;
use super::{Asked, Call, lacks};
use crate::error_page::{OrRefuse as _, Refused};
use crate::excerpt;
use crate::form_idempotency;
use crate::layout::{Tab, page};
use crate::time_ago::ago;

/// Maximum number of decisions and of milestones shown.
const MOST: usize = 50;
/// Maximum displayed length of a name, a title or a list of names.
const LINE: usize = 512;

/// Milestones and decisions of a board.
#[derive(Debug)]
pub(super) struct Plans {
    /// The milestones.
    pub(super) milestones: Vec<Milestone>,
    /// The decisions.
    pub(super) decisions: Vec<Decision>,
    /// Whether the reader's signature counts.
    pub(super) signs: bool,
}

/// Returns the milestones and decisions of the board; a long board is parsed on a blocking thread.
pub(super) async fn found(call: &Call, bytes: usize) -> Result<Plans, Refused> {
    let (polis, me) = (call.visit.polis.clone(), call.visit.me.clone());
    let of = OfBoard {
        board: call.board.clone(),
    };
    let look = async move {
        let milestones = op::board_milestones(&polis, &me, &of).await?.milestones;
        let decisions = op::board_decisions(&polis, &me, &of).await?.decisions;
        // The signers are not loaded if there is nothing to sign.
        let signs = !decisions.is_empty() && op::may_sign(&polis, &me).await?;
        Ok(Plans {
            milestones,
            decisions,
            signs,
        })
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

/// Renders a name or a title, truncated.
fn line(text: &str) -> Markup {
    let shown = excerpt::beginning(text, LINE);
    html! { (shown) @if shown.len() < text.len() { "…" } }
}

/// Note below a truncated list.
fn more(call: &Call, of: usize) -> Markup {
    let hidden = of.saturating_sub(MOST);
    html! {
        @if hidden > 0 {
            p.muted.small { (call.visit.say(
                format!("{hidden} more stand in the board's text."),
                format!("另有 {hidden} 项见白板正文。"),
            )) }
        }
    }
}

/// Renders the milestones and how many of them are reached.
pub(super) fn progress(call: &Call, milestones: &[Milestone]) -> Markup {
    let visit = &call.visit;
    let done = milestones.iter().filter(|one| one.done).count();
    html! {
        @if !milestones.is_empty() {
            section.card {
                h2 { (visit.say("Milestones", "里程碑")) span.count { (done) " / " (milestones.len()) } }
                progress max=(milestones.len()) value=(done) aria-label=(visit.say("Milestones reached", "已达成的里程碑")) {}
                ul.list { @for one in milestones.iter().take(MOST) { (milestone(call, one)) } }
                (more(call, milestones.len()))
            }
        }
    }
}

fn milestone(call: &Call, one: &Milestone) -> Markup {
    let visit = &call.visit;
    // The button has to submit the whole title; a milestone with such a long title can be completed in the text.
    let offered = call.may_change() && one.title.len() <= LINE;
    let reached = visit.say("Reached", "达成");
    html! {
        li.row data-milestone=(excerpt::beginning(&one.title, LINE)) {
            span.tick.done[one.done] aria-hidden="true" { @if one.done { "☑" } @else { "☐" } }
            span.grow { b { (line(&one.title)) } @if !one.description.is_empty() { " " span.muted { (line(&one.description)) } } }
            @if one.done { span.pill.good { (visit.say("reached", "已达成")) } }
            @else if offered {
                form method="post" action=(board_url::to(&call.board, Wish::Milestone)) {
                    input type="hidden" name="csrf" value=(visit.csrf);
                    input type="hidden" name="title" value=(one.title);
                    button.small aria-label={ (reached) ": " (one.title) } { (reached) }
                }
            }
        }
    }
}

/// Renders the decisions, newest first, because the newest ones are those that need signatures.
pub(super) fn votes(call: &Call, plans: &Plans) -> Markup {
    let (visit, decisions) = (&call.visit, &plans.decisions);
    html! {
        @if !decisions.is_empty() {
            section.card #decisions {
                h2 { (visit.say("Decisions", "决策")) span.count { (decisions.len()) } }
                @for decision in decisions.iter().rev().take(MOST) {
                    (vote(call, decision, plans.signs, excerpt::LEAD, Some(&board_url::decision(&call.board, &decision.id))))
                }
                (more(call, decisions.len()))
            }
        }
    }
}

/// Renders a decision with its actions and an excerpt of its text; `all` links to the full text.
fn vote(call: &Call, decision: &Decision, signs: bool, most: usize, all: Option<&str>) -> Markup {
    let visit = &call.visit;
    let names = |names: &[String]| line(&names.join(visit.say(", ", "、")));
    let status = labels::decision(decision.status, visit.lang());
    let class = format!("pill status-{}", decision.status.as_str());
    html! {
        article.decision data-decision=(excerpt::beginning(&decision.id, LINE)) {
            div.row { b { "#" (line(&decision.id)) } span class=(class) { (status) }
                @if decision.kind == DecisionKind::Milestone { span.pill.calm { (visit.say("milestone", "里程碑")) } } }
            (excerpt::prose(visit, &decision.content, most, all))
            @if let Some(milestone) = &decision.milestone { p.small { (visit.say("Milestone:", "里程碑：")) " " (line(milestone)) } }
            p.muted.small { (line(&decision.proposer)) " " (proposed(call, decision)) }
            @if !decision.signers.is_empty() { p.small { (visit.say("Signed:", "已签署：")) " " (names(&decision.signers)) } }
            @if !decision.vetoed_by.is_empty() { p.small { (visit.say("Vetoed:", "否决：")) " " (names(&decision.vetoed_by)) } }
            @if let Some(reason) = &decision.reason { div.small { (excerpt::prose(visit, reason, most, all)) } }
            @if call.may_change() && decision.id.len() <= LINE { (acts(call, decision, signs)) }
        }
    }
}

/// Renders the possible actions on a decision; `signs` is whether the reader's signature counts.
fn acts(call: &Call, decision: &Decision, signs: bool) -> Markup {
    let visit = &call.visit;
    let open = matches!(
        decision.status,
        DecisionStatus::Pending | DecisionStatus::Appealing
    );
    let mut signers = decision.signers.iter();
    let signed = signers.any(|name| name == visit.me.as_str());
    let appeals = decision.status == DecisionStatus::Rejected
        && (signs || decision.proposer == visit.me.as_str());
    html! {
        @if (open && signs) || appeals {
            div.actions {
                @if open {
                    @if !signed { (act(call, decision, "sign", visit.say("Sign", "签署"), "main")) }
                    form method="get" action=(board_url::to(&call.board, Wish::Decide)) {
                        input type="hidden" name="id" value=(decision.id);
                        button.small.danger name="act" value="veto" { (visit.say("Veto …", "否决……")) }
                    }
                } @else { (act(call, decision, "appeal", visit.say("Appeal", "申请复议"), "")) }
            }
        }
    }
}

/// Renders when a decision was proposed; the text of the record if it is not a timestamp.
fn proposed(call: &Call, decision: &Decision) -> Markup {
    match Timestamp::parse(&decision.time) {
        Some(at) => ago(&call.visit, &at),
        None => line(&decision.time),
    }
}

fn act(call: &Call, decision: &Decision, verb: &str, text: &str, class: &str) -> Markup {
    html! {
        form method="post" action=(board_url::to(&call.board, Wish::Decide)) {
            input type="hidden" name="csrf" value=(call.visit.csrf);
            input type="hidden" name="id" value=(decision.id);
            button class={ "small " (class) } name="act" value=(verb) { (text) }
        }
    }
}

/// Renders the forms for proposing a decision and adding a milestone. They are outside the panel, because a refresh of
/// the panel would discard what was typed.
pub(super) fn forms(call: &Call, writes: bool) -> Markup {
    let visit = &call.visit;
    html! {
        details.card {
            summary { (visit.say("Propose a decision", "提出决策")) }
            form method="post" action=(board_url::to(&call.board, Wish::Decide)) {
                input type="hidden" name="csrf" value=(visit.csrf);
                (form_idempotency::field(visit))
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
                form method="post" action=(board_url::to(&call.board, Wish::Milestone)) {
                    input type="hidden" name="csrf" value=(visit.csrf);
                    (form_idempotency::field(visit))
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

/// Returns the page of a single decision, with a form for the reason if it is to be vetoed: a form inside a refreshed
/// fragment would lose what was typed.
pub(super) async fn alone(call: &Call, asked: &Asked) -> Result<Response, Refused> {
    let Call { visit, board, .. } = call;
    let id = asked.id.as_deref().ok_or_else(|| lacks(call, "id"))?;
    let read = call.house.shelf.read(&visit.polis, &visit.me, board).await;
    let (_, bound) = read.or_refuse(visit)?;
    let plans = found(call, bound.bytes).await?;
    let signs = plans.signs;
    let decision = plans.decisions.into_iter().find(|one| one.id == id);
    let decision = decision.ok_or_else(|| {
        let refusal = Refusal::new(
            Code::DecisionNotFound,
            visit.say(
                "There is no such decision on this board.",
                "该白板上没有这项决策。",
            ),
            visit.say("go back to the board", "请返回白板"),
        );
        Refused::of(visit, refusal.into())
    })?;
    let veto = asked.act == "veto";
    let own = call.clone();
    let shown = excerpt::drawn(visit, move |visit| match veto {
        true => html! {
            (excerpt::prose(visit, &decision.content, excerpt::WHOLE, None))
            p.muted.small { (line(&decision.proposer)) " " (proposed(&own, &decision)) }
        },
        false => vote(&own, &decision, signs, excerpt::WHOLE, None),
    });
    let body = html! {
        p { a href=(board_url::of(board)) { "← " (board) } }
        div.card { (shown.await?) }
        @if veto { (why(call, id)) }
    };
    let id = excerpt::beginning(id, LINE);
    let title = match veto {
        true => visit.say(format!("Veto decision #{id}"), format!("否决决策 #{id}")),
        false => visit.say(format!("Decision #{id}"), format!("决策 #{id}")),
    };
    Ok(page(visit, Tab::Boards, &title, "", &body))
}

fn why(call: &Call, id: &str) -> Markup {
    let Call { visit, board, .. } = call;
    html! {
        form #veto.card method="post" action=(board_url::to(board, Wish::Decide)) {
            input type="hidden" name="csrf" value=(visit.csrf);
            input type="hidden" name="id" value=(id);
            label for="reason" { (visit.say("Why", "理由")) }
            textarea #reason name="reason" rows="4" required autofocus {}
            div.actions {
                button.danger name="act" value="veto" { (visit.say("Veto", "否决")) }
                a.button.quiet href=(board_url::of(board)) { (visit.say("Back", "返回")) }
            }
        }
    }
}
