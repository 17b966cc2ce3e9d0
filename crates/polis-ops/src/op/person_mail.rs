//! Operations on the person's mailbox: reading messages without marking them as read, and dismissing them.

use polis_core::message::{self, Message};
use polis_core::{AgentId, Caller, Changeset, Code, Refusal, RunId, Standing, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::society::open_letters;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::PersonMailQuery;

/// Maximum number of messages per page, and per dismissal.
const MAX_PAGE: u32 = 200;
/// Default number of messages per page.
const USUAL_PAGE: u32 = 50;

/// The parameters of reading the person's letters.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PersonMail {
    /// Only those to or from this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<AgentId>,
    /// Only of this run; `root` is somebody else in every run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<RunId>,
    /// Only those that the person has neither read nor answered; without the questions of dismissed members.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// Only those before this number: the `earlier` of the page after.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// At most so many; 50 if left out, 200 at most.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Letters of the person.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Letters {
    /// The newest ones, in the order they were written.
    pub messages: Vec<Message>,
    /// Where the page before this one ends; left out if this is the first.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<u64>,
}

/// The parameters of laying letters aside.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ReadMail {
    /// Their numbers.
    pub ids: Vec<u64>,
}

/// Letters that were laid aside.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LaidAside {
    /// Those that were unread until now.
    pub ids: Vec<u64>,
}

/// Returns the messages to and from the person, starting with the newest page. Does not mark messages as read.
pub async fn person_mail(
    polis: &Polis,
    caller: &AgentId,
    params: &PersonMail,
) -> Result<Letters, OpError> {
    check_person(polis, caller).await?;
    let limit = params.limit.unwrap_or(USUAL_PAGE).clamp(1, MAX_PAGE);
    let query = PersonMailQuery {
        with: params.with.clone(),
        run: params.task_id.clone(),
        open: params.open,
        before: params.before,
        now: polis.clock.now_millis(),
        limit: limit + 1,
    };
    let mut messages = match query.open {
        true => open_letters(polis, query).await?,
        false => polis.store.person_mail(&query).await?,
    };
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let more = messages.len() > most;
    messages.truncate(most);
    messages.reverse();
    let earlier = messages.first().filter(|_| more).map(|first| first.id);
    Ok(Letters { messages, earlier })
}

/// Returns one message to or from the person. Does not mark it as read.
pub async fn letter(polis: &Polis, caller: &AgentId, id: u64) -> Result<Message, OpError> {
    check_person(polis, caller).await?;
    let now = polis.clock.now_millis();
    let is_theirs = |message: &Message| {
        if !message.to.is_user() {
            return message.from.is_user();
        }
        let to_come = message.deliver_at.as_ref().and_then(Timestamp::millis);
        to_come.is_none_or(|at| at <= now)
    };
    let found = polis.store.message(id).await?.filter(is_theirs);
    Ok(found.ok_or_else(|| message::not_found(id))?)
}

async fn check_person(polis: &Polis, caller: &AgentId) -> Result<(), OpError> {
    match polis.caller(caller).await?.standing {
        Standing::Human => Ok(()),
        _ => Err(Refusal::new(
            Code::PermissionDenied,
            "These letters are the person's.",
            "read your own with check_messages",
        )
        .into()),
    }
}

/// Marks the given messages of the caller's mailbox as read.
pub async fn read_mail(
    polis: &Polis,
    caller: &AgentId,
    params: &ReadMail,
) -> Result<LaidAside, OpError> {
    let caller = &polis.caller(caller).await?;
    if params.ids.len() > usize::try_from(MAX_PAGE).unwrap_or(usize::MAX) {
        return Err(Refusal::new(
            Code::InvalidInput,
            format!("At most {MAX_PAGE} messages are laid aside at once."),
            "name fewer",
        )
        .into());
    }
    let decide = || -> Attempt<'_, LaidAside> {
        Box::pin(async move {
            let mut ids = Vec::new();
            for id in &params.ids {
                let found = polis.store.message(*id).await?;
                let found = found.filter(|message| is_of(message, caller));
                let found = found.ok_or_else(|| message::not_found(*id))?;
                if found.read_at.is_none() && !ids.contains(id) {
                    ids.push(*id);
                }
            }
            let changes = match ids.is_empty() {
                true => Changeset::by(caller, polis.now()),
                false => message::decide_read(caller, ids.clone(), &polis.now()),
            };
            Ok((LaidAside { ids }, changes))
        })
    };
    polis.settle(decide, |laid, _| laid).await
}

/// Returns whether a message is in the caller's mailbox; root has a separate mailbox in every run.
fn is_of(message: &Message, caller: &Caller) -> bool {
    message.to == caller.id && (!caller.id.is_root() || message.run == caller.run)
}
