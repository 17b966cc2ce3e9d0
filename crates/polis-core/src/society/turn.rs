//! Conversation turns: the stored form of a member's conversation with its model, which is append-only.
//!
//! A turn is what one commit to the store adds to the conversation: one or more entries, each with messages
//! read, a response of the model, the result of a tool call, a note of the runtime or a summary. An entry
//! contains its message as the exact JSON text used in prompts, so that a prompt is built by concatenating
//! the entries since the last summary.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json::RawJson;

/// The entries that one commit adds to a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ConversationTurn {
    /// Time of the turn (milliseconds).
    pub at: i64,
    /// Added entries, in order.
    #[serde(rename = "of")]
    pub entries: Vec<ConversationEntry>,
}

/// One entry of a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum ConversationEntry {
    /// Messages read from the mailbox.
    #[serde(rename = "heard")]
    Received {
        /// Numbers of the messages.
        ids: Vec<u64>,
        /// The messages as sent to the model (`role: user`).
        #[serde(rename = "m")]
        #[schemars(with = "serde_json::Value")]
        message: RawJson,
    },
    /// Answer of the model (`role: assistant`), with its tool calls.
    #[serde(rename = "said")]
    Response {
        /// The answer.
        #[serde(rename = "m")]
        #[schemars(with = "serde_json::Value")]
        message: RawJson,
        /// Tokens, cost and time of the answer.
        #[serde(rename = "used")]
        usage: ModelUsage,
        /// Number of further calls that were dropped because there were too many.
        #[serde(default, skip_serializing_if = "crate::society::turn::is_zero")]
        dropped: u64,
    },
    /// Result of a call (`role: tool`).
    #[serde(rename = "did")]
    ToolResult {
        /// The result.
        #[serde(rename = "m")]
        #[schemars(with = "serde_json::Value")]
        message: RawJson,
        /// Outcome of the call.
        #[serde(rename = "end")]
        outcome: CallOutcome,
        /// Duration of the call (milliseconds).
        #[serde(default)]
        ms: u64,
    },
    /// Note of the runtime to the model (`role: user`).
    #[serde(rename = "told")]
    Note {
        /// The note.
        #[serde(rename = "m")]
        #[schemars(with = "serde_json::Value")]
        message: RawJson,
    },
    /// Compaction: a summary that replaces all earlier entries in the context (`role: user`).
    #[serde(rename = "summed")]
    Summary {
        /// The summary.
        #[serde(rename = "m")]
        #[schemars(with = "serde_json::Value")]
        message: RawJson,
        /// Tokens, cost and time of the summary.
        #[serde(rename = "used")]
        usage: ModelUsage,
    },
}

/// Tokens, cost and time that an answer of a model used.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct ModelUsage {
    /// Tokens of the prompt.
    #[serde(rename = "in")]
    pub prompt: u64,
    /// Tokens of the answer.
    #[serde(rename = "out")]
    pub response: u64,
    /// Whether the tokens were estimated because the endpoint did not report them.
    #[serde(default, rename = "est", skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// Cost, in millionths of the currency of the prices.
    #[serde(
        default,
        rename = "cost",
        skip_serializing_if = "crate::society::turn::is_zero"
    )]
    pub micros: u64,
    /// Duration (milliseconds).
    #[serde(default)]
    pub ms: u64,
    /// Number of attempts, if more than one.
    #[serde(
        default,
        rename = "tries",
        skip_serializing_if = "crate::society::turn::is_zero"
    )]
    pub attempts: u64,
    /// The model, if it differs from that of the previous turn.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Outcome of a tool call.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallOutcome {
    /// The call succeeded.
    Ok,
    /// The call was refused or failed; the model got the reason.
    Failed,
    /// The process ended during the call; the outcome is unknown.
    Interrupted,
    /// A person denied the call.
    Denied,
}
