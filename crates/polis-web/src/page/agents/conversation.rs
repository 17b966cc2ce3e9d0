//! Conversation of a member, rendered like a chat: received messages, the model's answers, and each tool call with its
//! result.

use axum::response::Response;
use maud::{Markup, PreEscaped, html};
use polis_core::society::member::MemberStatus;
use polis_core::society::turn::{CallEnd, Used};
use polis_core::token::{Access, Area};
use polis_core::{AgentId, RunId};
use polis_ops::op::{self, ReadConversation, TurnView};
use polis_view::conversation::{Bubble, Call, Done, What, bubbles, laid_out};
use polis_view::highlight::language;
use polis_view::{Lang, number_format, time};
use serde::Deserialize;

use super::member_at;
use crate::error_page::{OrRefuse as _, Refused};
use crate::excerpt;
use crate::extract::{Path, Query};
use crate::layout::part;
use crate::markdown;
use crate::request_context::Visit;
use crate::time_ago::ago;

/// Number of turns per page.
const PAGE: u64 = 20;
/// Results longer than this are truncated; the terminal shows them completely.
const LONGEST: usize = 16 * 1024;

/// Maximum amount of markup of a conversation per page.
const HEAVIEST: usize = 512 << 10;
/// Maximum number of calls shown per answer.
const CALLS: usize = 50;

/// First turn of the page; the newest turns if not given.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct From {
    from: Option<u64>,
}

impl From {
    /// Returns whether the page shows the newest turns and is therefore updated live.
    pub(super) fn is_newest(&self) -> bool {
        self.from.is_none()
    }
}

/// Returns the conversation fragment, for live updates.
pub(super) async fn refresh(
    visit: Visit,
    Path((run, id)): Path<(RunId, AgentId)>,
    Query(from): Query<From>,
) -> Result<Response, Refused> {
    visit.check(Area::Society, Access::Read)?;
    let one = op::show_member(&visit.polis, &visit.me, &run, &id).await;
    let one = one.or_refuse(&visit)?;
    Ok(part(section(&visit, &run, &id, &from, one.status).await?))
}

/// Renders the conversation.
pub(super) async fn section(
    visit: &Visit,
    run: &RunId,
    id: &AgentId,
    from: &From,
    status: MemberStatus,
) -> Result<Markup, Refused> {
    let request = ReadConversation {
        agent_id: id.clone(),
        task_id: Some(run.clone()),
        from: from.from,
        limit: u32::try_from(PAGE).ok(),
    };
    let told = op::read_conversation(&visit.polis, &visit.me, &request).await;
    let told = told.or_refuse(visit)?;
    let at = member_at(run, id);
    let lang = visit.lang();
    let first = told.turns.first().map_or(0, |turn| turn.turn);
    // A model's output is not an event, so a working member is polled. Older pages do not change.
    let again = match (from.from, status) {
        (Some(_), _) => None,
        (None, MemberStatus::Working) => {
            Some("polis:society from:body, polis:message from:body, every 2s")
        }
        (None, _) => Some("polis:society from:body, polis:message from:body"),
    };
    let (turns, since, newest, who) = (told.turns, told.since, from.from.is_none(), id.clone());
    let none = turns.is_empty();
    let drawn = excerpt::drawn(visit, move |visit| {
        conversation(visit, &who, &turns, since, newest)
    });
    let (drawn, cut) = drawn.await?;
    Ok(html! {
        section.card #chat hx-get=[again.map(|_| format!("{at}/chat"))] hx-trigger=[again] hx-swap="morph:outerHTML" {
            h2 { (lang.say("Conversation", "对话")) " " span.count { (told.total) " " (lang.say("turns", "轮")) } }
            @if first > 0 { p { a.button.small href={ (at) "?from=" (first.saturating_sub(PAGE)) } { (lang.say("Earlier", "更早")) } } }
            @if none { p.muted { (lang.say("Nothing was said yet.", "还没有对话。")) } }
            @if let Some(turn) = cut.filter(|_| from.from.is_none()) { (left_out(visit, &at, turn.saturating_sub(PAGE - 1))) }
            div.chat role="log" { (drawn) }
            @if let Some(turn) = cut.filter(|_| from.from.is_some()) { (left_out(visit, &at, turn)) }
            @if let Some(next) = told.next { p { a.button.small href={ (at) "?from=" (next) } { (lang.say("Later", "更晚")) } " "
                a.button.small href=(at) { (lang.say("Newest", "最新")) } } }
        }
    })
}

/// Renders the bubbles of some turns, as many as a page can show: the newest ones, or the first ones. Also returns the
/// turn of the nearest bubble that was omitted.
fn conversation(
    visit: &Visit,
    id: &AgentId,
    turns: &[TurnView],
    since: u64,
    newest: bool,
) -> (Markup, Option<u64>) {
    let mut all = bubbles(turns);
    if newest {
        all.reverse();
    }
    let (mut drawn, mut bytes, mut cut) = (Vec::new(), 0, None);
    for bubble in &all {
        if bytes > HEAVIEST {
            cut = Some(bubble.turn);
            break;
        }
        let markup = one(visit, id, bubble, since);
        bytes += markup.0.len();
        drawn.push(markup);
    }
    if newest {
        drawn.reverse();
    }
    (html! { @for markup in &drawn { (markup) } }, cut)
}

/// Note that turns were omitted.
fn left_out(visit: &Visit, at: &str, turn: u64) -> Markup {
    html! { p.muted.small { (visit.say("These turns are long; not all are shown.", "这些轮次内容较长，未全部显示。")) " "
    a href={ (at) "?from=" (turn) } { (visit.say("Show the others", "显示其余")) } } }
}

fn one(visit: &Visit, id: &AgentId, bubble: &Bubble<'_>, since: u64) -> Markup {
    let lang = visit.lang();
    let head = |who: &str| {
        html! { div.small.muted { b { (who) } " · " (ago(visit, bubble.at)) " · #" (bubble.turn)
        @if bubble.turn < since { " · " (lang.say("summed up", "已摘要")) } } }
    };
    match &bubble.what {
        What::Heard { text } => {
            html! { div.mine { (head(lang.say("heard", "收到"))) (heard(text)) } }
        }
        What::Said { text, calls, used } => html! { div.said {
            (head(id.as_str()))
            @if !text.is_empty() { (excerpt::prose(visit, text, LONGEST, None)) }
            @for call in calls.iter().take(CALLS) { (called(call, lang)) }
            @if calls.len() > CALLS { p.muted.small { "+" (calls.len() - CALLS) " " (lang.say("calls", "次调用")) } }
            (took(used, lang))
        } },
        What::Did(done) => {
            html! { div.said { (head(lang.say("result", "结果"))) (result(done, lang)) } }
        }
        What::Told { text } => html! { div.aside { (lang.say("Note: ", "提示：")) (cut(text)) } },
        What::Summed { text } => {
            html! { details.aside { summary { (lang.say("Everything before was summed up", "此前内容已摘要")) } (excerpt::prose(visit, text, LONGEST, None)) } }
        }
    }
}

fn heard(text: &str) -> Markup {
    html! { pre.text { (cut(text)) } }
}

fn called(call: &Call<'_>, lang: Lang) -> Markup {
    let (class, word) = match call.done.map(|done| done.end) {
        None => ("pill calm", lang.say("goes on", "进行中")),
        Some(CallEnd::Ok) => ("pill good", lang.say("done", "完成")),
        Some(CallEnd::Failed) => ("pill bad", lang.say("failed", "失败")),
        Some(CallEnd::Interrupted) => ("pill warn", lang.say("interrupted", "中断")),
        Some(CallEnd::Denied) => ("pill bad", lang.say("denied", "被拒绝")),
    };
    html! {
        details.call data-tool=(call.tool) {
            summary { code { (call.tool) } " " @if !call.gist.is_empty() { span.mono.muted { (call.gist) } " " } span class=(class) { (word) }
                @if let Some(done) = &call.done { " " span.muted.small { (time::span(i64::try_from(done.ms).unwrap_or(i64::MAX), lang)) } } }
            h4.small { (lang.say("Called with", "参数")) }
            (code(&call.arguments))
            @if let Some(done) = &call.done { h4.small { (lang.say("Answer", "结果")) } (result(done, lang)) }
        }
    }
}

fn result(done: &Done<'_>, lang: Lang) -> Markup {
    html! {
        (code(&laid_out(done.text)))
        @if done.text.len() > LONGEST { p.muted.small { (lang.say("The rest is not shown here.", "其余内容未在此显示。")) } }
    }
}

/// Renders JSON with syntax highlighting, and other text unchanged.
fn code(text: &str) -> Markup {
    let shown = cut(text);
    let json = shown
        .starts_with(['{', '['])
        .then(|| language("json"))
        .flatten();
    let lines = markdown::spans(shown, json);
    html! { pre.out.light { code { @for line in lines { (PreEscaped(line)) "\n" } } } }
}

/// Returns the beginning of a long text.
fn cut(text: &str) -> &str {
    excerpt::beginning(text, LONGEST)
}

fn took(used: &Used, lang: Lang) -> Markup {
    html! {
        div.small.muted.took {
            (number_format::count(used.prompt)) " → " (number_format::count(used.answer)) " " (lang.say("tokens", "令牌"))
            @if used.micros > 0 { " · " (number_format::money(used.micros)) }
            " · " (time::span(i64::try_from(used.ms).unwrap_or(i64::MAX), lang))
            @if let Some(model) = &used.model { " · " (model) }
        }
    }
}
