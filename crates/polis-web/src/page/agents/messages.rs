//! Messages between the person and an agent: list, form and single-message page.

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, html};
use polis_core::message::{Message, Recipients, SendMessage};
use polis_core::token::{Access, Area};
use polis_core::{AgentId, Raw, RunId};
use polis_ops::OpError;
use polis_ops::op::{self, PersonMail, TellRun};
use serde::Deserialize;

use super::member_at;
use crate::error_page::{OrRefuse as _, Refused};
use crate::excerpt;
use crate::extract::{Form, Path, Query};
use crate::form_idempotency;
use crate::layout::{Tab, page, part};
use crate::live;
use crate::request_context::Visit;
use crate::time_ago::ago;

/// Number of messages per page.
const PAGE: u32 = 30;

/// The other party of the messages.
pub(super) struct With {
    run: Option<RunId>,
    id: AgentId,
}

impl With {
    /// A registered agent.
    pub(super) fn agent(id: AgentId) -> Self {
        Self { run: None, id }
    }

    /// A member of a run.
    pub(super) fn member(run: RunId, id: AgentId) -> Self {
        Self { run: Some(run), id }
    }

    fn at(&self) -> String {
        match &self.run {
            Some(run) => member_at(run, &self.id),
            None => format!("/agents/{}", self.id),
        }
    }
}

/// Pagination of the messages.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Before {
    before: Option<u64>,
}

/// Returns the list fragment for a registered agent, for live updates and pagination.
pub(super) async fn of_agent(
    visit: Visit,
    Path(id): Path<AgentId>,
    Query(from): Query<Before>,
) -> Result<Response, Refused> {
    again(&visit, &With::agent(id), &from).await
}

/// Returns the list fragment for a member of a run.
pub(super) async fn of_member(
    visit: Visit,
    Path((run, id)): Path<(RunId, AgentId)>,
    Query(from): Query<Before>,
) -> Result<Response, Refused> {
    again(&visit, &With::member(run, id), &from).await
}

/// Returns the list as a fragment, or as a page of its own if it was not requested by htmx.
async fn again(visit: &Visit, with: &With, from: &Before) -> Result<Response, Refused> {
    let list = letters(visit, with, from.before).await?;
    if visit.part {
        return Ok(part(list));
    }
    let body = html! { p { a href=(with.at()) { "← " (with.id) } } section.card #mail { (list) } };
    let title = visit.say("Messages with you", "与您的消息");
    let live = if from.before.is_none() { "message" } else { "" };
    Ok(page(visit, Tab::Agents, title, live, &body))
}

#[derive(Debug, Deserialize)]
pub(super) struct Say {
    text: String,
    #[serde(default)]
    once: String,
}

/// Sends a message to a registered agent.
pub(super) async fn say_to_agent(
    visit: Visit,
    Path(id): Path<AgentId>,
    Form(said): Form<Say>,
) -> Result<Response, Refused> {
    say(&visit, &With::agent(id), &said).await
}

/// Sends a message to a member of a run.
pub(super) async fn say_to_member(
    visit: Visit,
    Path((run, id)): Path<(RunId, AgentId)>,
    Form(said): Form<Say>,
) -> Result<Response, Refused> {
    say(&visit, &With::member(run, id), &said).await
}

async fn say(visit: &Visit, with: &With, said: &Say) -> Result<Response, Refused> {
    visit.check(Area::Messages, Access::Write)?;
    send(visit, with, said).await.or_refuse(visit)?;
    match visit.part {
        true => Ok(part(section(visit, with, None).await?)),
        false => Ok(Redirect::to(&format!("{}#mail", with.at())).into_response()),
    }
}

async fn send(visit: &Visit, with: &With, said: &Say) -> Result<(), OpError> {
    let (text, me) = (said.text.replace("\r\n", "\n"), &visit.me);
    let payload = Raw::of(&text).unwrap_or_else(|_| Raw::null());
    let to = Recipients::One(with.id.to_string());
    match &with.run {
        Some(run) => {
            let request = TellRun {
                task_id: run.clone(),
                to: Some(to),
                payload,
                reply_to: None,
            };
            let told = async |polis| op::tell_run(&polis, me, &request).await;
            form_idempotency::done(visit, &said.once, &request, told).await?;
        }
        None => {
            let request = SendMessage {
                to,
                payload,
                reply_to: None,
                delay_ms: None,
            };
            let sent = async |polis| op::send_message(&polis, me, &request).await;
            form_idempotency::done(visit, &said.once, &request, sent).await?;
        }
    }
    Ok(())
}

/// Renders the messages and the form. Only the person has messages here; other sessions do not see them.
pub(super) async fn section(
    visit: &Visit,
    with: &With,
    before: Option<u64>,
) -> Result<Markup, Refused> {
    if !visit.me.is_user() || !visit.allows(Area::Messages, Access::Read) {
        return Ok(html! {});
    }
    let list = letters(visit, with, before).await?;
    let to = format!("{}/say", with.at());
    let lang = visit.lang();
    Ok(html! {
        section.card #mail {
            h2 { (lang.say("Messages with you", "与您的消息")) }
            (list)
            @if visit.may_change(&[Area::Agents, Area::Messages]) {
                form.stack method="post" action=(to) hx-post=(to) hx-target="#mail" hx-swap="outerHTML" {
                    input type="hidden" name="csrf" value=(visit.csrf);
                    (form_idempotency::field(visit))
                    label for="say" { (lang.say("Write to ", "写给 ")) (with.id) }
                    textarea #say name="text" rows="3" required {}
                    div { button.main { (lang.say("Send", "发送")) } }
                }
            }
        }
    })
}

async fn letters(visit: &Visit, with: &With, before: Option<u64>) -> Result<Markup, Refused> {
    visit.check(Area::Messages, Access::Read)?;
    let request = PersonMail {
        with: Some(with.id.clone()),
        task_id: with.run.clone(),
        before,
        limit: Some(PAGE),
        ..PersonMail::default()
    };
    let found = op::person_mail(&visit.polis, &visit.me, &request).await;
    let found = found.or_refuse(visit)?;
    let (messages, none) = (
        found.messages,
        html! { p.muted { (visit.say("No messages yet.", "还没有消息。")) } },
    );
    let none = messages.is_empty().then_some(none);
    let drawn = excerpt::drawn(visit, move |visit| {
        html! { @for message in &messages { (one(visit, message, excerpt::CARD)) } }
    });
    let drawn = drawn.await?;
    let at = format!("{}/mail", with.at());
    // Older pages do not change.
    let newest = before.is_none();
    let (again, trigger) = (newest.then_some(&at), newest.then(|| live::on("message")));
    Ok(html! {
        div #letters hx-get=[again] hx-trigger=[trigger] hx-swap="morph:outerHTML" {
            @if let Some(earlier) = found.earlier {
                p { a.button.small href={ (at) "?before=" (earlier) } hx-get={ (at) "?before=" (earlier) } hx-target="#letters" hx-swap="outerHTML" {
                    (visit.say("Earlier", "更早")) } }
            }
            @if let Some(none) = none { (none) }
            div.chat { (drawn) }
            @if !newest { p { a.button.small href={ (with.at()) "#mail" } hx-get=(at) hx-target="#letters" hx-swap="outerHTML" {
                (visit.say("Newest", "最新")) } } }
        }
    })
}

/// Returns the page of a single message, for long messages.
pub(super) async fn alone(visit: Visit, Path(number): Path<u64>) -> Result<Response, Refused> {
    visit.check(Area::Messages, Access::Read)?;
    let found = op::letter(&visit.polis, &visit.me, number).await;
    let message = found.or_refuse(&visit)?;
    let body = excerpt::drawn(&visit, move |visit| {
        html! { div.card { div.chat { (one(visit, &message, excerpt::WHOLE)) } } }
    });
    let body = body.await?;
    let title = visit.say("Message", "消息");
    Ok(page(&visit, Tab::Agents, title, "", &body))
}

fn one(visit: &Visit, message: &Message, most: usize) -> Markup {
    let mine = message.from == visit.me;
    html! {
        div.mine[mine] data-message=(message.id) {
            div.small.muted { b { (message.from) } " · " (ago(visit, &message.created_at))
                @if mine && message.read_at.is_some() { " · " (visit.say("read", "已读")) } }
            (excerpt::letter(visit, message, most))
        }
    }
}
