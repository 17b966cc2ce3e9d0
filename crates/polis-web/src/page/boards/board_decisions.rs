//! Renders the milestones and decisions of a board with the buttons for acting on them, the page of a single
//! decision (also the form for a veto), and the forms to propose a decision or add a milestone. The requests
//! are handled by `board_actions`.
//!
//! All of it is parsed from the board's text, which agents write, so every piece of text is truncated.

use std::sync::Arc;

use axum::response::Response;
use maud::{Markup, html};
use polis_core::board::{BoardDecision, DecisionKind, DecisionStatus, Milestone};
use polis_core::{Refusal, Timestamp};
use polis_i18n::msg;
use polis_ops::op::{self, BoardNameParams};
use polis_view::labels;

use super::board_panel::DEFERRED_PANEL_BYTES;
use super::board_url::{self, BoardViewKind};
use super::render_cache::render_failed;
use super::{BoardQuery, BoardRequest, missing_field_error};
use crate::component::excerpt;
use crate::component::time_ago::render_time_ago;
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::{Tab, tab_page};
use crate::refusal_tables::PageRefusal;
use crate::request::form_idempotency;

/// Maximum number of decisions and of milestones shown.
const MAX_SHOWN_ITEMS: usize = 50;
/// Maximum displayed length of a name, a title or a list of names.
const MAX_LINE_BYTES: usize = 512;

/// Milestones and decisions of a board.
#[derive(Debug)]
pub(super) struct DecisionsAndMilestones {
    /// Milestones, in the order of the text.
    pub(super) milestones: Vec<Milestone>,
    /// Decisions, in the order of the text: the newest is last.
    pub(super) decisions: Vec<BoardDecision>,
    /// Whether the reader's signature counts.
    pub(super) reader_may_sign: bool,
}

/// Returns the milestones and decisions of the board; a long board is parsed on a blocking thread.
pub(super) async fn load_decisions_and_milestones(
    call: &BoardRequest,
    bytes: usize,
) -> Result<DecisionsAndMilestones, PageError> {
    let request = Arc::clone(&call.context.request);
    let params = BoardNameParams {
        board: call.board.clone(),
    };
    let load = async move {
        let milestones = op::list_milestones(&request, &params).await?.milestones;
        let decisions = op::list_decisions(&request, &params).await?.decisions;
        // The signers are not loaded if there is nothing to sign.
        let reader_may_sign = !decisions.is_empty() && op::may_sign(&request).await?;
        Ok(DecisionsAndMilestones {
            milestones,
            decisions,
            reader_may_sign,
        })
    };
    if bytes <= DEFERRED_PANEL_BYTES {
        return load.await.or_page_error(&call.context);
    }
    let runtime = tokio::runtime::Handle::current();
    let found = tokio::task::spawn_blocking(move || runtime.block_on(load)).await;
    found
        .map_err(|error| render_failed(&error))
        .flatten()
        .or_page_error(&call.context)
}

/// Renders a name or a title, truncated.
fn render_truncated_line(text: &str) -> Markup {
    let visible = excerpt::truncate_text(text, MAX_LINE_BYTES);
    html! { (visible) @if visible.len() < text.len() { "…" } }
}

/// Note below a truncated list.
fn render_more_note(call: &BoardRequest, total: usize) -> Markup {
    let hidden = total.saturating_sub(MAX_SHOWN_ITEMS);
    html! {
        @if hidden > 0 {
            p.muted.small { (msg::board_decisions_hidden(call.context.lang(), hidden)) }
        }
    }
}

/// Renders the milestones and how many of them are reached.
pub(super) fn render_milestones(call: &BoardRequest, milestones: &[Milestone]) -> Markup {
    let context = &call.context;
    let done = milestones.iter().filter(|one| one.done).count();
    html! {
        @if !milestones.is_empty() {
            section.card {
                h2 { (msg::board_milestones_title(context.lang())) span.count { (done) " / " (milestones.len()) } }
                progress max=(milestones.len()) value=(done) aria-label=(msg::board_milestones_reached(context.lang())) {}
                ul.list { @for one in milestones.iter().take(MAX_SHOWN_ITEMS) { (render_milestone(call, one)) } }
                (render_more_note(call, milestones.len()))
            }
        }
    }
}

fn render_milestone(call: &BoardRequest, one: &Milestone) -> Markup {
    let context = &call.context;
    // The button has to submit the whole title; a milestone with such a long title can be completed in the
    // text.
    let offered = call.scopes_allow_write() && one.title.len() <= MAX_LINE_BYTES;
    let label = msg::board_milestone_mark_reached(context.lang());
    html! {
        li.row data-milestone=(excerpt::truncate_text(&one.title, MAX_LINE_BYTES)) {
            span.tick.done[one.done] aria-hidden="true" { @if one.done { "☑" } @else { "☐" } }
            span.grow { b { (render_truncated_line(&one.title)) } @if !one.description.is_empty() { " " span.muted { (render_truncated_line(&one.description)) } } }
            @if one.done { span.pill.good { (msg::board_milestone_reached(context.lang())) } }
            @else if offered {
                form method="post" action=(board_url::board_view_url(&call.board, BoardViewKind::Milestone)) {
                    input type="hidden" name="csrf" value=(context.csrf);
                    input type="hidden" name="title" value=(one.title);
                    button.small aria-label={ (label) ": " (one.title) } { (label) }
                }
            }
        }
    }
}

/// Renders the decisions, newest first, because the newest ones are those that need signatures.
pub(super) fn render_decisions(call: &BoardRequest, plans: &DecisionsAndMilestones) -> Markup {
    let (context, decisions) = (&call.context, &plans.decisions);
    html! {
        @if !decisions.is_empty() {
            section.card #decisions {
                h2 { (msg::board_decisions_title(context.lang())) span.count { (decisions.len()) } }
                @for decision in decisions.iter().rev().take(MAX_SHOWN_ITEMS) {
                    (render_decision(call, decision, plans.reader_may_sign, excerpt::LIST_EXCERPT_BYTES, Some(&board_url::decision_url(&call.board, &decision.id))))
                }
                (render_more_note(call, decisions.len()))
            }
        }
    }
}

/// Renders a decision with its actions and an excerpt of its text; `all` links to the full text.
fn render_decision(
    call: &BoardRequest,
    decision: &BoardDecision,
    may_sign: bool,
    max_bytes: usize,
    all: Option<&str>,
) -> Markup {
    let context = &call.context;
    let names = |names: &[String]| {
        render_truncated_line(&names.join(msg::common_list_separator(context.lang())))
    };
    let status = labels::decision_status_label(decision.status, context.lang());
    let class = format!("pill status-{}", decision.status.as_str());
    html! {
        article.decision data-decision=(excerpt::truncate_text(&decision.id, MAX_LINE_BYTES)) {
            div.row { b { "#" (render_truncated_line(&decision.id)) } span class=(class) { (status) }
                @if decision.kind == DecisionKind::Milestone { span.pill.calm { (msg::board_decision_milestone_mark(context.lang())) } } }
            (excerpt::render_markdown_excerpt(context, &decision.content, max_bytes, all))
            @if let Some(milestone) = &decision.milestone { p.small { (msg::board_decision_milestone_label(context.lang())) " " (render_truncated_line(milestone)) } }
            p.muted.small { (render_truncated_line(&decision.proposer)) " " (render_proposal_time(call, decision)) }
            @if !decision.signers.is_empty() { p.small { (msg::board_decision_signed_label(context.lang())) " " (names(&decision.signers)) } }
            @if !decision.vetoed_by.is_empty() { p.small { (msg::board_decision_vetoed_label(context.lang())) " " (names(&decision.vetoed_by)) } }
            @if let Some(reason) = &decision.reason { div.small { (excerpt::render_markdown_excerpt(context, reason, max_bytes, all)) } }
            @if call.scopes_allow_write() && decision.id.len() <= MAX_LINE_BYTES { (render_decision_actions(call, decision, may_sign)) }
        }
    }
}

/// Renders the possible actions on a decision; `may_sign` is whether the reader's signature counts.
fn render_decision_actions(
    call: &BoardRequest,
    decision: &BoardDecision,
    may_sign: bool,
) -> Markup {
    let context = &call.context;
    let open = matches!(
        decision.status,
        DecisionStatus::Pending | DecisionStatus::Appealing
    );
    let mut signers = decision.signers.iter();
    let signed = signers.any(|name| name == context.me.as_str());
    let may_appeal = decision.status == DecisionStatus::Rejected
        && (may_sign || decision.proposer == context.me.as_str());
    html! {
        @if (open && may_sign) || may_appeal {
            div.actions {
                @if open {
                    @if !signed { (render_decision_button(call, decision, "sign", msg::board_decision_sign(context.lang()), "main")) }
                    form method="get" action=(board_url::board_view_url(&call.board, BoardViewKind::Decide)) {
                        input type="hidden" name="id" value=(decision.id);
                        button.small.danger name="act" value="veto" { (msg::board_decision_veto_link(context.lang())) }
                    }
                } @else { (render_decision_button(call, decision, "appeal", msg::board_decision_appeal(context.lang()), "")) }
            }
        }
    }
}

/// Renders when a decision was proposed; the text of the record if it is not a timestamp.
fn render_proposal_time(call: &BoardRequest, decision: &BoardDecision) -> Markup {
    match Timestamp::parse(&decision.time) {
        Some(at) => render_time_ago(&call.context, &at),
        None => render_truncated_line(&decision.time),
    }
}

fn render_decision_button(
    call: &BoardRequest,
    decision: &BoardDecision,
    verb: &str,
    text: &str,
    class: &str,
) -> Markup {
    html! {
        form method="post" action=(board_url::board_view_url(&call.board, BoardViewKind::Decide)) {
            input type="hidden" name="csrf" value=(call.context.csrf);
            input type="hidden" name="id" value=(decision.id);
            button class={ "small " (class) } name="act" value=(verb) { (text) }
        }
    }
}

/// Renders the forms for proposing a decision and adding a milestone. They are outside the panel, because a
/// refresh of the panel would discard what was typed.
pub(super) fn render_proposal_forms(call: &BoardRequest, writes: bool) -> Markup {
    let context = &call.context;
    html! {
        details.card {
            summary { (msg::board_propose_decision(context.lang())) }
            form method="post" action=(board_url::board_view_url(&call.board, BoardViewKind::Decide)) {
                input type="hidden" name="csrf" value=(context.csrf);
                (form_idempotency::render_idempotency_key_field(context))
                label for="proposal" { (msg::board_decision_text_field(context.lang())) }
                textarea #proposal name="content" rows="3" required {}
                label for="proposal-of" { (msg::board_decision_milestone_field(context.lang())) }
                input #proposal-of name="title";
                div.actions { button name="act" value="propose" { (msg::board_decision_propose(context.lang())) } }
            }
        }
        @if writes {
            details.card {
                summary { (msg::board_add_milestone(context.lang())) }
                form method="post" action=(board_url::board_view_url(&call.board, BoardViewKind::Milestone)) {
                    input type="hidden" name="csrf" value=(context.csrf);
                    (form_idempotency::render_idempotency_key_field(context))
                    label for="milestone" { (msg::board_milestone_title_field(context.lang())) }
                    input #milestone name="title" required;
                    label for="milestone-of" { (msg::board_milestone_description_field(context.lang())) }
                    input #milestone-of name="content";
                    div.actions { button name="add" value="1" { (msg::board_milestone_add(context.lang())) } }
                }
            }
        }
    }
}

/// Returns the page of a single decision, with a form for the reason if it is to be vetoed: a form inside a
/// refreshed fragment would lose what was typed.
pub(super) async fn show_decision(
    call: &BoardRequest,
    query: &BoardQuery,
) -> Result<Response, PageError> {
    let BoardRequest { context, board, .. } = call;
    let id = query
        .id
        .as_deref()
        .ok_or_else(|| missing_field_error(call, "id"))?;
    let read = call
        .state
        .render_cache
        .read_rendered(&context.request, board)
        .await;
    let (_, rendered) = read.or_page_error(context)?;
    let plans = load_decisions_and_milestones(call, rendered.bytes).await?;
    let may_sign = plans.reader_may_sign;
    let decision = plans.decisions.into_iter().find(|one| one.id == id);
    let decision = decision.ok_or_else(|| {
        let refusal = Refusal::from(PageRefusal::DecisionNotFound);
        PageError::new(context, refusal.into())
    })?;
    let veto = query.act == "veto";
    let owned_call = call.clone();
    let markup = excerpt::render_blocking(context, move |context| {
        if veto {
            html! {
                (excerpt::render_markdown_excerpt(context, &decision.content, excerpt::MAX_PAGE_TEXT_BYTES, None))
                p.muted.small { (render_truncated_line(&decision.proposer)) " " (render_proposal_time(&owned_call, &decision)) }
            }
        } else {
            render_decision(
                &owned_call,
                &decision,
                may_sign,
                excerpt::MAX_PAGE_TEXT_BYTES,
                None,
            )
        }
    });
    let body = html! {
        p { a href=(board_url::board_url(board)) { "← " (board) } }
        div.card { (markup.await?) }
        @if veto { (render_veto_form(call, id)) }
    };
    let id = excerpt::truncate_text(id, MAX_LINE_BYTES);
    let title = if veto {
        msg::board_veto_title(context.lang(), id)
    } else {
        msg::board_decision_title(context.lang(), id)
    };
    Ok(tab_page(context, Tab::Boards, &title, "", &body))
}

fn render_veto_form(call: &BoardRequest, id: &str) -> Markup {
    let BoardRequest { context, board, .. } = call;
    html! {
        form #veto.card method="post" action=(board_url::board_view_url(board, BoardViewKind::Decide)) {
            input type="hidden" name="csrf" value=(context.csrf);
            input type="hidden" name="id" value=(id);
            label for="reason" { (msg::board_veto_reason_field(context.lang())) }
            textarea #reason name="reason" rows="4" required autofocus {}
            div.actions {
                button.danger name="act" value="veto" { (msg::board_decision_veto(context.lang())) }
                a.button.quiet href=(board_url::board_url(board)) { (msg::common_back(context.lang())) }
            }
        }
    }
}
