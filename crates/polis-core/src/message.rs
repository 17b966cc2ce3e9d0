//! Messages between agents: validation, addressing, and the events that the log records.
//!
//! A message is in its recipient's mailbox from the commit that sends it, and it remains there after it was
//! read. Its payload is never written to the log, because a mailbox is private to its owner.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::{Agent, AgentStatus};
use crate::caller::Caller;
use crate::changeset::{Changeset, Write};
use crate::event::{NewEvent, Subject, kind};
use crate::id::{AgentId, quoted};
use crate::json::Raw;
use crate::refusal::{Code, Refusal};
use crate::society::RunId;
use crate::time::Timestamp;

/// Maximum size of a payload, in bytes of JSON.
pub const MAX_PAYLOAD: usize = 256 * 1024;
/// Maximum nesting depth of a payload.
const MAX_DEPTH: usize = 64;
/// Maximum number of recipients of one `send_message` call.
pub const MAX_RECIPIENTS: usize = 1_000;
/// Maximum delay: 30 days.
pub const MAX_DELAY_MS: u64 = 30 * 24 * 3_600 * 1_000;
/// Prefix of a role in `to`.
const ROLE: &str = "role:";

/// One name or several.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected an agent's id, `user`, `role:ROLE`, or a list of these"
)]
pub enum Recipients {
    /// One.
    One(String),
    /// Several.
    Several(Vec<String>),
}

impl Recipients {
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
pub struct SendMessage {
    /// An agent's id, `user`, `role:ROLE`, or a list of these.
    pub to: Recipients,
    /// Text or any JSON.
    #[schemars(with = "serde_json::Value")]
    pub payload: Raw,
    /// The message it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<u64>,
    /// Deliver it only after so many milliseconds.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub delay_ms: Option<u64>,
}

impl SendMessage {
    /// Returns the agents and the roles named in `to`.
    pub fn named(&self) -> (Vec<AgentId>, Vec<&str>) {
        let (mut agents, mut roles) = (Vec::new(), Vec::new());
        for name in self.to.names() {
            match name.strip_prefix(ROLE) {
                Some(role) => roles.push(role),
                // Invalid names are refused by `decide_send`.
                None => agents.extend(name.parse::<AgentId>()),
            }
        }
        (agents, roles)
    }
}

/// A message that the store has not yet numbered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewMessage {
    /// The sender.
    pub from: AgentId,
    /// The recipient, whose mailbox it is put into.
    pub to: AgentId,
    /// When it was sent.
    pub created_at: Timestamp,
    /// When it becomes visible to its recipient (milliseconds).
    pub deliver_at: i64,
    /// The message it replies to.
    pub reply_to: Option<u64>,
    /// The run it belongs to.
    pub run: Option<RunId>,
    /// Its content.
    pub payload: Raw,
}

/// Returns a payload as text: a JSON string, the `text` field of an object, or the JSON itself.
pub fn payload_text(payload: &Raw) -> String {
    #[derive(Deserialize)]
    struct WithText {
        text: String,
    }
    payload
        .to::<String>()
        .or_else(|| payload.to::<WithText>().map(|object| object.text))
        .unwrap_or_else(|| payload.text().to_owned())
}

impl NewMessage {
    /// Returns the message with the number assigned by the store.
    pub fn numbered(self, id: u64) -> Message {
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

/// A message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Message {
    /// Its number: 1, 2, 3, … over all mailboxes, in commit order.
    pub id: u64,
    /// Who sent it.
    pub from: AgentId,
    /// Whose mailbox it is in.
    pub to: AgentId,
    /// When it was sent.
    pub created_at: Timestamp,
    /// From when on it is seen, if it was delayed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub deliver_at: Option<Timestamp>,
    /// The message it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<u64>,
    /// The run of the society it belongs to.
    #[serde(default, rename = "taskId", skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// What it says.
    #[schemars(with = "serde_json::Value")]
    pub payload: Raw,
    /// When its recipient read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub read_at: Option<Timestamp>,
}

/// Data of the `message.sent` event.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Sent<'a> {
    from: &'a AgentId,
    to: &'a AgentId,
    #[serde(skip_serializing_if = "Option::is_none")]
    reply_to: Option<u64>,
    #[serde(rename = "taskId", skip_serializing_if = "Option::is_none")]
    run: Option<&'a RunId>,
    bytes: usize,
}

/// State that sending a message is decided on.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The agents named in `to`, and those of the roles named in `to`; see [`SendMessage::named`].
    pub agents: &'a [Agent],
    /// The run whose `root` is addressed: the sender's run, or the one that a sender outside of it named.
    pub run: Option<&'a RunId>,
    /// The message it replies to, if it is in the sender's mailbox or was sent by the sender.
    pub answered: Option<&'a Message>,
}

/// Decides a `send_message` call: one message for each recipient, in the order they were named.
pub fn decide_send(
    params: &SendMessage,
    known: Known<'_>,
    sender: &Caller,
    now: i64,
) -> Result<(Vec<NewMessage>, Changeset), Refusal> {
    check_payload(&params.payload)?;
    let delay = params.delay_ms.unwrap_or(0);
    if delay > MAX_DELAY_MS {
        return Err(invalid(
            "A message can be delayed by 30 days at most.",
            "give a smaller delayMs",
        ));
    }
    if let Some(id) = params.reply_to
        && known.answered.is_none()
    {
        return Err(not_found(id));
    }
    let recipients = resolve(&params.to, known, sender)?;
    let created_at = Timestamp::from_millis(now);
    let deliver_at = now.saturating_add(i64::try_from(delay).unwrap_or(i64::MAX));
    let mut changes = Changeset::by(sender, created_at.clone());
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
        changes.events.push(sent_event(&message));
        changes
            .writes
            .push(Write::SendMessage(Box::new(message.clone())));
        messages.push(message);
    }
    Ok((messages, changes))
}

/// Creates the `message.sent` event of a message.
pub fn sent_event(message: &NewMessage) -> NewEvent {
    let told = Sent {
        from: &message.from,
        to: &message.to,
        reply_to: message.reply_to,
        run: message.run.as_ref(),
        bytes: message.payload.text().len(),
    };
    NewEvent::of(
        kind::MESSAGE_SENT,
        Subject::Mailbox(message.to.clone()),
        &told,
    )
}

/// Returns the changeset that marks messages as read.
pub fn decide_read(reader: &Caller, ids: Vec<u64>, now: &Timestamp) -> Changeset {
    #[derive(Serialize)]
    struct Read<'a> {
        ids: &'a [u64],
    }
    let subject = Subject::Mailbox(reader.id.clone());
    let event = NewEvent::of(kind::MESSAGE_READ, subject, &Read { ids: &ids });
    Changeset::by(reader, now.clone())
        .write(Write::ReadMessages {
            recipient: reader.id.clone(),
            ids,
        })
        .event(event)
}

/// Returns the refusal for a message that does not exist or is not visible to the caller.
pub fn not_found(id: u64) -> Refusal {
    Refusal::new(
        Code::MessageNotFound,
        format!("Message {id} is neither in your mailbox nor from you."),
        "call check_messages to see your messages",
    )
}

fn check_payload(payload: &Raw) -> Result<(), Refusal> {
    let empty = payload.is_null()
        || payload
            .to::<String>()
            .is_some_and(|text| text.trim().is_empty());
    if empty {
        return Err(invalid(
            "The message says nothing.",
            "give a payload: text or JSON",
        ));
    }
    if payload.text().len() > MAX_PAYLOAD {
        return Err(invalid(
            "The message is longer than 256 KiB.",
            "put the long part where both can read it (put_artifact, a board or a file) and send its name",
        ));
    }
    if payload.depth() > MAX_DEPTH || payload.has_half_character() {
        return Err(invalid(
            "The payload is nested too deeply, or has half a character in it.",
            "send a simpler payload",
        ));
    }
    Ok(())
}

/// Resolves `to` to recipients without duplicates, in the order they were named, each with the run that the
/// message belongs to.
fn resolve(
    to: &Recipients,
    known: Known<'_>,
    sender: &Caller,
) -> Result<Vec<(AgentId, Option<RunId>)>, Refusal> {
    let mut found: Vec<(AgentId, Option<RunId>)> = Vec::new();
    let mut add = |one: (AgentId, Option<RunId>)| {
        if !found.contains(&one) {
            found.push(one);
        }
    };
    let run = || sender.run.clone();
    for name in to.names() {
        match name.strip_prefix(ROLE) {
            Some(role) => {
                let mut any = false;
                let held = known
                    .agents
                    .iter()
                    .filter(|a| is_active(a) && a.role == role);
                for agent in held.filter(|agent| reaches(sender, agent)) {
                    any = true;
                    // A message to the sender's own role is for the other agents of that role.
                    if agent.id != sender.id {
                        add((agent.id.clone(), agent.run.clone().or_else(run)));
                    }
                }
                if !any {
                    return Err(unknown(
                        sender,
                        &format!("No active agent has the role {}.", quoted(role)),
                    ));
                }
            }
            None => add(one(name, known, sender)?),
        }
    }
    if found.is_empty() {
        return Err(unknown(sender, "The message is for nobody."));
    }
    if found.len() > MAX_RECIPIENTS {
        return Err(invalid(
            "The message is for more than 1,000 agents.",
            "write it on a board that they read",
        ));
    }
    Ok(found)
}

/// Returns whether a sender can send messages to an agent: messages do not cross from one run to another.
fn reaches(sender: &Caller, agent: &Agent) -> bool {
    sender.run.is_none() || agent.run.is_none() || sender.run == agent.run
}

fn one(name: &str, known: Known<'_>, sender: &Caller) -> Result<(AgentId, Option<RunId>), Refusal> {
    let id: AgentId = name.parse()?;
    if id.is_user() {
        return Ok((id, sender.run.clone()));
    }
    if id.is_root() {
        let answered = known.answered.and_then(|message| message.run.as_ref());
        let run = sender.run.as_ref().or(known.run).or(answered);
        return match run {
            Some(run) => Ok((id, Some(run.clone()))),
            None => Err(unknown(
                sender,
                "Root has a mailbox in every run, and it was not said which is meant.",
            )),
        };
    }
    match known.agents.iter().find(|agent| agent.id == id) {
        Some(agent) if !is_active(agent) => Err(unknown(
            sender,
            &format!("Agent \"{id}\" is retired and gets no messages."),
        )),
        Some(agent) if !reaches(sender, agent) => Err(unknown(
            sender,
            &format!(
                "Agent \"{id}\" works for another run, and messages do not go from run to run."
            ),
        )),
        Some(agent) => {
            let run = agent.run.clone().or_else(|| sender.run.clone());
            Ok((id, run))
        }
        None => Err(unknown(sender, &format!("Nobody is called \"{id}\"."))),
    }
}

fn is_active(agent: &Agent) -> bool {
    agent.status == AgentStatus::Active
}

fn unknown(sender: &Caller, message: &str) -> Refusal {
    // A member of a run sees the run as an organisation and has no tool for the registry.
    let hint = match sender.run {
        Some(_) => "see who is there with get_org; `user` is the person",
        None => "see who is there with `polis agent list`; `user` is the person",
    };
    Refusal::new(Code::RecipientNotFound, message, hint)
}

fn invalid(message: &str, hint: &str) -> Refusal {
    Refusal::new(Code::InvalidMessage, message, hint)
}
