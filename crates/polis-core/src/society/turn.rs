//! Conversations: append-only lists of turns.
//!
//! A turn is what one commit adds to a member's conversation. Messages are stored as the exact text sent to the
//! model, so that a prompt is built by concatenating them.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::json::Raw;

/// What one commit adds to a conversation.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Turn {
    /// When (milliseconds).
    pub at: i64,
    /// What was added, in order.
    pub of: Vec<Entry>,
}

/// One thing in a conversation.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub enum Entry {
    /// Messages from its mailbox.
    Heard {
        /// Their numbers.
        ids: Vec<u64>,
        /// As the model reads them (`role: user`).
        #[schemars(with = "serde_json::Value")]
        m: Raw,
    },
    /// What the model answered (`role: assistant`), with the calls it asks for.
    Said {
        /// The answer.
        #[schemars(with = "serde_json::Value")]
        m: Raw,
        /// What it took.
        used: Used,
        /// How many further calls it asked for that are not carried out, because they were too many.
        #[serde(default, skip_serializing_if = "crate::society::turn::is_zero")]
        dropped: u64,
    },
    /// What came of a call (`role: tool`).
    Did {
        /// The result.
        #[schemars(with = "serde_json::Value")]
        m: Raw,
        /// How it ended.
        end: CallEnd,
        /// How long it took (milliseconds).
        #[serde(default)]
        ms: u64,
    },
    /// What the runtime tells the model (`role: user`).
    Told {
        /// The note.
        #[schemars(with = "serde_json::Value")]
        m: Raw,
    },
    /// A summary of everything before, which leaves the context (`role: user`).
    Summed {
        /// The summary.
        #[schemars(with = "serde_json::Value")]
        m: Raw,
        /// What making it took.
        used: Used,
    },
}

/// What an answer took.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Used {
    /// Tokens of the prompt.
    #[serde(rename = "in")]
    pub prompt: u64,
    /// Tokens of the answer.
    #[serde(rename = "out")]
    pub answer: u64,
    /// Whether these were estimated because the endpoint did not say.
    #[serde(default, rename = "est", skip_serializing_if = "std::ops::Not::not")]
    pub estimated: bool,
    /// Money, in millionths.
    #[serde(
        default,
        rename = "cost",
        skip_serializing_if = "crate::society::turn::is_zero"
    )]
    pub micros: u64,
    /// How long it took (milliseconds).
    #[serde(default)]
    pub ms: u64,
    /// How often it was tried, if more than once.
    #[serde(default, skip_serializing_if = "crate::society::turn::is_zero")]
    pub tries: u64,
    /// The model, if it is another than the turn's before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub model: Option<String>,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde asks with a reference"
)]
pub(crate) fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// How a call ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum CallEnd {
    /// It was carried out.
    Ok,
    /// It was refused, or failed; the model was told why.
    Failed,
    /// The process ended while it was carried out; nobody knows how far it came.
    Interrupted,
    /// A person did not allow it.
    Denied,
}
