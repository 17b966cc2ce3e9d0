//! Operations behind the `send_message` and `check_messages` tools: delivery to mailboxes, and reading with
//! long polling.

use std::time::Duration;

use polis_core::message::{self, Message, NewMessage, SendMessageContext, SendMessageParams};
use polis_core::number::saturating_cast;
use polis_core::{Agent, AgentId, Caller, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::OpError;
use crate::op::society::load_open_run;
use crate::port::{MailboxQuery, Receipt};
use crate::request::{AttemptFuture, Request};
use crate::text_range::json_text_range;

/// Maximum number of messages per call.
const MAX_PAGE_SIZE: u32 = 100;
/// Default number of messages per call.
const DEFAULT_PAGE_SIZE: u32 = 20;
/// Maximum time to wait for a message, in milliseconds.
const MAX_WAIT_MS: u64 = 60_000;

/// Parameters of `check_messages`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckMessagesParams {
    /// Maximum number of messages; default: 20, up to 100.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Milliseconds to wait if there is no message; up to 60,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// Return all messages after this number, read or unread, without marking them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// With `since`: start offset in the first payload, in bytes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

/// Messages of the caller's mailbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MailboxPage {
    /// The messages, ordered by number.
    pub messages: Vec<Message>,
    /// Whether there are more.
    pub more: bool,
}

/// Result of sending a message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SendMessageResult {
    /// One message for each recipient.
    pub messages: Vec<SentMessage>,
}

/// Number and recipient of a sent message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SentMessage {
    /// Its number.
    pub id: u64,
    /// Its recipient.
    pub to: AgentId,
}

/// Sends a message atomically: it is delivered to every recipient's mailbox, or to none. Fails with
/// `recipient_not_found` if the caller can reach no such recipient, with `message_not_found` if it neither
/// sent nor received the message to reply to, and with `invalid_message` if the payload, the delay or the
/// number of recipients is invalid.
pub async fn send_message(
    request: &Request,
    params: &SendMessageParams,
) -> Result<SendMessageResult, OpError> {
    let caller = &request.resolve_caller().await?;
    let decide = || -> AttemptFuture<'_, Vec<NewMessage>> {
        Box::pin(async move {
            let (agents, run) = load_recipients(request, caller, params).await?;
            let replied_to = match params.reply_to {
                Some(id) => request.app.store.message(id).await?,
                None => None,
            };
            let own_run = |m: &Message| !caller.id.is_root() || m.run == caller.run;
            let replied_to =
                replied_to.filter(|m| (m.to == caller.id || m.from == caller.id) && own_run(m));
            let context = SendMessageContext {
                agents: &agents,
                run: run.as_ref(),
                replied_to: replied_to.as_ref(),
            };
            let now = request.app.clock.now_millis();
            Ok(message::decide_send_message(params, context, caller, now)?)
        })
    };
    let view = |messages: Vec<NewMessage>, receipt: &Receipt| SendMessageResult {
        messages: (receipt.messages.iter().zip(messages))
            .map(|(id, message)| SentMessage {
                id: *id,
                to: message.to,
            })
            .collect(),
    };
    request.retry_on_conflict(decide, view).await
}

/// Loads the possible recipients: the named agents, the agents of the named roles, and the run whose `root`
/// is addressed. No other agents are loaded, regardless of their number.
async fn load_recipients(
    request: &Request,
    caller: &Caller,
    params: &SendMessageParams,
) -> Result<(Vec<Agent>, Option<RunId>), OpError> {
    let (names, roles) = params.agents_and_roles();
    let mut agents = if names.is_empty() {
        Vec::new()
    } else {
        request.app.store.agents_by_id(&names).await?
    };
    let run = caller.run.as_ref().or(request.root_run());
    for role in roles {
        // Agents of the sender's run; for a sender without a run, agents without a run.
        agents.extend(request.app.store.agents_of_run(run, Some(role)).await?);
    }
    if let Some(run) = run
        && names.iter().any(AgentId::is_root)
    {
        let open = load_open_run(&request.app, run).await?;
        return Ok((agents, Some(open.value.id)));
    }
    Ok((agents, run.cloned()))
}

/// Returns the caller's unread messages and marks them as read in the same commit: of two concurrent callers,
/// each message goes to one. The messages stay in the mailbox and can be read again (`since`). If there is no
/// unread message, waits for one as long as requested. Fails with `permission_denied` if the caller may not
/// act.
pub async fn check_messages(
    request: &Request,
    params: &CheckMessagesParams,
) -> Result<MailboxPage, OpError> {
    let caller = &request.resolve_caller().await?;
    let limit = params
        .limit
        .unwrap_or(DEFAULT_PAGE_SIZE)
        .clamp(1, MAX_PAGE_SIZE);
    if let Some(since) = params.since {
        let (mut messages, more) =
            read_mailbox_page(&request.app, caller, false, since, limit).await?;
        if let (Some(first), Some(offset)) = (messages.first_mut(), params.offset)
            && let Some(rest) = json_text_range(&first.payload, Some(offset), None).as_json()
        {
            first.payload = rest;
        }
        return Ok(MailboxPage { messages, more });
    }
    let wait = params.wait_ms.unwrap_or(0).min(MAX_WAIT_MS);
    let until = request.app.clock.now_millis().saturating_add_unsigned(wait);
    loop {
        let sequence = request.app.store.last_sequence().await?;
        let decide = || -> AttemptFuture<'_, MailboxPage> {
            Box::pin(async move {
                let (messages, more) =
                    read_mailbox_page(&request.app, caller, true, 0, limit).await?;
                let ids: Vec<u64> = messages.iter().map(|m| m.id).collect();
                let changes = if ids.is_empty() {
                    polis_core::Changeset::new(caller, request.app.now())
                } else {
                    message::decide_read_messages(caller, ids, &request.app.now())
                };
                Ok((MailboxPage { messages, more }, changes))
            })
        };
        let now = request.app.clock.now_millis();
        if now >= until {
            return request.retry_on_conflict(decide, |mail, _| mail).await;
        }
        // Do not commit while waiting: with an idempotency key, that would store an empty response.
        let (mail, _) = decide().await?;
        if !mail.messages.is_empty() {
            return request.retry_on_conflict(decide, |mail, _| mail).await;
        }
        let next = request.app.store.next_delivery(&caller.id, now).await?;
        let wake = next.map_or(until, |next| next.min(until));
        let wait = Duration::from_millis(wake.saturating_sub(now).max(1).unsigned_abs());
        request
            .app
            .store
            .wait_for_event_after(sequence, wait)
            .await?;
    }
}

/// Returns a page of a mailbox, and whether there are more messages.
async fn read_mailbox_page(
    app: &App,
    mailbox_owner: &Caller,
    unread: bool,
    after: u64,
    limit: u32,
) -> Result<(Vec<Message>, bool), OpError> {
    let query = MailboxQuery {
        recipient: mailbox_owner.id.clone(),
        // Root has a separate mailbox in every run.
        run: mailbox_owner
            .run
            .clone()
            .filter(|_| mailbox_owner.id.is_root()),
        unread,
        now: app.clock.now_millis(),
        after,
        limit: limit + 1,
    };
    let mut messages = app.store.mailbox(&query).await?;
    let max_messages = saturating_cast::<usize>(limit);
    let more = messages.len() > max_messages;
    messages.truncate(max_messages);
    Ok((messages, more))
}
