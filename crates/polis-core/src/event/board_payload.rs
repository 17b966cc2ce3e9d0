//! Payloads of events about boards, their decisions and milestones. They never contain the text of a board: a change
//! of the text is recorded with its size only.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::board::DecisionStatus;
use crate::timestamp::Timestamp;

/// Data of an event that changed the text of a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BoardChangedEvent {
    /// Number of bytes written.
    pub bytes: u64,
}

/// Data of an event about the file of a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BoardFileEvent {
    /// The board's version.
    pub version: u64,
    /// The size of the board's text, in bytes.
    pub bytes: u64,
}

/// Data of an event about the lock of a board.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct BoardLockEvent {
    /// When the lock expires; absent if it was released.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<Timestamp>,
}

/// Data of an event about a decision.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct DecisionChangedEvent {
    /// Id of the decision.
    pub decision: String,
    /// Status after the change.
    pub status: DecisionStatus,
}

/// Data of an event about a milestone: none.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MilestoneChangedEvent {}
