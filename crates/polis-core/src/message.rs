//! Messages between agents and their mailboxes: validation, addressing, and the events written to the log.
//!
//! [`decide_send_message`] resolves the recipients and puts one message into each mailbox. A message is
//! stored from the commit that sends it, becomes visible when its delay has passed, and remains in the
//! mailbox after it was read. Its payload is never written to the log, because a mailbox is private to its
//! owner.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::{Agent, AgentStatus};
use crate::caller::Caller;
use crate::changeset::{Changeset, StoreWrite};
use crate::event::{EventPayload, EventSubject, MessageSentEvent, MessagesReadEvent, NewEvent};
use crate::id::{AgentId, quote_untrusted};
use crate::json::RawJson;
use crate::number::saturating_cast;
use crate::refusal::{MessageRefusal, Refusal};
use crate::society::RunId;
use crate::timestamp::Timestamp;

/// Maximum size of a payload, in bytes of JSON.
pub const MAX_PAYLOAD_BYTES: usize = 256 * 1024;
/// Maximum nesting depth of a payload.
const MAX_PAYLOAD_DEPTH: usize = 64;
/// Maximum number of recipients of one `send_message` call.
pub const MAX_RECIPIENTS: usize = 1_000;
/// Maximum delay: 30 days.
pub const MAX_DELAY_MS: u64 = 30 * 24 * 3_600 * 1_000;
/// Prefix of a role in `to`.
const ROLE_PREFIX: &str = "role:";

/// Recipients of a message: one name or a list of names.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected an agent's id, `user`, `role:ROLE`, or a list of these"
)]
pub enum MessageRecipients {
    /// A single recipient.
    One(String),
    /// A list of recipients.
    Several(Vec<String>),
}

impl MessageRecipients {
    fn names(&self) -> &[String] {
        match self {
            Self::One(name) => std::slice::from_ref(name),
            Self::Several(names) => names,
        }
    }
}

/// The parameters of `send_message`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SendMessageParams {
    /// Recipients: an agent's id, `user`, `role:ROLE`, or a list of these.
    pub to: MessageRecipients,
    /// Content: text or any JSON value.
    #[schemars(with = "serde_json::Value")]
    pub payload: RawJson,
    /// Number of the message it replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<u64>,
    /// Delay of the delivery, in milliseconds; at most 2592000000 (30 days).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
}

impl SendMessageParams {
    /// Returns the agents and the roles named in `to`, without invalid names.
    pub fn agents_and_roles(&self) -> (Vec<AgentId>, Vec<&str>) {
        let (mut agents, mut roles) = (Vec::new(), Vec::new());
        for name in self.to.names() {
            match name.strip_prefix(ROLE_PREFIX) {
                Some(role) => roles.push(role),
                // Invalid names are refused by `decide_send_message`.
                None => agents.extend(name.parse::<AgentId>()),
            }
        }
        (agents, roles)
    }
}

/// A message that the store has not yet numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// Agent or person that sent it.
    pub from: AgentId,
    /// The recipient, whose mailbox it is put into.
    pub to: AgentId,
    /// When it was sent.
    pub created_at: Timestamp,
    /// When it becomes visible to its recipient (milliseconds).
    pub deliver_at: i64,
    /// The message it replies to.
    pub reply_to: Option<u64>,
    /// The run it belongs to, if any.
    pub run: Option<RunId>,
    /// Content: text or any JSON value.
    pub payload: RawJson,
}

/// Returns a payload as text: a JSON string, the `text` field of an object, or the JSON itself.
pub fn payload_text(payload: &RawJson) -> String {
    #[derive(Deserialize)]
    struct TextPayload {
        text: String,
    }
    payload
        .parse_as::<String>()
        .or_else(|| payload.parse_as::<TextPayload>().map(|object| object.text))
        .unwrap_or_else(|| payload.as_str().to_owned())
}

impl NewMessage {
    /// Returns the message with the number assigned by the store.
    pub fn with_id(self, id: u64) -> Message {
        Message {
            id,
            from: self.from,
            to: self.to,
            deliver_at: (Timestamp::from_millis(self.deliver_at) != self.created_at)
                .then(|| Timestamp::from_millis(self.deliver_at)),
            created_at: self.created_at,
            reply_to: self.reply_to,
            run: self.run,
            payload: self.payload,
            read_at: None,
        }
    }
}

/// A message in a mailbox.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Number: 1, 2, 3, … across all mailboxes, in commit order.
    pub id: u64,
    /// The sender.
    pub from: AgentId,
    /// The recipient, whose mailbox it is in.
    pub to: AgentId,
    /// When it was sent.
    pub created_at: Timestamp,
    /// When it becomes visible to the recipient, if its delivery is delayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliver_at: Option<Timestamp>,
    /// Number of the message it replies to.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<u64>,
    /// The run of the society it belongs to.
    #[serde(flatten, with = "crate::society::run_id_json::optional")]
    #[schemars(with = "crate::society::run_id_json::OptionalRunIdFields<RunId>")]
    pub run: Option<RunId>,
    /// Content: text or any JSON value.
    #[schemars(with = "serde_json::Value")]
    pub payload: RawJson,
    /// When its recipient read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_at: Option<Timestamp>,
}

/// State that a `send_message` request is checked against.
#[derive(Debug, Clone, Copy)]
pub struct SendMessageContext<'a> {
    /// The agents named in `to`, and those of the roles named in `to`; see
    /// [`SendMessageParams::agents_and_roles`].
    pub agents: &'a [Agent],
    /// The run whose `root` is addressed: the sender's run, or the one that a sender outside of it named.
    pub run: Option<&'a RunId>,
    /// The message it replies to, if it is in the sender's mailbox or was sent by the sender.
    pub replied_to: Option<&'a Message>,
}

/// Checks a `send_message` request and returns one message for each recipient, in the order they were named,
/// with the changeset that sends them. Fails with `invalid_message`, `message_not_found` (the message it
/// replies to), `recipient_not_found` or `invalid_agent_id`.
pub fn decide_send_message(
    params: &SendMessageParams,
    context: SendMessageContext<'_>,
    sender: &Caller,
    now: i64,
) -> Result<(Vec<NewMessage>, Changeset), Refusal> {
    check_payload(&params.payload)?;
    let delay = params.delay_ms.unwrap_or(0);
    if delay > MAX_DELAY_MS {
        return Err(MessageRefusal::DelayTooLong.into());
    }
    if let Some(id) = params.reply_to
        && context.replied_to.is_none()
    {
        return Err(message_not_found(id));
    }
    let recipients = resolve_recipients(&params.to, context, sender)?;
    let created_at = Timestamp::from_millis(now);
    let deliver_at = now.saturating_add(saturating_cast::<i64>(delay));
    let mut changes = Changeset::new(sender, created_at.clone());
    let mut messages = Vec::with_capacity(recipients.len());
    for (to, run) in recipients {
        let message = NewMessage {
            from: sender.id.clone(),
            to,
            created_at: created_at.clone(),
            deliver_at,
            reply_to: params.reply_to,
            run,
            payload: params.payload.clone(),
        };
        changes.events.push(message_sent_event(&message));
        changes
            .writes
            .push(StoreWrite::SendMessage(Box::new(message.clone())));
        messages.push(message);
    }
    Ok((messages, changes))
}

/// Creates the `message.sent` event of a message.
pub fn message_sent_event(message: &NewMessage) -> NewEvent {
    let data = MessageSentEvent {
        from: message.from.clone(),
        to: message.to.clone(),
        reply_to: message.reply_to,
        run: message.run.clone(),
        bytes: saturating_cast(message.payload.as_str().len()),
    };
    NewEvent::new(
        EventSubject::Mailbox(message.to.clone()),
        EventPayload::MessageSent(data),
    )
}

/// Returns the changeset that marks messages as read, with the event for the log.
pub fn decide_read_messages(reader: &Caller, ids: Vec<u64>, now: &Timestamp) -> Changeset {
    let subject = EventSubject::Mailbox(reader.id.clone());
    let data = MessagesReadEvent { ids: ids.clone() };
    let event = NewEvent::new(subject, EventPayload::MessageRead(data));
    Changeset::new(reader, now.clone())
        .with_write(StoreWrite::ReadMessages {
            recipient: reader.id.clone(),
            ids,
        })
        .with_event(event)
}

/// Returns the refusal for a message that does not exist or is not visible to the caller.
pub fn message_not_found(id: u64) -> Refusal {
    Refusal::from(MessageRefusal::NotFound { id })
}

fn check_payload(payload: &RawJson) -> Result<(), Refusal> {
    let empty = payload.is_null()
        || payload
            .parse_as::<String>()
            .is_some_and(|text| text.trim().is_empty());
    if empty {
        return Err(MessageRefusal::Empty.into());
    }
    if payload.as_str().len() > MAX_PAYLOAD_BYTES {
        return Err(MessageRefusal::TooLong.into());
    }
    if payload.depth() > MAX_PAYLOAD_DEPTH || payload.has_unpaired_surrogate() {
        return Err(MessageRefusal::TooDeep.into());
    }
    Ok(())
}

/// Resolves `to` to recipients without duplicates, in the order they were named, each with the run that the
/// message belongs to.
fn resolve_recipients(
    to: &MessageRecipients,
    context: SendMessageContext<'_>,
    sender: &Caller,
) -> Result<Vec<(AgentId, Option<RunId>)>, Refusal> {
    let mut found: Vec<(AgentId, Option<RunId>)> = Vec::new();
    let mut add = |recipient: (AgentId, Option<RunId>)| {
        if !found.contains(&recipient) {
            found.push(recipient);
        }
    };
    let run = || sender.run.clone();
    // A member of a run sees the run as an organisation and has no tool for the registry.
    let in_run = sender.run.is_some();
    for name in to.names() {
        match name.strip_prefix(ROLE_PREFIX) {
            Some(role) => {
                let mut any = false;
                let role_holders = context
                    .agents
                    .iter()
                    .filter(|a| is_active_agent(a) && a.role == role);
                for agent in role_holders.filter(|agent| can_message(sender, agent)) {
                    any = true;
                    // A message to the sender's own role is for the other agents of that role.
                    if agent.id != sender.id {
                        add((agent.id.clone(), agent.run.clone().or_else(run)));
                    }
                }
                if !any {
                    return Err(MessageRefusal::NoAgentWithRole {
                        role: quote_untrusted(role),
                        in_run,
                    }
                    .into());
                }
            }
            None => add(resolve_recipient(name, context, sender)?),
        }
    }
    if found.is_empty() {
        return Err(MessageRefusal::NoRecipient { in_run }.into());
    }
    if found.len() > MAX_RECIPIENTS {
        return Err(MessageRefusal::TooManyRecipients.into());
    }
    Ok(found)
}

/// Returns whether a sender can send messages to an agent: messages do not cross from one run to another.
fn can_message(sender: &Caller, agent: &Agent) -> bool {
    sender.run.is_none() || agent.run.is_none() || sender.run == agent.run
}

fn resolve_recipient(
    name: &str,
    context: SendMessageContext<'_>,
    sender: &Caller,
) -> Result<(AgentId, Option<RunId>), Refusal> {
    let in_run = sender.run.is_some();
    let id: AgentId = name.parse()?;
    if id.is_user() {
        return Ok((id, sender.run.clone()));
    }
    if id.is_root() {
        let replied_run = context.replied_to.and_then(|message| message.run.as_ref());
        let run = sender.run.as_ref().or(context.run).or(replied_run);
        return match run {
            Some(run) => Ok((id, Some(run.clone()))),
            None => Err(MessageRefusal::RootWithoutRun { in_run }.into()),
        };
    }
    match context.agents.iter().find(|agent| agent.id == id) {
        Some(agent) if !is_active_agent(agent) => {
            Err(MessageRefusal::RecipientRetired { agent: id, in_run }.into())
        }
        Some(agent) if !can_message(sender, agent) => {
            Err(MessageRefusal::RecipientInOtherRun { agent: id, in_run }.into())
        }
        Some(agent) => {
            let run = agent.run.clone().or_else(|| sender.run.clone());
            Ok((id, run))
        }
        None => Err(MessageRefusal::RecipientUnknown { agent: id, in_run }.into()),
    }
}

fn is_active_agent(agent: &Agent) -> bool {
    agent.status == AgentStatus::Active
}
