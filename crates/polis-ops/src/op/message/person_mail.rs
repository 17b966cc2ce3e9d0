//! Operations on the person's mail: listing messages without marking them as read (only the person may), and
//! marking messages of the caller's own mailbox as read.

use polis_core::message::{self, Message};
use polis_core::number::saturating_cast;
use polis_core::{AgentId, Caller, CallerKind, Changeset, Refusal, RunId, Timestamp};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::op::society::list_open_mail;
use crate::port::PersonMailQuery;
use crate::refusal_tables::OperationRefusal;
use crate::request::{AttemptFuture, Request};

/// Maximum number of messages per page, and per call that marks messages as read.
const MAX_PAGE_SIZE: u32 = 200;
/// Default number of messages per page.
const DEFAULT_PAGE_SIZE: u32 = 50;

/// Parameters of reading the person's messages.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PersonMailParams {
    /// Only messages to or from this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub with: Option<AgentId>,
    /// Only messages of this run; each run has its own `root`.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "taskId")]
    pub run_id: Option<RunId>,
    /// Only messages that the person has neither read nor answered; without the questions of dismissed
    /// members.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub open: bool,
    /// Only messages before this number: `earlier` of the later page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Maximum number of messages; default: 50, up to 200.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A page of the person's messages.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct PersonMailPage {
    /// The messages, in the order in which they were sent.
    pub messages: Vec<Message>,
    /// Cursor of the earlier page; omitted on the first page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub earlier: Option<u64>,
}

/// Parameters of marking messages as read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct MarkMailReadParams {
    /// Numbers of the messages.
    pub ids: Vec<u64>,
}

/// Result of marking messages as read.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MarkMailReadResult {
    /// Numbers of the messages that were unread before.
    pub ids: Vec<u64>,
}

/// Returns the messages to and from the person, starting with the newest page. Does not mark messages as
/// read. Fails with `permission_denied` if the caller is not the person.
pub async fn list_person_mail(
    request: &Request,
    params: &PersonMailParams,
) -> Result<PersonMailPage, OpError> {
    check_is_person(request).await?;
    let limit = params
        .limit
        .unwrap_or(DEFAULT_PAGE_SIZE)
        .clamp(1, MAX_PAGE_SIZE);
    let query = PersonMailQuery {
        correspondent: params.with.clone(),
        run: params.run_id.clone(),
        open_only: params.open,
        before: params.before,
        now: request.app.clock.now_millis(),
        limit: limit + 1,
    };
    let mut messages = if query.open_only {
        list_open_mail(&request.app, query).await?
    } else {
        request.app.store.person_mail(&query).await?
    };
    let max_messages = saturating_cast::<usize>(limit);
    let more = messages.len() > max_messages;
    messages.truncate(max_messages);
    messages.reverse();
    let earlier = messages.first().filter(|_| more).map(|first| first.id);
    Ok(PersonMailPage { messages, earlier })
}

/// Returns one message to or from the person. Does not mark it as read. Fails with `MessageNotFound` if it is
/// not the person's or not delivered yet.
pub async fn get_person_message(request: &Request, id: u64) -> Result<Message, OpError> {
    check_is_person(request).await?;
    let now = request.app.clock.now_millis();
    let is_theirs = |message: &Message| {
        if !message.to.is_user() {
            return message.from.is_user();
        }
        let delivery_time = message.deliver_at.as_ref().and_then(Timestamp::millis);
        delivery_time.is_none_or(|at| at <= now)
    };
    let found = request.app.store.message(id).await?.filter(is_theirs);
    Ok(found.ok_or_else(|| message::message_not_found(id))?)
}

async fn check_is_person(request: &Request) -> Result<(), OpError> {
    match request.resolve_caller().await?.kind {
        CallerKind::Person => Ok(()),
        _ => Err(Refusal::from(OperationRefusal::PersonMailbox).into()),
    }
}

/// Marks the given messages of the caller's mailbox as read. Fails with `MessageNotFound`, without marking
/// any, if one of them is in another mailbox.
pub async fn mark_mail_read(
    request: &Request,
    params: &MarkMailReadParams,
) -> Result<MarkMailReadResult, OpError> {
    let caller = &request.resolve_caller().await?;
    if params.ids.len() > saturating_cast::<usize>(MAX_PAGE_SIZE) {
        return Err(Refusal::from(OperationRefusal::TooManyRead {
            max_page_size: MAX_PAGE_SIZE,
        })
        .into());
    }
    let decide = || -> AttemptFuture<'_, MarkMailReadResult> {
        Box::pin(async move {
            let mut ids = Vec::new();
            for id in &params.ids {
                let found = request.app.store.message(*id).await?;
                let found = found.filter(|message| is_in_mailbox(message, caller));
                let found = found.ok_or_else(|| message::message_not_found(*id))?;
                if found.read_at.is_none() && !ids.contains(id) {
                    ids.push(*id);
                }
            }
            let changes = if ids.is_empty() {
                Changeset::new(caller, request.app.now())
            } else {
                message::decide_read_messages(caller, ids.clone(), &request.app.now())
            };
            Ok((MarkMailReadResult { ids }, changes))
        })
    };
    request.retry_on_conflict(decide, |result, _| result).await
}

/// Returns whether a message is in the caller's mailbox; root has a separate mailbox in every run.
fn is_in_mailbox(message: &Message, caller: &Caller) -> bool {
    message.to == caller.id && (!caller.id.is_root() || message.run == caller.run)
}
