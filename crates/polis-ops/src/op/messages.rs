//! Operations behind the `send_message` and `check_messages` tools: delivery to mailboxes, and reading with long
//! polling.

use std::time::Duration;

use polis_core::message::{self, Known, Message, NewMessage, SendMessage};
use polis_core::{Agent, AgentId, Caller, RunId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::text_range::window_of;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::{MailboxQuery, Receipt};

/// Maximum number of messages per call.
const MAX_PAGE: u32 = 100;
/// Default number of messages per call.
const USUAL_PAGE: u32 = 20;
/// Maximum time to wait for a message.
const MAX_WAIT_MS: u64 = 60_000;

/// The parameters of `check_messages`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct CheckMessages {
    /// At most so many, up to 100; 20 if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Wait so many milliseconds for one if there is none; 60,000 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub wait_ms: Option<u64>,
    /// Read again what came after this number, read or not, and mark nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
    /// With `since`: where to begin in the first payload, in bytes of text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub offset: Option<u64>,
}

/// Messages of the caller's mailbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Mail {
    /// The messages, by number.
    pub messages: Vec<Message>,
    /// Whether there are more.
    pub more: bool,
}

/// What was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Sent {
    /// One message for each recipient.
    pub messages: Vec<SentTo>,
}

/// One message that was sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct SentTo {
    /// Its number.
    pub id: u64,
    /// Whose mailbox it is in.
    pub to: AgentId,
}

/// Sends a message atomically: it is delivered to every recipient's mailbox, or to none.
pub async fn send_message(
    polis: &Polis,
    caller: &AgentId,
    params: &SendMessage,
) -> Result<Sent, OpError> {
    let caller = &polis.caller(caller).await?;
    let decide = || -> Attempt<'_, Vec<NewMessage>> {
        Box::pin(async move {
            let (agents, run) = addressed(polis, caller, params).await?;
            let answered = match params.reply_to {
                Some(id) => polis.store.message(id).await?,
                None => None,
            };
            let own_run = |m: &Message| !caller.id.is_root() || m.run == caller.run;
            let answered =
                answered.filter(|m| (m.to == caller.id || m.from == caller.id) && own_run(m));
            let known = Known {
                agents: &agents,
                run: run.as_ref(),
                answered: answered.as_ref(),
            };
            let now = polis.clock.now_millis();
            Ok(message::decide_send(params, known, caller, now)?)
        })
    };
    let sent = |messages: Vec<NewMessage>, receipt: &Receipt| Sent {
        messages: (receipt.messages.iter().zip(messages))
            .map(|(id, message)| SentTo {
                id: *id,
                to: message.to,
            })
            .collect(),
    };
    polis.settle(decide, sent).await
}

/// Loads the possible recipients: the named agents, the agents of the named roles, and the run whose `root` is
/// addressed. No other agents are loaded, regardless of their number.
async fn addressed(
    polis: &Polis,
    caller: &Caller,
    params: &SendMessage,
) -> Result<(Vec<Agent>, Option<RunId>), OpError> {
    let (names, roles) = params.named();
    let mut agents = match names.is_empty() {
        true => Vec::new(),
        false => polis.store.named(&names).await?,
    };
    let run = caller.run.as_ref().or(polis.run_of_root());
    for role in roles {
        // Agents of the sender's run; for a sender without a run, agents without a run.
        agents.extend(polis.store.agents_of_run(run, Some(role)).await?);
    }
    if let Some(run) = run
        && names.iter().any(AgentId::is_root)
    {
        let open = polis.open_run(run).await?;
        return Ok((agents, Some(open.value.id)));
    }
    Ok((agents, run.cloned()))
}

/// Returns the caller's unread messages and marks them as read in the same commit: of two concurrent callers, each
/// message goes to one. The messages stay in the mailbox and can be read again.
pub async fn check_messages(
    polis: &Polis,
    caller: &AgentId,
    params: &CheckMessages,
) -> Result<Mail, OpError> {
    let caller = &polis.caller(caller).await?;
    let limit = params.limit.unwrap_or(USUAL_PAGE).clamp(1, MAX_PAGE);
    if let Some(since) = params.since {
        let (mut messages, more) = page(polis, caller, false, since, limit).await?;
        if let (Some(first), Some(offset)) = (messages.first_mut(), params.offset)
            && let Some(rest) = window_of(&first.payload, Some(offset), None).as_json()
        {
            first.payload = rest;
        }
        return Ok(Mail { messages, more });
    }
    let wait = params.wait_ms.unwrap_or(0).min(MAX_WAIT_MS);
    let until = polis.clock.now_millis().saturating_add_unsigned(wait);
    loop {
        let seen = polis.store.last_sequence().await?;
        let decide = || -> Attempt<'_, Mail> {
            Box::pin(async move {
                let (messages, more) = page(polis, caller, true, 0, limit).await?;
                let ids: Vec<u64> = messages.iter().map(|m| m.id).collect();
                let changes = match ids.is_empty() {
                    true => polis_core::Changeset::by(caller, polis.now()),
                    false => message::decide_read(caller, ids, &polis.now()),
                };
                Ok((Mail { messages, more }, changes))
            })
        };
        let now = polis.clock.now_millis();
        if now >= until {
            return polis.settle(decide, |mail, _| mail).await;
        }
        // Do not commit while waiting: with an idempotency key, that would store an empty response.
        let (mail, _) = decide().await?;
        if !mail.messages.is_empty() {
            return polis.settle(decide, |mail, _| mail).await;
        }
        let next = polis.store.next_delivery(&caller.id, now).await?;
        let wake = next.map_or(until, |next| next.min(until));
        let wait = Duration::from_millis(wake.saturating_sub(now).max(1).unsigned_abs());
        polis.store.wait_beyond(seen, wait).await?;
    }
}

/// Returns a page of a mailbox, and whether there are more messages.
async fn page(
    polis: &Polis,
    of: &Caller,
    unread: bool,
    after: u64,
    limit: u32,
) -> Result<(Vec<Message>, bool), OpError> {
    let query = MailboxQuery {
        recipient: of.id.clone(),
        // Root has a separate mailbox in every run.
        run: of.run.clone().filter(|_| of.id.is_root()),
        unread,
        now: polis.clock.now_millis(),
        after,
        limit: limit + 1,
    };
    let mut messages = polis.store.mailbox(&query).await?;
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = messages.len() > most;
    messages.truncate(most);
    Ok((messages, more))
}
