//! Cards for the items that need the person's attention: call approvals, paused members, questions, task
//! approvals and stale tasks, each with its form, and decisions, with a link to their page. Also the page of
//! one call approval with its full arguments. `attention_actions` handles the forms.
//!
//! Cards have stable ids, so that new and finished ones are inserted and removed while the others stay. A
//! field in which the reader has started to type is kept; the rest of its card is updated (`polis.js`).

use axum::response::Response;
use maud::{Markup, html};
use polis_core::message::Message;
use polis_core::society::call_approval::CallApproval;
use polis_core::task::TaskSummary;
use polis_core::token::OperationArea;
use polis_core::{Refusal, RunId};
use polis_i18n::msg;
use polis_ops::op::{self, AgentActivity, AttentionItems, ListApprovalsParams, OpenDecision};
use polis_view::labels;
use serde::Deserialize;

use crate::component::excerpt;
use crate::component::time_ago::render_time_ago;
use crate::component::timeline::render_agent_link;
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::{Tab, tab_page};
use crate::page::boards::board_url;
use crate::page::tasks::render_priority_pill;
use crate::refusal_tables::PageRefusal;
use crate::request::extract::QueryParams;
use crate::request::form_idempotency;
use crate::request::request_context::RequestContext;
use crate::url::url_with_query;

/// Maximum number of approvals, paused members and messages shown at once.
const MAX_CARDS_PER_KIND: usize = 20;

/// Returns the URL of an approval's own page.
fn approval_url(id: &str) -> String {
    url_with_query("/overview/approval", &[("id", id)])
}

/// Query parameters of [`show_approval`].
#[derive(Debug, Deserialize)]
pub(super) struct ApprovalQuery {
    id: String,
}

/// Returns the page of a call that needs approval, with its full arguments.
pub(super) async fn show_approval(
    context: RequestContext,
    QueryParams(query): QueryParams<ApprovalQuery>,
) -> Result<Response, PageError> {
    let all = op::list_approvals(&context.request, &ListApprovalsParams::default()).await;
    let mut all = all.or_page_error(&context)?.approvals.into_iter();
    let Some(found) = all.find(|approval| approval.id == query.id) else {
        let refusal = Refusal::from(PageRefusal::ApprovalGone);
        return Err(PageError::new(&context, refusal.into()));
    };
    let body = html! {
        p { a href="/" { "← " (msg::common_tab_overview(context.lang())) } }
        p { (render_agent_link(found.agent.as_str())) " " code { (found.tool) } " " span.small { (render_time_ago(&context, &found.asked_at)) } }
        (excerpt::render_json_excerpt(&context, &found.arguments, excerpt::MAX_PAGE_TEXT_BYTES, None))
    };
    let title = msg::approval_card_title(context.lang());
    Ok(tab_page(&context, Tab::Overview, title, "", &body))
}

/// Renders the cards as part of the page.
pub(super) fn render_attention_section(
    context: &RequestContext,
    attention: &AttentionItems,
) -> Markup {
    html! { div #attention { (render_cards(context, attention)) } }
}

/// Renders the cards as an out-of-band swap that accompanies another fragment. Text typed into a card is
/// kept.
pub(super) fn render_attention_swap(
    context: &RequestContext,
    attention: &AttentionItems,
) -> Markup {
    // Not `morph:outerHTML`: in this attribute htmx interprets the part after the colon as a selector.
    html! { div #attention hx-swap-oob="morph" { (render_cards(context, attention)) } }
}

fn render_cards(context: &RequestContext, attention: &AttentionItems) -> Markup {
    let total = attention.approvals.len()
        + attention.blocked_members.len()
        + attention.questions.len()
        + attention.stale_tasks.len()
        + attention.tasks_to_approve.len()
        + attention.decisions.len();
    html! {
        h2 { (msg::overview_needs_attention(context.lang())) " " span.count { (total) } }
        @if total == 0 {
            p.muted { (msg::overview_nothing_needs_attention(context.lang())) }
        }
        div.grid {
            @for approval in attention.approvals.iter().take(MAX_CARDS_PER_KIND) { (render_call_approval(context, approval)) }
            @for member in attention.blocked_members.iter().take(MAX_CARDS_PER_KIND) { (render_paused_member(context, member)) }
            @for question in attention.questions.iter().take(MAX_CARDS_PER_KIND) { (render_question(context, question)) }
            @for task in &attention.tasks_to_approve { (render_task_approval(context, task)) }
            @for task in &attention.stale_tasks { (render_stale_task(context, task)) }
            @for open in &attention.decisions { (render_open_decision(context, open)) }
        }
        @let more = [attention.approvals.len(), attention.blocked_members.len(), attention.questions.len()]
            .into_iter().map(|count| count.saturating_sub(MAX_CARDS_PER_KIND)).sum::<usize>();
        @if more > 0 {
            p.muted { (msg::overview_items_hidden(context.lang(), more)) }
        }
    }
}

/// Renders the form of a card. htmx submits it and then refreshes the page's fragments; without htmx it is a
/// plain form. It is omitted if the session may not perform the action.
fn render_card_form(
    context: &RequestContext,
    area: OperationArea,
    to: &str,
    content: &Markup,
) -> Markup {
    if !context.may_write(&[area]) {
        return html! {};
    }
    html! {
        form method="post" action=(to) hx-post=(to) hx-target="#moving" hx-swap="morph:outerHTML" {
            input type="hidden" name="csrf" value=(context.csrf);
            (content)
        }
    }
}

/// Renders a tool call that needs approval.
fn render_call_approval(context: &RequestContext, approval: &CallApproval) -> Markup {
    let note = msg::approval_note_field(context.lang());
    html! {
        article.card id={ "approval-" (element_id(&approval.id)) } data-approval=(approval.id) {
            p { (render_agent_link(approval.agent.as_str())) " "
                (msg::approval_requested_for(context.lang())) " " code { (approval.tool) }
                " " span.small { (render_time_ago(context, &approval.asked_at)) } }
            (excerpt::render_json_excerpt(context, &approval.arguments, excerpt::CARD_EXCERPT_BYTES, Some(&approval_url(&approval.id))))
            (render_card_form(context, OperationArea::Society, "/overview/approvals", &html! {
                input type="hidden" name="id" value=(approval.id);
                p { input name="note" aria-label=(note) placeholder=(note); }
                div.actions {
                    button.main name="decision" value="allow" { (msg::approval_allow(context.lang())) }
                    button.danger name="decision" value="deny" { (msg::approval_deny(context.lang())) }
                }
            }))
        }
    }
}

/// Renders a paused or parked member, which continues only when the person resumes it.
fn render_paused_member(context: &RequestContext, member: &AgentActivity) -> Markup {
    let run = member.run.as_ref().map_or("", RunId::as_str);
    html! {
        article.card id={ "held-" (element_id(&format!("{run} {}", member.id))) } data-held=(member.id) {
            p { (render_agent_link(member.id.as_str())) " " span class={ "pill status-" (member.status.as_str()) } { (labels::member_status_label(member.status, context.lang())) } }
            @if let Some(why) = member.reason_text(context.lang()) { p.small { (excerpt::truncate_text(&why, excerpt::LIST_EXCERPT_BYTES)) } }
            (render_card_form(context, OperationArea::Society, "/overview/resume", &html! {
                input type="hidden" name="run" value=(run);
                input type="hidden" name="agent" value=(member.id);
                div.actions { button.main { (msg::agent_resume(context.lang())) } }
            }))
        }
    }
}

/// Renders an unanswered message.
fn render_question(context: &RequestContext, message: &Message) -> Markup {
    let label = msg::message_reply(context.lang());
    html! {
        article.card id={ "question-" (message.id) } data-question=(message.id) {
            p { (render_agent_link(message.from.as_str())) " " (msg::message_wrote(context.lang()))
                " " span.small { (render_time_ago(context, &message.created_at)) } }
            (excerpt::render_message_excerpt(context, message, excerpt::CARD_EXCERPT_BYTES))
            (render_card_form(context, OperationArea::Messages, "/overview/reply", &html! {
                (form_idempotency::render_idempotency_key_field(context))
                input type="hidden" name="id" value=(message.id);
                p { textarea name="text" rows="2" required aria-label=(label) placeholder=(label) {} }
                div.actions {
                    button.main { (msg::message_send_reply(context.lang())) }
                    button.quiet formaction="/overview/dismiss" formnovalidate hx-post="/overview/dismiss" hx-target="#moving" hx-swap="morph:outerHTML" {
                        (msg::message_dismiss(context.lang())) }
                }
            }))
        }
    }
}

/// Renders a task whose completion needs approval.
fn render_task_approval(context: &RequestContext, task: &TaskSummary) -> Markup {
    html! {
        article.card id={ "approve-" (task.id) } data-approve=(task.id) {
            p { (render_task_headline(context, task)) }
            p.small { (render_agent_link(&task.owner)) " " (msg::overview_wants_to_complete(context.lang())) }
            (render_card_form(context, OperationArea::Tasks, "/overview/approve", &html! {
                input type="hidden" name="id" value=(task.id);
                input type="hidden" name="version" value=(task.version);
                div.actions { button.main { (msg::task_approve(context.lang())) } }
            }))
        }
    }
}

/// Renders a task whose owner let the lease expire.
fn render_stale_task(context: &RequestContext, task: &TaskSummary) -> Markup {
    html! {
        article.card id={ "stale-" (task.id) } data-stale=(task.id) {
            p { (render_task_headline(context, task)) }
            p.small { (render_agent_link(&task.owner)) " " (msg::overview_lease_expired_of(context.lang()))
                @if let Some(at) = &task.lease_expires_at { " · " (render_time_ago(context, at)) } }
            (render_card_form(context, OperationArea::Tasks, "/overview/release", &html! {
                input type="hidden" name="id" value=(task.id);
                input type="hidden" name="version" value=(task.version);
                div.actions { button { (msg::task_release(context.lang())) } }
            }))
        }
    }
}

fn render_task_headline(context: &RequestContext, task: &TaskSummary) -> Markup {
    html! {
        a href={ "/tasks/" (task.id) } { "#" (task.id) " " (task.subject) }
        " " (render_priority_pill(context, task.priority))
        @if let Some(kind) = task.task_type { " " span.pill { (labels::task_type_label(kind, context.lang())) } }
    }
}

/// Renders a decision that needs signatures; it is signed on its own page, where its full text can be read.
fn render_open_decision(context: &RequestContext, open: &OpenDecision) -> Markup {
    let summary = excerpt::truncate_text(&open.decision.content, excerpt::LIST_EXCERPT_BYTES);
    html! {
        article.card id={ "decision-" (element_id(&format!("{} {}", open.board, open.decision.id))) } data-decision=(open.decision.id) {
            p { (msg::overview_decision_card_title(context.lang())) " " b { (open.decision.id) } " · "
                a href=(board_url::board_url(&open.board)) { (open.board) } }
            p.small { (summary) @if summary.len() < open.decision.content.len() { "…" } }
            p.small.muted { (msg::overview_proposed_by(context.lang())) " " (open.decision.proposer) }
            div.actions { a.button href=(board_url::decision_url(&open.board, &open.decision.id)) { (msg::overview_review(context.lang())) } }
        }
    }
}

/// Converts a name to an element id.
fn element_id(text: &str) -> String {
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    text.chars().map(plain).collect()
}
