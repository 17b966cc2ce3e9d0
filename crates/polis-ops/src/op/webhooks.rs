//! Operations that register, list and remove webhooks. Delivery is done by the server.

use polis_core::record::{RecordKind, RecordName, Stored};
use polis_core::webhook::{self, Fresh, Webhook, WebhookAdd, WebhookView};
use polis_core::{AgentId, Code};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::{PortError, Receipt};

/// Maximum number of webhooks: each is called for every event.
const MAX_WEBHOOKS: u32 = 100;

/// A webhook just registered, with the secret that is shown this once.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct AddedWebhook {
    /// What signatures are made with.
    pub secret: String,
    /// The webhook.
    #[serde(flatten)]
    pub view: WebhookView,
}

/// The parameters of removing a webhook.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct WebhookRemove {
    /// Its id.
    pub id: String,
}

/// A webhook is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RemovedWebhook {
    /// Always true.
    pub removed: bool,
}

/// All webhooks, by id.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct WebhookList {
    /// The webhooks.
    pub webhooks: Vec<WebhookView>,
}

/// Registers a webhook.
pub async fn add_webhook(
    polis: &Polis,
    caller: &AgentId,
    params: &WebhookAdd,
) -> Result<AddedWebhook, OpError> {
    let caller = &polis.caller(caller).await?;
    webhook::check_list(caller)?;
    let (id, secret) = (polis.chance.token(), polis.chance.token());
    let fresh = &Fresh {
        id: id.get(20..).unwrap_or(&id).to_owned(),
        // In the format of Standard Webhooks, so that libraries accept it unchanged. Hexadecimal digits are valid
        // base64.
        secret: format!("whsec_{secret}{}", polis.chance.token()),
        head: polis.store.last_sequence().await?,
    };
    let decide = || -> Attempt<'_, Webhook> {
        Box::pin(async move {
            let there = polis
                .store
                .records(RecordKind::Webhook, None, MAX_WEBHOOKS)
                .await?;
            webhook::check_room(there.len() < usize::try_from(MAX_WEBHOOKS).unwrap_or(0))?;
            Ok(webhook::decide_add(
                params,
                fresh.clone(),
                caller,
                &polis.now(),
            )?)
        })
    };
    let added = |hook: Webhook, _: &Receipt| AddedWebhook {
        secret: hook.secret.clone(),
        view: hook.view(),
    };
    polis.settle(decide, added).await
}

/// Removes a webhook.
pub async fn remove_webhook(
    polis: &Polis,
    caller: &AgentId,
    params: &WebhookRemove,
) -> Result<RemovedWebhook, OpError> {
    let caller = &polis.caller(caller).await?;
    webhook::check_list(caller)?;
    let name = &RecordName::new(RecordKind::Webhook, &params.id);
    let decide = || -> Attempt<'_, ()> {
        Box::pin(async move {
            let Some(stored) = polis.store.record(name).await? else {
                return Err(webhook::not_found(&name.id).into());
            };
            let hook = read(&stored)?;
            let changes = webhook::decide_remove(&hook, stored.revision, caller, &polis.now())?;
            Ok(((), changes))
        })
    };
    polis
        .settle(decide, |(), _| RemovedWebhook { removed: true })
        .await
}

/// Lists all webhooks.
pub async fn list_webhooks(polis: &Polis, caller: &AgentId) -> Result<WebhookList, OpError> {
    webhook::check_list(&polis.caller(caller).await?)?;
    let stored = polis
        .store
        .records(RecordKind::Webhook, None, MAX_WEBHOOKS)
        .await?;
    let webhooks = stored.iter().map(|stored| Ok(read(stored)?.view()));
    Ok(WebhookList {
        webhooks: webhooks.collect::<Result<_, OpError>>()?,
    })
}

fn read(stored: &Stored) -> Result<Webhook, OpError> {
    serde_json::from_str(&stored.body).map_err(|e| {
        PortError::new(
            Code::StoreCorrupt,
            "A webhook in the store cannot be read.",
            "register it again",
        )
        .because(e.to_string())
        .into()
    })
}
