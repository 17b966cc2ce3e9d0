//! Webhooks: registration, event filters, and delivery state.
//!
//! The server delivers the events. A webhook stores its position in the log, so that delivery continues there
//! after a restart; several servers on one store divide the work by a lease in the record.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::{Caller, Standing};
use crate::changeset::{Changeset, Expect, Write};
use crate::event::{Event, NewEvent, Subject, kind};
use crate::id::{AgentId, quoted};
use crate::record::{RecordBody, RecordKind, RecordName};
use crate::refusal::{Code, Refusal};
use crate::time::Timestamp;

/// Maximum length of a URL, in bytes.
const MAX_URL: usize = 2_000;

/// A webhook as stored.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct Webhook {
    /// Its id.
    pub id: String,
    /// The URL that events are sent to.
    pub url: String,
    /// Secret that the webhook signature is computed with.
    pub secret: String,
    /// Event kinds to deliver; all if empty. `task.` matches all task events.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// Who registered it.
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
    /// The last error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
    /// The server that holds the delivery lease.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sender: Option<String>,
    /// When the delivery lease expires (milliseconds).
    #[serde(default)]
    pub sender_until: i64,
}

/// A webhook as it is shown: without its secret.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct WebhookView {
    /// Its id.
    pub id: String,
    /// Where events go.
    pub url: String,
    /// Which kinds of events; all if there are none.
    pub kinds: Vec<String>,
    /// Who registered it.
    pub created_by: AgentId,
    /// When.
    pub created_at: Timestamp,
    /// Everything up to this place in the log was delivered, or is not for it.
    pub delivered: u64,
    /// How often sending has failed in a row.
    pub failures: u32,
    /// What went wrong the last time.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_error: Option<String>,
}

/// What to register.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookAdd {
    /// Where events go: http:// or https://.
    pub url: String,
    /// Which kinds of events, such as `task.completed`, or `task.` for all of tasks; all if left out.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub kinds: Vec<String>,
    /// Begin after this place in the log; with what comes from now on if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub since: Option<u64>,
}

/// Random values and the log position for a new webhook.
#[derive(Debug, Clone)]
pub struct Fresh {
    /// Its id.
    pub id: String,
    /// Its secret.
    pub secret: String,
    /// Position of the newest event.
    pub head: u64,
}

impl Webhook {
    /// Returns the webhook without its secret.
    pub fn view(self) -> WebhookView {
        WebhookView {
            id: self.id,
            url: self.url,
            kinds: self.kinds,
            created_by: self.created_by,
            created_at: self.created_at,
            delivered: self.delivered,
            failures: self.failures,
            last_error: self.last_error,
        }
    }

    /// Returns whether an event passes the filter.
    pub fn wants(&self, event: &Event) -> bool {
        self.kinds.is_empty() || self.kinds.iter().any(|kind| matches(kind, &event.kind))
    }

    /// Returns the write that stores its state.
    pub fn put(&self, expect: Expect) -> Write {
        Write::PutRecord {
            name: name(&self.id),
            expect,
            expires_at: None,
            body: RecordBody::Text(serde_json::to_string(self).unwrap_or_default()),
        }
    }
}

/// Returns whether an event kind matches a filter: an exact kind such as `task.claimed`, or a prefix such as
/// `task.`.
pub fn matches(wanted: &str, kind: &str) -> bool {
    wanted == kind || (wanted.ends_with('.') && kind.starts_with(wanted))
}

/// Decides the registration of a webhook. Only the person may register one, because it makes the server call a
/// URL.
pub fn decide_add(
    params: &WebhookAdd,
    fresh: Fresh,
    by: &Caller,
    now: &Timestamp,
) -> Result<(Webhook, Changeset), Refusal> {
    only_the_person(by)?;
    check_url(&params.url)?;
    if let Some(bad) = params.kinds.iter().find(|kind| !is_kind(kind)) {
        return Err(invalid(
            &format!("{} is not a kind of event.", quoted(bad)),
            "name kinds as `polis log` shows them, such as task.completed, or task. for all of them",
        ));
    }
    let hook = Webhook {
        id: fresh.id,
        url: params.url.clone(),
        secret: fresh.secret,
        kinds: params.kinds.clone(),
        created_by: by.id.clone(),
        created_at: now.clone(),
        delivered: params.since.unwrap_or(fresh.head).min(fresh.head),
        failures: 0,
        retry_at: None,
        last_error: None,
        sender: None,
        sender_until: 0,
    };
    let changes = Changeset::by(by, now.clone())
        .write(hook.put(Expect::Absent))
        .event(told(kind::WEBHOOK_ADDED, &hook));
    Ok((hook, changes))
}

/// Decides the removal of a webhook.
pub fn decide_remove(
    hook: &Webhook,
    revision: u64,
    by: &Caller,
    now: &Timestamp,
) -> Result<Changeset, Refusal> {
    only_the_person(by)?;
    Ok(Changeset::by(by, now.clone())
        .write(Write::DeleteRecord {
            name: name(&hook.id),
            expect: Expect::Revision(revision),
        })
        .event(told(kind::WEBHOOK_REMOVED, hook)))
}

/// Fails with `permission_denied` if the caller may not see webhooks.
pub fn check_list(by: &Caller) -> Result<(), Refusal> {
    only_the_person(by)
}

/// Fails if the maximum number of webhooks is reached.
pub fn check_room(room: bool) -> Result<(), Refusal> {
    if room {
        return Ok(());
    }
    Err(invalid(
        "There are as many webhooks as there may be.",
        "remove one with `polis webhook remove ID`",
    ))
}

/// Returns the refusal for an unknown webhook.
pub fn not_found(id: &str) -> Refusal {
    Refusal::new(
        Code::WebhookNotFound,
        format!("There is no webhook {}.", quoted(id)),
        "run `polis webhook list` to see those there are",
    )
}

fn name(id: &str) -> RecordName {
    RecordName::new(RecordKind::Webhook, id)
}

fn told(kind: &'static str, hook: &Webhook) -> NewEvent {
    // The URL may contain a password, which must not be written to the log.
    NewEvent::of(
        kind,
        Subject::Webhook(hook.id.clone()),
        &serde_json::json!({ "kinds": hook.kinds }),
    )
}

fn only_the_person(by: &Caller) -> Result<(), Refusal> {
    if by.standing == Standing::Human {
        return Ok(());
    }
    Err(Refusal::new(
        Code::PermissionDenied,
        "Permission denied: only the person may see and change webhooks.",
        "ask the person who runs this polis",
    ))
}

fn is_kind(text: &str) -> bool {
    let sound = |c: char| c.is_ascii_lowercase() || matches!(c, '.' | '-');
    (1..=64).contains(&text.len()) && text.contains('.') && text.chars().all(sound)
}

fn check_url(url: &str) -> Result<(), Refusal> {
    let rest = url
        .strip_prefix("https://")
        .or_else(|| url.strip_prefix("http://"));
    let host = rest
        .and_then(|rest| rest.split(['/', '?', '#']).next())
        .unwrap_or_default();
    let plain = url.chars().all(|c| c.is_ascii_graphic());
    if host.is_empty() || !plain || url.len() > MAX_URL {
        return Err(invalid(
            "The webhook's address is not an http:// or https:// URL.",
            "give one such as https://example.org/polis",
        ));
    }
    Ok(())
}

fn invalid(message: &str, hint: &str) -> Refusal {
    Refusal::new(Code::InvalidWebhook, message, hint)
}
