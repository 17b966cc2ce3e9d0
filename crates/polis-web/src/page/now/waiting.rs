//! Items that need a person's attention, as cards with their actions.
//!
//! Cards have stable ids, so that new and finished ones are inserted and removed while the others stay. A card in which
//! the reader has started to type is not replaced (`polis.js`).

use axum::response::Response;
use maud::{Markup, html};
use polis_core::message::Message;
use polis_core::society::approval::Approval;
use polis_core::task::TaskSummary;
use polis_core::token::{Access, Area};
use polis_core::{Code, Refusal, RunId};
use polis_ops::op::{self, AgentNow, ListApprovals, OpenDecision, Waiting};
use polis_view::labels;
use serde::Deserialize;

use crate::error_page::{OrRefuse as _, Refused};
use crate::excerpt;
use crate::extract::Query;
use crate::form_idempotency;
use crate::layout::{Tab, page};
use crate::page::boards::board_url;
use crate::request_context::Visit;
use crate::time_ago::ago;
use crate::timeline::somebody;
use crate::url::asking;

/// Maximum number of approvals, paused members and messages shown at once.
const SHOWN: usize = 20;

/// Returns the URL of an approval's own page.
fn approval_at(id: &str) -> String {
    asking("/now/approval", &[("id", id)])
}

/// Query parameters of [`approval`].
#[derive(Debug, Deserialize)]
pub(super) struct Which {
    id: String,
}

/// Returns the page of a call that needs approval, with its full arguments.
pub(super) async fn approval(
    visit: Visit,
    Query(which): Query<Which>,
) -> Result<Response, Refused> {
    visit.check(Area::Society, Access::Read)?;
    let all = op::list_approvals(&visit.polis, &visit.me, &ListApprovals::default()).await;
    let mut all = all.or_refuse(&visit)?.approvals.into_iter();
    let Some(found) = all.find(|approval| approval.id == which.id) else {
        let refusal = Refusal::new(
            Code::ApprovalNotFound,
            "This call does not wait any more.",
            "go back to what waits",
        );
        return Err(Refused::of(&visit, refusal.into()));
    };
    let body = html! {
        p { a href="/" { "← " (visit.say("Now", "此刻")) } }
        p { (somebody(found.agent.as_str())) " " code { (found.tool) } " " span.small { (ago(&visit, &found.asked_at)) } }
        (excerpt::data(&visit, &found.arguments, excerpt::WHOLE, None))
    };
    let title = visit.say("A call that has to be allowed", "需要批准的调用");
    Ok(page(&visit, Tab::Now, title, "", &body))
}

/// Renders the cards as part of the page.
pub(super) fn section(visit: &Visit, waiting: &Waiting) -> Markup {
    html! { div #waiting { (cards(visit, waiting)) } }
}

/// Renders the cards as an out-of-band swap that accompanies another fragment. Text typed into a card is kept.
pub(super) fn beside(visit: &Visit, waiting: &Waiting) -> Markup {
    // Not `morph:outerHTML`: in this attribute htmx interprets the part after the colon as a selector.
    html! { div #waiting hx-swap-oob="morph" { (cards(visit, waiting)) } }
}

fn cards(visit: &Visit, waiting: &Waiting) -> Markup {
    let many = waiting.approvals.len()
        + waiting.held.len()
        + waiting.questions.len()
        + waiting.stale.len()
        + waiting.to_approve.len()
        + waiting.decisions.len();
    html! {
        h2 { (visit.say("Waits for you", "等待您处理")) " " span.count { (many) } }
        @if many == 0 {
            p.muted { (visit.say("Nothing waits for a person.", "没有需要人处理的事项。")) }
        }
        div.grid {
            @for approval in waiting.approvals.iter().take(SHOWN) { (to_allow(visit, approval)) }
            @for member in waiting.held.iter().take(SHOWN) { (held(visit, member)) }
            @for question in waiting.questions.iter().take(SHOWN) { (asked(visit, question)) }
            @for task in &waiting.to_approve { (to_approve(visit, task)) }
            @for task in &waiting.stale { (stale(visit, task)) }
            @for open in &waiting.decisions { (to_sign(visit, open)) }
        }
        @let more = [waiting.approvals.len(), waiting.held.len(), waiting.questions.len()]
            .into_iter().map(|count| count.saturating_sub(SHOWN)).sum::<usize>();
        @if more > 0 {
            p.muted { (visit.say(
                format!("{more} more wait; they come up when some of these are done with."),
                format!("还有 {more} 项等待处理，处理完上面的即会显示。"),
            )) }
        }
    }
}

/// Renders the form of a card. htmx submits it and then refreshes the page's fragments; without htmx it is a plain
/// form. It is omitted if the session may not perform the action.
fn form(visit: &Visit, area: Area, to: &str, inside: &Markup) -> Markup {
    if !visit.may_change(&[area]) {
        return html! {};
    }
    html! {
        form method="post" action=(to) hx-post=(to) hx-target="#moving" hx-swap="morph:outerHTML" {
            input type="hidden" name="csrf" value=(visit.csrf);
            (inside)
        }
    }
}

/// Renders a tool call that needs approval.
fn to_allow(visit: &Visit, approval: &Approval) -> Markup {
    let note = visit.say("a word to the agent (optional)", "给智能体的话（可选）");
    html! {
        article.card id={ "approval-" (slug(&approval.id)) } data-approval=(approval.id) {
            p { (somebody(approval.agent.as_str())) " "
                (visit.say("asks to be allowed", "请求批准")) " " code { (approval.tool) }
                " " span.small { (ago(visit, &approval.asked_at)) } }
            (excerpt::data(visit, &approval.arguments, excerpt::CARD, Some(&approval_at(&approval.id))))
            (form(visit, Area::Society, "/now/approvals", &html! {
                input type="hidden" name="id" value=(approval.id);
                p { input name="note" aria-label=(note) placeholder=(note); }
                div.actions {
                    button.main name="decision" value="allow" { (visit.say("Allow", "允许")) }
                    button.danger name="decision" value="deny" { (visit.say("Deny", "拒绝")) }
                }
            }))
        }
    }
}

/// Renders a member that continues only when the person resumes it.
fn held(visit: &Visit, member: &AgentNow) -> Markup {
    let run = member.run.as_ref().map_or("", RunId::as_str);
    html! {
        article.card id={ "held-" (slug(&format!("{run} {}", member.id))) } data-held=(member.id) {
            p { (somebody(member.id.as_str())) " " span class={ "pill status-" (member.status.as_str()) } { (labels::member(member.status, visit.lang())) } }
            @if let Some(why) = &member.why { p.small { (excerpt::beginning(why, excerpt::LEAD)) } }
            (form(visit, Area::Society, "/now/resume", &html! {
                input type="hidden" name="run" value=(run);
                input type="hidden" name="agent" value=(member.id);
                div.actions { button.main { (visit.say("Resume", "继续")) } }
            }))
        }
    }
}

/// Renders an unanswered message.
fn asked(visit: &Visit, message: &Message) -> Markup {
    let label = visit.say("Answer", "回复");
    html! {
        article.card id={ "question-" (message.id) } data-question=(message.id) {
            p { (somebody(message.from.as_str())) " " (visit.say("wrote", "写道"))
                " " span.small { (ago(visit, &message.created_at)) } }
            (excerpt::letter(visit, message, excerpt::CARD))
            (form(visit, Area::Messages, "/now/answer", &html! {
                (form_idempotency::field(visit))
                input type="hidden" name="id" value=(message.id);
                p { textarea name="text" rows="2" required aria-label=(label) placeholder=(label) {} }
                div.actions {
                    button.main { (visit.say("Send answer", "发送回复")) }
                    button.quiet formaction="/now/aside" formnovalidate hx-post="/now/aside" hx-target="#moving" hx-swap="morph:outerHTML" {
                        (visit.say("Lay aside", "搁置")) }
                }
            }))
        }
    }
}

/// Renders a task whose completion needs approval.
fn to_approve(visit: &Visit, task: &TaskSummary) -> Markup {
    html! {
        article.card id={ "approve-" (task.id) } data-approve=(task.id) {
            p { (headline(visit, task)) }
            p.small { (somebody(&task.owner)) " " (visit.say("wants to complete it; it has to be approved first.", "希望完成它，需要先批准。")) }
            (form(visit, Area::Tasks, "/now/approve", &html! {
                input type="hidden" name="id" value=(task.id);
                input type="hidden" name="version" value=(task.version);
                div.actions { button.main { (visit.say("Approve", "批准")) } }
            }))
        }
    }
}

/// Renders a task whose owner let the lease expire.
fn stale(visit: &Visit, task: &TaskSummary) -> Markup {
    html! {
        article.card id={ "stale-" (task.id) } data-stale=(task.id) {
            p { (headline(visit, task)) }
            p.small { (somebody(&task.owner)) " " (visit.say("let the lease run out", "的租约已过期"))
                @if let Some(at) = &task.lease_expires_at { " · " (ago(visit, at)) } }
            (form(visit, Area::Tasks, "/now/release", &html! {
                input type="hidden" name="id" value=(task.id);
                input type="hidden" name="version" value=(task.version);
                div.actions { button { (visit.say("Release it for others", "释放给他人")) } }
            }))
        }
    }
}

fn headline(visit: &Visit, task: &TaskSummary) -> Markup {
    html! {
        a href={ "/tasks/" (task.id) } { "#" (task.id) " " (task.subject) }
        @if let Some(kind) = task.task_type { " " span.pill { (labels::task_type(kind, visit.lang())) } }
    }
}

/// Renders a decision that needs signatures; it is signed on its own page, where its full text can be read.
fn to_sign(visit: &Visit, open: &OpenDecision) -> Markup {
    let lead = excerpt::beginning(&open.decision.content, excerpt::LEAD);
    html! {
        article.card id={ "decision-" (slug(&format!("{} {}", open.board, open.decision.id))) } data-decision=(open.decision.id) {
            p { (visit.say("Decision", "决策")) " " b { (open.decision.id) } " · "
                a href=(board_url::of(&open.board)) { (open.board) } }
            p.small { (lead) @if lead.len() < open.decision.content.len() { "…" } }
            p.small.muted { (visit.say("proposed by", "提出者")) " " (open.decision.proposer) }
            div.actions { a.button href=(board_url::decision(&open.board, &open.decision.id)) { (visit.say("Look at it", "查看")) } }
        }
    }
}

/// Converts a name to an element id.
fn slug(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    text.chars().map(plain).collect()
}
