//! Webhooks: the stored record, its event filter, and the rules for adding and removing one (only the person
//! may).
//!
//! The server delivers the events (`polis-serve`, `events::webhook`). Each record stores its position in the
//! log, so that delivery continues there after a restart, and a lease, so that of several servers on one
//! store only one delivers to it.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::{Caller, CallerKind};
use crate::changeset::{Changeset, StoreWrite, WritePrecondition};
use crate::event::{Event, EventPayload, EventSubject, NewEvent, WebhookEvent};
use crate::id::{AgentId, quote_untrusted};
use crate::json::to_json_text;
use crate::record::{RecordBody, RecordKind, RecordName};
use crate::refusal::{Reason, Refusal, WebhookRefusal};
use crate::timestamp::Timestamp;

/// Maximum length of a URL, in bytes.
const MAX_URL_BYTES: usize = 2_000;

/// A webhook as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    /// Random id, used in paths and commands.
    pub id: String,
    /// The URL that events are sent to.
    pub url: String,
    /// Secret that the webhook signature is computed with.
    pub secret: String,
    /// Event kinds to deliver; all if empty. `task.` matches all task events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// The person that registered it.
    pub created_by: AgentId,
    /// When it was registered.
    pub created_at: Timestamp,
    /// All events up to this position in the log were delivered or filtered out.
    pub delivered: u64,
    /// Number of consecutive failed deliveries.
    #[serde(default)]
    pub failures: u32,
    /// When to retry after a failure (milliseconds).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub retry_at: Option<i64>,
    /// Error of the last failed delivery, until one succeeds: an English sentence.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The same error as data, which earlier versions do not store.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_failure: Option<Reason>,
    /// The server that holds the delivery lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// When the delivery lease expires (milliseconds).
    #[serde(default)]
    pub sender_until: i64,
}

/// A webhook as shown to callers: without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookView {
    /// Id of the webhook.
    pub id: String,
    /// URL that events are sent to.
    pub url: String,
    /// Event kinds to deliver; all if empty.
    pub kinds: Vec<String>,
    /// The caller that registered it.
    pub created_by: AgentId,
    /// When it was registered.
    pub created_at: Timestamp,
    /// All events up to this position in the log were delivered or filtered out.
    pub delivered: u64,
    /// Number of consecutive failed deliveries.
    pub failures: u32,
    /// Error of the last failed delivery.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The same error as data, for surfaces in other languages.
    #[serde(skip)]
    pub last_failure: Option<Reason>,
}

/// Parameters for registering a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookAddParams {
    /// URL that events are sent to: http:// or https://.
    pub url: String,
    /// Event kinds to deliver, such as `task.completed`, or `task.` for all task events; default: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// Deliver events after this position in the log; default: only new events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
}

/// Random values and the log position for a new webhook.
#[derive(Debug, Clone)]
pub struct WebhookSeed {
    /// Random id of the webhook.
    pub id: String,
    /// Random secret for the webhook's signatures.
    pub secret: String,
    /// Position of the newest event.
    pub head: u64,
}

impl Webhook {
    /// Returns the webhook without its secret.
    pub fn into_view(self) -> WebhookView {
        WebhookView {
            id: self.id,
            url: self.url,
            kinds: self.kinds,
            created_by: self.created_by,
            created_at: self.created_at,
            delivered: self.delivered,
            failures: self.failures,
            last_error: self.last_error,
            last_failure: self.last_failure,
        }
    }

    /// Returns whether an event passes the filter.
    pub fn matches_event(&self, event: &Event) -> bool {
        self.kinds.is_empty()
            || self
                .kinds
                .iter()
                .any(|kind| matches_kind_filter(kind, &event.kind))
    }

    /// Returns the write that stores its state.
    pub fn to_write(&self, expect: WritePrecondition) -> StoreWrite {
        StoreWrite::PutRecord {
            name: webhook_record_name(&self.id),
            expect,
            expires_at: None,
            body: RecordBody::Text(to_json_text(self)),
        }
    }
}

/// Returns whether an event kind matches a filter: an exact kind such as `task.claimed`, or a prefix such as
/// `task.`.
pub fn matches_kind_filter(filter: &str, kind: &str) -> bool {
    filter == kind || (filter.ends_with('.') && kind.starts_with(filter))
}

/// Checks the registration of a webhook and returns it with the changeset. Fails with `permission_denied`
/// unless the caller is the person, because a webhook makes the server call a URL, and with `invalid_webhook`
/// if the URL or a kind is invalid.
pub fn decide_add_webhook(
    params: &WebhookAddParams,
    fresh: WebhookSeed,
    caller: &Caller,
    now: &Timestamp,
) -> Result<(Webhook, Changeset), Refusal> {
    require_person(caller)?;
    check_url(&params.url)?;
    if let Some(invalid) = params.kinds.iter().find(|kind| !is_event_kind(kind)) {
        return Err(WebhookRefusal::InvalidKind {
            kind: quote_untrusted(invalid),
        }
        .into());
    }
    let hook = Webhook {
        id: fresh.id,
        url: params.url.clone(),
        secret: fresh.secret,
        kinds: params.kinds.clone(),
        created_by: caller.id.clone(),
        created_at: now.clone(),
        delivered: params.since.unwrap_or(fresh.head).min(fresh.head),
        failures: 0,
        retry_at: None,
        last_error: None,
        last_failure: None,
        sender: None,
        sender_until: 0,
    };
    let changes = Changeset::new(caller, now.clone())
        .with_write(hook.to_write(WritePrecondition::Absent))
        .with_event(webhook_event(EventPayload::WebhookAdded, &hook));
    Ok((hook, changes))
}

/// Returns the changeset that removes a webhook. Fails with `permission_denied` unless the caller is the
/// person.
pub fn decide_remove_webhook(
    hook: &Webhook,
    revision: u64,
    caller: &Caller,
    now: &Timestamp,
) -> Result<Changeset, Refusal> {
    require_person(caller)?;
    Ok(Changeset::new(caller, now.clone())
        .with_write(StoreWrite::DeleteRecord {
            name: webhook_record_name(&hook.id),
            expect: WritePrecondition::Revision(revision),
        })
        .with_event(webhook_event(EventPayload::WebhookRemoved, hook)))
}

/// Fails with `permission_denied` unless the caller is the person.
pub fn check_may_list_webhooks(caller: &Caller) -> Result<(), Refusal> {
    require_person(caller)
}

/// Fails with `invalid_webhook` unless there is room for another webhook.
pub fn check_webhook_limit(has_capacity: bool) -> Result<(), Refusal> {
    if has_capacity {
        return Ok(());
    }
    Err(WebhookRefusal::TooMany.into())
}

/// Returns the refusal for an unknown webhook.
pub fn webhook_not_found(id: &str) -> Refusal {
    Refusal::from(WebhookRefusal::NotFound {
        id: quote_untrusted(id),
    })
}

fn webhook_record_name(id: &str) -> RecordName {
    RecordName::new(RecordKind::Webhook, id)
}

fn webhook_event(payload: fn(WebhookEvent) -> EventPayload, hook: &Webhook) -> NewEvent {
    let data = WebhookEvent {
        kinds: hook.kinds.clone(),
    };
    NewEvent::new(EventSubject::Webhook(hook.id.clone()), payload(data))
}

fn require_person(caller: &Caller) -> Result<(), Refusal> {
    if caller.kind == CallerKind::Person {
        return Ok(());
    }
    Err(Refusal::from(WebhookRefusal::OnlyPersonManages))
}

fn is_event_kind(text: &str) -> bool {
    let is_allowed = |c: char| c.is_ascii_lowercase() || matches!(c, '.' | '-');
    (1..=64).contains(&text.len()) && text.contains('.') && text.chars().all(is_allowed)
}

fn check_url(url: &str) -> Result<(), Refusal> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let host = rest
        .and_then(|rest| rest.split(['/', '?', '#']).next())
        .unwrap_or_default();
    let plain = url.chars().all(|c| c.is_ascii_graphic());
    if host.is_empty() || !plain || url.len() > MAX_URL_BYTES {
        return Err(WebhookRefusal::InvalidUrl.into());
    }
    Ok(())
}
