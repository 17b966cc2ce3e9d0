//! Operations that register, list and remove webhooks. Delivery is done by the server.

use polis_core::record::{RecordKind, RecordName, StoredRecord};
use polis_core::webhook::{self, Webhook, WebhookAddParams, WebhookSeed, WebhookView};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::port::{PortError, Receipt};
use crate::refusal_tables::OperationRefusal;
use crate::request::{AttemptFuture, Request};

/// Maximum number of webhooks: each is called for every event.
const MAX_WEBHOOKS: u32 = 100;

/// A new webhook; its secret is returned only once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WebhookAddResult {
    /// Secret that signs the deliveries.
    pub secret: String,
    /// The webhook.
    #[serde(flatten)]
    pub view: WebhookView,
}

/// Parameters of `remove_webhook`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookRemoveParams {
    /// Its id.
    pub id: String,
}

/// Result of removing a webhook.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WebhookRemoveResult {
    /// Always true.
    pub removed: bool,
}

/// All webhooks, ordered by id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WebhookList {
    /// The webhooks.
    pub webhooks: Vec<WebhookView>,
}

/// Registers a webhook. Fails if the caller may not manage webhooks, or if there are already 100.
pub async fn add_webhook(
    request: &Request,
    params: &WebhookAddParams,
) -> Result<WebhookAddResult, OpError> {
    let caller = &request.resolve_caller().await?;
    webhook::check_may_list_webhooks(caller)?;
    let (id, secret) = (
        request.app.random.random_token(),
        request.app.random.random_token(),
    );
    let seed = &WebhookSeed {
        id: id.get(20..).unwrap_or(&id).to_owned(),
        // In the format of Standard Webhooks, so that libraries accept it unchanged. Hexadecimal digits are
        // valid base64.
        secret: format!("whsec_{secret}{}", request.app.random.random_token()),
        head: request.app.store.last_sequence().await?,
    };
    let decide = || -> AttemptFuture<'_, Webhook> {
        Box::pin(async move {
            let existing = request
                .app
                .store
                .records(RecordKind::Webhook, None, MAX_WEBHOOKS)
                .await?;
            webhook::check_webhook_limit(
                existing.len() < usize::try_from(MAX_WEBHOOKS).unwrap_or(0),
            )?;
            Ok(webhook::decide_add_webhook(
                params,
                seed.clone(),
                caller,
                &request.app.now(),
            )?)
        })
    };
    let added = |hook: Webhook, _: &Receipt| WebhookAddResult {
        secret: hook.secret.clone(),
        view: hook.into_view(),
    };
    request.retry_on_conflict(decide, added).await
}

/// Removes a webhook. Fails if the caller may not manage webhooks, or if it does not exist.
pub async fn remove_webhook(
    request: &Request,
    params: &WebhookRemoveParams,
) -> Result<WebhookRemoveResult, OpError> {
    let caller = &request.resolve_caller().await?;
    webhook::check_may_list_webhooks(caller)?;
    let name = &RecordName::new(RecordKind::Webhook, &params.id);
    let decide = || -> AttemptFuture<'_, ()> {
        Box::pin(async move {
            let Some(stored) = request.app.store.record(name).await? else {
                return Err(webhook::webhook_not_found(&name.id).into());
            };
            let hook = parse_webhook(&stored)?;
            let changes =
                webhook::decide_remove_webhook(&hook, stored.revision, caller, &request.app.now())?;
            Ok(((), changes))
        })
    };
    request
        .retry_on_conflict(decide, |(), _| WebhookRemoveResult { removed: true })
        .await
}

/// Returns all webhooks, ordered by id. Fails if the caller may not manage webhooks.
pub async fn list_webhooks(request: &Request) -> Result<WebhookList, OpError> {
    webhook::check_may_list_webhooks(&request.resolve_caller().await?)?;
    let stored = request
        .app
        .store
        .records(RecordKind::Webhook, None, MAX_WEBHOOKS)
        .await?;
    let webhooks = stored
        .iter()
        .map(|stored| Ok(parse_webhook(stored)?.into_view()));
    Ok(WebhookList {
        webhooks: webhooks.collect::<Result<_, OpError>>()?,
    })
}

fn parse_webhook(stored: &StoredRecord) -> Result<Webhook, OpError> {
    serde_json::from_str(&stored.body).map_err(|e| {
        PortError::from(OperationRefusal::WebhookDamaged)
            .with_source(e.to_string())
            .into()
    })
}
