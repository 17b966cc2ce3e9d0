//! Payloads of events about the runs of the society and their members. The run is the subject of the event.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::AgentId;
use crate::society::budget::BudgetLimits;
use crate::society::member::MemberStatus;

/// Data of the `society.started` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunStartedEvent {
    /// The team template.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// The agent or person that started the run.
    pub by: AgentId,
}

/// Data of `society.paused` and `society.resumed`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct RunPausedEvent {
    /// The member; absent if the whole run was paused or resumed.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<AgentId>,
    /// The reason.
    #[serde(default, rename = "why", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Data of the `society.finished` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct RunFinishedEvent {
    /// Time from the start of the run, in milliseconds.
    pub duration_ms: u64,
}

/// Data of the `society.hired` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberHiredEvent {
    /// The new member.
    pub agent: AgentId,
    /// The member that hired it.
    pub parent: AgentId,
    /// Role of the new member.
    pub role: String,
    /// Depth of the new member below the head of the run.
    pub depth: u32,
}

/// Data of `society.dismissed`, and of `society.stopped`, which names the head of the run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberDismissedEvent {
    /// The member.
    pub agent: AgentId,
    /// The reason.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Data of the `society.stands` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct MemberStatusChangedEvent {
    /// The member.
    pub agent: AgentId,
    /// Its new status.
    pub status: MemberStatus,
    /// The reason.
    #[serde(default, rename = "why", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Data of the `society.asked` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallApprovalRequestedEvent {
    /// The member that makes the call.
    pub agent: AgentId,
    /// Id of the approval.
    pub id: String,
    /// The tool.
    pub tool: String,
}

/// Data of the `society.decided` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct CallApprovalDecidedEvent {
    /// The member that makes the call.
    pub agent: AgentId,
    /// Id of the approval.
    pub id: String,
    /// The tool.
    pub tool: String,
    /// Whether the call may run.
    pub allowed: bool,
}

/// Data of the `society.budget` event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct BudgetChangedEvent {
    /// The member.
    pub agent: AgentId,
    /// Its new limits.
    pub limits: BudgetLimits,
}
