//! Payloads of events about agents, tokens, messages, artifacts and webhooks. They contain no secret, no content of a
//! message or an artifact, and no URL.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::agent::Agent;
use crate::id::AgentId;
use crate::society::RunId;
use crate::timestamp::Timestamp;
use crate::token::TokenScopes;

/// Data of `agent.added` and `agent.retired`: the agent's entry in the registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
pub struct AgentRecordEvent {
    /// The entry after the change.
    pub agent: Agent,
}

/// Data of `token.issued` and `token.revoked`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TokenEvent {
    /// Id of the token.
    pub token: String,
    /// Scopes of the token.
    pub scopes: TokenScopes,
    /// When the token expires; absent if it does not.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
    /// Whether it is the token of a browser session.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub session: bool,
}

/// Data of the `message.sent` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MessageSentEvent {
    /// The sender.
    pub from: AgentId,
    /// The recipient.
    pub to: AgentId,
    /// The message that it answers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reply_to: Option<u64>,
    /// The run it belongs to.
    #[serde(flatten, with = "crate::society::run_id_json::optional")]
    #[schemars(with = "crate::society::run_id_json::OptionalRunIdFields<RunId>")]
    pub run: Option<RunId>,
    /// Size of the content, in bytes of JSON.
    pub bytes: u64,
}

/// Data of the `message.read` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MessagesReadEvent {
    /// Numbers of the messages.
    pub ids: Vec<u64>,
}

/// Data of the `artifact.put` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ArtifactPutEvent {
    /// Type of the artifact.
    #[serde(rename = "type")]
    pub artifact_type: String,
    /// The run it belongs to.
    #[serde(flatten, with = "crate::society::run_id_json::optional")]
    #[schemars(with = "crate::society::run_id_json::OptionalRunIdFields<RunId>")]
    pub run: Option<RunId>,
    /// Size of the content, in bytes of JSON.
    pub bytes: u64,
}

/// Data of `webhook.added` and `webhook.removed`. The URL is left out, because it may contain a password.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct WebhookEvent {
    /// The kinds it delivers; all if empty.
    pub kinds: Vec<String>,
}
