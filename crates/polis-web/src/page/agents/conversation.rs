//! Conversation of a member, rendered like a chat: received messages, the model's responses, and each tool
//! call with its result. A page contains some turns; the newest page is updated live, and polled while the
//! member is working.

use axum::response::Response;
use maud::{Markup, PreEscaped, html};
use polis_core::number::saturating_cast;
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{CallOutcome, ModelUsage};
use polis_core::{AgentId, RunId};
use polis_i18n::msg;
use polis_ops::op::{self, ReadConversationParams, TurnView};
use polis_view::conversation::{
    ConversationItem, ItemContent, RenderedCall, RenderedCallResult, conversation_items,
    pretty_print_json,
};
use polis_view::highlight::find_language;
use polis_view::{UiLanguage, number_format, relative_time};
use serde::Deserialize;

use super::member_url;
use crate::component::excerpt;
use crate::component::markdown;
use crate::component::time_ago::render_time_ago;
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::html_fragment;
use crate::request::extract::{PathParams, QueryParams};
use crate::request::request_context::RequestContext;

/// Number of turns per page.
const TURNS_PER_PAGE: u64 = 20;
/// Results longer than this are truncated; `polis society log --full` shows them completely.
const MAX_RESULT_BYTES: usize = 16 * 1024;

/// Maximum amount of markup of a conversation per page.
const MAX_MARKUP_BYTES: usize = 512 << 10;
/// Maximum number of calls shown per response.
const MAX_SHOWN_CALLS: usize = 50;

/// First turn of the page; the newest turns if not given.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct ConversationQuery {
    from: Option<u64>,
}

impl ConversationQuery {
    /// Returns whether the page shows the newest turns and is therefore updated live.
    pub(super) fn shows_newest(&self) -> bool {
        self.from.is_none()
    }
}

/// Returns the conversation fragment, for live updates.
pub(super) async fn refresh_conversation(
    context: RequestContext,
    PathParams((run, id)): PathParams<(RunId, AgentId)>,
    QueryParams(from): QueryParams<ConversationQuery>,
) -> Result<Response, PageError> {
    let one = op::show_member(&context.request, &run, &id).await;
    let one = one.or_page_error(&context)?;
    Ok(html_fragment(
        render_conversation_section(&context, &run, &id, &from, one.status).await?,
    ))
}

/// Renders a page of the conversation, with its pagination and refresh trigger.
pub(super) async fn render_conversation_section(
    context: &RequestContext,
    run: &RunId,
    id: &AgentId,
    from: &ConversationQuery,
    status: MemberStatus,
) -> Result<Markup, PageError> {
    let request = ReadConversationParams {
        agent_id: id.clone(),
        run_id: Some(run.clone()),
        from: from.from,
        limit: u32::try_from(TURNS_PER_PAGE).ok(),
    };
    let conversation = op::read_conversation(&context.request, &request).await;
    let conversation = conversation.or_page_error(context)?;
    let at = member_url(run, id);
    let lang = context.lang();
    let first = conversation.turns.first().map_or(0, |turn| turn.turn);
    // A model's output is not an event, so a working member is polled. Older pages do not change.
    let trigger = match (from.from, status) {
        (Some(_), _) => None,
        (None, MemberStatus::Working) => {
            Some("polis:society from:body, polis:message from:body, every 2s")
        }
        (None, _) => Some("polis:society from:body, polis:message from:body"),
    };
    let (turns, since, newest, agent) = (
        conversation.turns,
        conversation.since,
        from.from.is_none(),
        id.clone(),
    );
    let none = turns.is_empty();
    let rendered = excerpt::render_blocking(context, move |context| {
        render_bubbles(context, &agent, &turns, since, newest)
    });
    let (rendered, cut) = rendered.await?;
    Ok(html! {
        section.card #chat hx-get=[trigger.map(|_| format!("{at}/chat"))] hx-trigger=[trigger] hx-swap="morph:outerHTML" {
            h2 { (msg::conversation_title(lang)) " " span.count { (conversation.total) " " (msg::agent_turns_unit(lang)) } }
            @if first > 0 { p { a.button.small href={ (at) "?from=" (first.saturating_sub(TURNS_PER_PAGE)) } { (msg::common_earlier(lang)) } } }
            @if none { p.muted { (msg::conversation_empty(lang)) } }
            @if let Some(turn) = cut.filter(|_| from.from.is_none()) { (render_omitted_note(context, &at, turn.saturating_sub(TURNS_PER_PAGE - 1))) }
            div.chat role="log" { (rendered) }
            @if let Some(turn) = cut.filter(|_| from.from.is_some()) { (render_omitted_note(context, &at, turn)) }
            @if let Some(next) = conversation.next { p { a.button.small href={ (at) "?from=" (next) } { (msg::conversation_later(lang)) } " "
                a.button.small href=(at) { (msg::common_newest(lang)) } } }
        }
    })
}

/// Renders the bubbles of some turns, as many as a page can show: the newest ones, or the first ones. Also
/// returns the turn of the nearest bubble that was omitted.
fn render_bubbles(
    context: &RequestContext,
    id: &AgentId,
    turns: &[TurnView],
    since: u64,
    newest: bool,
) -> (Markup, Option<u64>) {
    let mut all = conversation_items(turns);
    if newest {
        all.reverse();
    }
    let (mut rendered, mut bytes, mut cut) = (Vec::new(), 0, None);
    for bubble in &all {
        if bytes > MAX_MARKUP_BYTES {
            cut = Some(bubble.turn);
            break;
        }
        let markup = render_bubble(context, id, bubble, since);
        bytes += markup.0.len();
        rendered.push(markup);
    }
    if newest {
        rendered.reverse();
    }
    (html! { @for markup in &rendered { (markup) } }, cut)
}

/// Note that turns were omitted.
fn render_omitted_note(context: &RequestContext, at: &str, turn: u64) -> Markup {
    html! { p.muted.small { (msg::conversation_shortened(context.lang())) " "
    a href={ (at) "?from=" (turn) } { (msg::conversation_show_rest(context.lang())) } } }
}

fn render_bubble(
    context: &RequestContext,
    id: &AgentId,
    bubble: &ConversationItem<'_>,
    since: u64,
) -> Markup {
    let lang = context.lang();
    let head = |name: &str| {
        html! { div.small.muted { b { (name) } " · " (render_time_ago(context, bubble.at)) " · #" (bubble.turn)
        @if bubble.turn < since { " · " (msg::conversation_summarized_mark(lang)) } } }
    };
    match &bubble.content {
        ItemContent::Input { text } => {
            html! { div.mine { (head(msg::conversation_received_mark(lang))) (render_received_text(text)) } }
        }
        ItemContent::Response { text, calls, usage } => html! { div.said {
            (head(id.as_str()))
            @if !text.is_empty() { (excerpt::render_markdown_excerpt(context, text, MAX_RESULT_BYTES, None)) }
            @for call in calls.iter().take(MAX_SHOWN_CALLS) { (render_tool_call(call, lang)) }
            @if calls.len() > MAX_SHOWN_CALLS { p.muted.small { "+" (calls.len() - MAX_SHOWN_CALLS) " " (msg::conversation_calls_mark(lang)) } }
            (render_usage(usage, lang))
        } },
        ItemContent::EarlierCallResult(done) => {
            html! { div.said { (head(msg::conversation_result_mark(lang))) (render_call_result(done, lang)) } }
        }
        ItemContent::RuntimeNote { text } => {
            html! { div.aside { (msg::conversation_note_prefix(lang)) (truncate_result(text)) } }
        }
        ItemContent::Compaction { text } => {
            html! { details.aside { summary { (msg::conversation_turns_summarized(lang)) } (excerpt::render_markdown_excerpt(context, text, MAX_RESULT_BYTES, None)) } }
        }
    }
}

fn render_received_text(text: &str) -> Markup {
    html! { pre.text { (truncate_result(text)) } }
}

fn render_tool_call(call: &RenderedCall<'_>, lang: UiLanguage) -> Markup {
    let (class, label) = match call.result.map(|done| done.outcome) {
        None => ("pill calm", msg::conversation_call_running(lang)),
        Some(CallOutcome::Ok) => ("pill good", msg::command_done(lang)),
        Some(CallOutcome::Failed) => ("pill bad", msg::conversation_call_failed(lang)),
        Some(CallOutcome::Interrupted) => ("pill warn", msg::common_interrupted(lang)),
        Some(CallOutcome::Denied) => ("pill bad", msg::conversation_call_denied(lang)),
    };
    html! {
        details.call data-tool=(call.tool) {
            summary { code { (call.tool) } " " @if !call.summary.is_empty() { span.mono.muted { (call.summary) } " " } span class=(class) { (label) }
                @if let Some(done) = &call.result { " " span.muted.small { (relative_time::format_duration(saturating_cast::<i64>(done.duration_ms), lang)) } } }
            h4.small { (msg::conversation_call_arguments(lang)) }
            (render_code(&call.arguments))
            @if let Some(done) = &call.result { h4.small { (msg::conversation_call_result(lang)) } (render_call_result(done, lang)) }
        }
    }
}

fn render_call_result(done: &RenderedCallResult<'_>, lang: UiLanguage) -> Markup {
    html! {
        (render_code(&pretty_print_json(done.text)))
        @if done.text.len() > MAX_RESULT_BYTES { p.muted.small { (msg::conversation_rest_not_shown(lang)) } }
    }
}

/// Renders JSON with syntax highlighting, and other text unchanged.
fn render_code(text: &str) -> Markup {
    let visible = truncate_result(text);
    let json = visible
        .starts_with(['{', '['])
        .then(|| find_language("json"))
        .flatten();
    let lines = markdown::highlight_lines(visible, json);
    html! { pre.out.light { code { @for line in lines { (PreEscaped(line)) "\n" } } } }
}

/// Returns the beginning of a long text.
fn truncate_result(text: &str) -> &str {
    excerpt::truncate_text(text, MAX_RESULT_BYTES)
}

fn render_usage(usage: &ModelUsage, lang: UiLanguage) -> Markup {
    html! {
        div.small.muted.took {
            (number_format::format_count(usage.prompt)) " → " (number_format::format_count(usage.response)) " " (msg::agent_tokens_unit(lang))
            @if usage.micros > 0 { " · " (number_format::format_money(usage.micros)) }
            " · " (relative_time::format_duration(saturating_cast::<i64>(usage.ms), lang))
            @if let Some(model) = &usage.model { " · " (model) }
        }
    }
}
