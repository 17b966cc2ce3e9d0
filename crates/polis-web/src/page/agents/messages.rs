//! Messages between the person and one agent (registered, or a member of a run): the list and the form on the
//! agent's page, the handler that sends a message, and the page of a single long message.

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, html};
use polis_core::message::{Message, MessageRecipients, SendMessageParams};
use polis_core::token::{AccessLevel, OperationArea};
use polis_core::{AgentId, RawJson, RunId};
use polis_i18n::msg;
use polis_ops::OpError;
use polis_ops::op::{self, PersonMailParams, TellRunParams};
use serde::Deserialize;

use super::member_url;
use crate::component::excerpt;
use crate::component::time_ago::render_time_ago;
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::{Tab, html_fragment, tab_page};
use crate::live_updates;
use crate::request::extract::{FormFields, PathParams, QueryParams};
use crate::request::form_idempotency;
use crate::request::request_context::RequestContext;

/// Number of messages per page.
const MESSAGES_PER_PAGE: u32 = 30;

/// The other party of the messages.
pub(super) struct MessagePartner {
    run: Option<RunId>,
    id: AgentId,
}

impl MessagePartner {
    /// Creates the partner for a registered agent.
    pub(super) fn agent(id: AgentId) -> Self {
        Self { run: None, id }
    }

    /// Creates the partner for a member of a run.
    pub(super) fn member(run: RunId, id: AgentId) -> Self {
        Self { run: Some(run), id }
    }

    fn url(&self) -> String {
        match &self.run {
            Some(run) => member_url(run, &self.id),
            None => format!("/agents/{}", self.id),
        }
    }
}

/// Pagination of the messages.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MessagesQuery {
    before: Option<u64>,
}

/// Returns the list fragment for a registered agent, for live updates and pagination.
pub(super) async fn show_agent_messages(
    context: RequestContext,
    PathParams(id): PathParams<AgentId>,
    QueryParams(from): QueryParams<MessagesQuery>,
) -> Result<Response, PageError> {
    show_messages(&context, &MessagePartner::agent(id), &from).await
}

/// Returns the list fragment for a member of a run.
pub(super) async fn show_member_messages(
    context: RequestContext,
    PathParams((run, id)): PathParams<(RunId, AgentId)>,
    QueryParams(from): QueryParams<MessagesQuery>,
) -> Result<Response, PageError> {
    show_messages(&context, &MessagePartner::member(run, id), &from).await
}

/// Returns the list as a fragment, or as a page of its own if it was not requested by htmx.
async fn show_messages(
    context: &RequestContext,
    partner: &MessagePartner,
    from: &MessagesQuery,
) -> Result<Response, PageError> {
    let list = render_message_list(context, partner, from.before).await?;
    if context.is_fragment {
        return Ok(html_fragment(list));
    }
    let body =
        html! { p { a href=(partner.url()) { "← " (partner.id) } } section.card #mail { (list) } };
    let title = msg::message_own_title(context.lang());
    let live = if from.before.is_none() { "message" } else { "" };
    Ok(tab_page(context, Tab::Agents, title, live, &body))
}

#[derive(Debug, Deserialize)]
pub(super) struct MessageForm {
    text: String,
    #[serde(default)]
    idempotency_key: String,
}

/// Sends a message to a registered agent.
pub(super) async fn send_to_agent(
    context: RequestContext,
    PathParams(id): PathParams<AgentId>,
    FormFields(form): FormFields<MessageForm>,
) -> Result<Response, PageError> {
    submit_message(&context, &MessagePartner::agent(id), &form).await
}

/// Sends a message to a member of a run.
pub(super) async fn send_to_member(
    context: RequestContext,
    PathParams((run, id)): PathParams<(RunId, AgentId)>,
    FormFields(form): FormFields<MessageForm>,
) -> Result<Response, PageError> {
    submit_message(&context, &MessagePartner::member(run, id), &form).await
}

async fn submit_message(
    context: &RequestContext,
    partner: &MessagePartner,
    form: &MessageForm,
) -> Result<Response, PageError> {
    send_form_message(context, partner, form)
        .await
        .or_page_error(context)?;
    if context.is_fragment {
        Ok(html_fragment(
            render_messages_section(context, partner, None).await?,
        ))
    } else {
        Ok(Redirect::to(&format!("{}#mail", partner.url())).into_response())
    }
}

async fn send_form_message(
    context: &RequestContext,
    partner: &MessagePartner,
    form: &MessageForm,
) -> Result<(), OpError> {
    let text = form.text.replace("\r\n", "\n");
    let payload = RawJson::from_value(&text).unwrap_or_else(|_| RawJson::null());
    let to = MessageRecipients::One(partner.id.to_string());
    match &partner.run {
        Some(run) => {
            let request = TellRunParams {
                run_id: run.clone(),
                to: Some(to),
                payload,
                reply_to: None,
            };
            let send = async |hooked| op::tell_run(&hooked, &request).await;
            form_idempotency::submit_once(context, &form.idempotency_key, &request, send).await?;
        }
        None => {
            let request = SendMessageParams {
                to,
                payload,
                reply_to: None,
                delay_ms: None,
            };
            let sent = async |hooked| op::send_message(&hooked, &request).await;
            form_idempotency::submit_once(context, &form.idempotency_key, &request, sent).await?;
        }
    }
    Ok(())
}

/// Renders the messages and the form. Only the person has messages here; other sessions do not see them.
pub(super) async fn render_messages_section(
    context: &RequestContext,
    partner: &MessagePartner,
    before: Option<u64>,
) -> Result<Markup, PageError> {
    if !context.me.is_user() || !context.may_access(OperationArea::Messages, AccessLevel::Read) {
        return Ok(html! {});
    }
    let list = render_message_list(context, partner, before).await?;
    let to = format!("{}/message", partner.url());
    let lang = context.lang();
    Ok(html! {
        section.card #mail {
            h2 { (msg::message_own_title(lang)) }
            (list)
            @if context.may_write(&[OperationArea::Agents, OperationArea::Messages]) {
                form.stack method="post" action=(to) hx-post=(to) hx-target="#mail" hx-swap="outerHTML" {
                    input type="hidden" name="csrf" value=(context.csrf);
                    (form_idempotency::render_idempotency_key_field(context))
                    label for="say" { (msg::message_to_prefix(lang)) (partner.id) }
                    textarea #say name="text" rows="3" required {}
                    div { button.main { (msg::message_send(lang)) } }
                }
            }
        }
    })
}

async fn render_message_list(
    context: &RequestContext,
    partner: &MessagePartner,
    before: Option<u64>,
) -> Result<Markup, PageError> {
    let request = PersonMailParams {
        with: Some(partner.id.clone()),
        run_id: partner.run.clone(),
        before,
        limit: Some(MESSAGES_PER_PAGE),
        ..PersonMailParams::default()
    };
    let found = op::list_person_mail(&context.request, &request).await;
    let found = found.or_page_error(context)?;
    let (messages, none) = (
        found.messages,
        html! { p.muted { (msg::message_none(context.lang())) } },
    );
    let none = messages.is_empty().then_some(none);
    let rendered = excerpt::render_blocking(context, move |context| {
        html! { @for message in &messages { (render_message(context, message, excerpt::CARD_EXCERPT_BYTES)) } }
    });
    let rendered = rendered.await?;
    let at = format!("{}/mail", partner.url());
    // Older pages do not change.
    let newest = before.is_none();
    let (refresh_url, trigger) = (
        newest.then_some(&at),
        newest.then(|| live_updates::htmx_trigger("message")),
    );
    Ok(html! {
        div #letters hx-get=[refresh_url] hx-trigger=[trigger] hx-swap="morph:outerHTML" {
            @if let Some(earlier) = found.earlier {
                p { a.button.small href={ (at) "?before=" (earlier) } hx-get={ (at) "?before=" (earlier) } hx-target="#letters" hx-swap="outerHTML" {
                    (msg::common_earlier(context.lang())) } }
            }
            @if let Some(none) = none { (none) }
            div.chat { (rendered) }
            @if !newest { p { a.button.small href={ (partner.url()) "#mail" } hx-get=(at) hx-target="#letters" hx-swap="outerHTML" {
                (msg::common_newest(context.lang())) } } }
        }
    })
}

/// Returns the page of a single message, for long messages.
pub(super) async fn show_message(
    context: RequestContext,
    PathParams(number): PathParams<u64>,
) -> Result<Response, PageError> {
    let found = op::get_person_message(&context.request, number).await;
    let message = found.or_page_error(&context)?;
    let body = excerpt::render_blocking(&context, move |context| {
        html! { div.card { div.chat { (render_message(context, &message, excerpt::MAX_PAGE_TEXT_BYTES)) } } }
    });
    let body = body.await?;
    let title = msg::message_text_field(context.lang());
    Ok(tab_page(&context, Tab::Agents, title, "", &body))
}

fn render_message(context: &RequestContext, message: &Message, max_bytes: usize) -> Markup {
    let mine = message.from == context.me;
    html! {
        div.mine[mine] data-message=(message.id) {
            div.small.muted { b { (message.from) } " · " (render_time_ago(context, &message.created_at))
                @if mine && message.read_at.is_some() { " · " (msg::message_read_mark(context.lang())) } }
            (excerpt::render_message_excerpt(context, message, max_bytes))
        }
    }
}
