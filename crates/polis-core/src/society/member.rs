//! Members of a run: their identity and their state.
//!
//! They are two records. The identity is fixed when a member is hired; the state changes with every step. The
//! state is small and is written in every commit of a step at the revision it was read at. So if two workers
//! both believe that they drive the member, only one of them can commit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::brief::TaskBrief;
use super::budget::BudgetAccount;
use super::run_id::MemberKey;
use crate::id::AgentId;
use crate::record::{RecordKind, RecordName};
use crate::timestamp::Timestamp;

/// Identity of a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Member {
    /// The agent.
    pub agent: AgentId,
    /// The agent that hired it; none for `root`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub parent: Option<AgentId>,
    /// Its role's id; none for `root`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_id: Option<String>,
    /// Its role's name.
    pub role: String,
    /// Its brief.
    pub brief: TaskBrief,
    /// Depth below `root`; that of `root` is 0.
    pub depth: u32,
    /// When it was hired.
    pub created_at: Timestamp,
    /// Whether it is an agent outside of any run, or the person, that hired the head of this run. polis does
    /// not drive such a member with a model.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
}

/// State of a member.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberState {
    /// Status of the member.
    pub status: MemberStatus,
    /// Reason, if it is paused, parked or waits for an approval.
    #[serde(default, rename = "why", skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
    /// The agent or person that paused it. Surfaces render it if no reason was given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub paused_by: Option<AgentId>,
    /// The number of the next turn of its conversation; the first is 0.
    pub next_turn: u64,
    /// The first turn that is still in its context.
    #[serde(default, rename = "since")]
    pub first_context_turn: u64,
    /// Number of messages it has read.
    #[serde(default, rename = "heard")]
    pub received_messages: u64,
    /// Number of stored answers of a model, including summaries.
    #[serde(default, rename = "answers")]
    pub response_count: u64,
    /// Id of the tool call with external effects that was started and has no result yet.
    #[serde(default, rename = "doing", skip_serializing_if = "Option::is_none")]
    pub running_call_id: Option<String>,
    /// The tool of that call.
    #[serde(default, rename = "tool", skip_serializing_if = "Option::is_none")]
    pub running_tool: Option<String>,
    /// Budget account of the member.
    #[serde(default)]
    pub account: BudgetAccount,
    /// Size of its context in tokens, as last reported by a model.
    #[serde(default)]
    pub context_tokens: u64,
    /// Agents that it hired and that were not dismissed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<AgentId>,
    /// The worker that drives it, if any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
}

impl MemberState {
    /// Creates the state of a newly hired member with this account.
    pub fn new(account: BudgetAccount) -> Self {
        Self {
            status: MemberStatus::Idle,
            reason: None,
            paused_by: None,
            next_turn: 0,
            first_context_turn: 0,
            received_messages: 0,
            response_count: 0,
            running_call_id: None,
            running_tool: None,
            account,
            context_tokens: 0,
            children: Vec::new(),
            worker: None,
        }
    }

    /// Returns the reason as text, without the sentence that earlier versions stored for a pause without a
    /// reason.
    pub fn given_reason(&self) -> Option<&str> {
        let reason = self.reason.as_deref()?;
        Some(reason).filter(|_| self.legacy_paused_by().is_none())
    }

    /// Returns the agent or person that paused it. Also reads the sentence that earlier versions stored.
    pub fn paused_by(&self) -> Option<AgentId> {
        let paused_by = self.paused_by.clone();
        let paused_by = paused_by.filter(|_| self.status == MemberStatus::Paused);
        paused_by.or_else(|| self.legacy_paused_by())
    }

    fn legacy_paused_by(&self) -> Option<AgentId> {
        let reason = self.reason.as_deref()?;
        let agent = reason.strip_prefix(LEGACY_PAUSE_REASON)?;
        let is_paused = self.status == MemberStatus::Paused;
        agent.parse().ok().filter(|_| is_paused)
    }
}

/// Beginning of the reason that earlier versions stored in English if no reason was given. The id of the agent
/// followed.
const LEGACY_PAUSE_REASON: &str = "paused by ";

/// Status of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemberStatus {
    /// Waits for a message.
    Idle,
    /// Has work: a message to process, a call to run or an answer to get.
    Working,
    /// Waits for a person to approve a call.
    #[serde(rename = "asking")]
    AwaitingApproval,
    /// Paused by a person, an exhausted budget or a repeated call, until it is resumed.
    Paused,
    /// Stopped because its model fails permanently, until it is resumed.
    Parked,
    /// Dismissed.
    #[serde(rename = "gone")]
    Dismissed,
}

impl MemberStatus {
    /// Returns the status as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Working => "working",
            Self::AwaitingApproval => "asking",
            Self::Paused => "paused",
            Self::Parked => "parked",
            Self::Dismissed => "gone",
        }
    }
}

/// Returns the record name of a member's identity.
pub fn member_record_name(member: &MemberKey) -> RecordName {
    RecordName::new(RecordKind::Member, member.to_string())
}

/// Returns the record name of a member's state.
pub fn member_state_record_name(member: &MemberKey) -> RecordName {
    RecordName::new(RecordKind::MemberState, member.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pause_reason_of_earlier_versions_names_who_paused() {
        let stored = |status: &str, why: &str| -> MemberState {
            let text = format!(r#"{{"status":"{status}","why":"{why}","nextTurn":0}}"#);
            serde_json::from_str(&text).unwrap()
        };
        let paused = stored("paused", "paused by user");
        assert_eq!(paused.given_reason(), None);
        assert_eq!(paused.paused_by(), Some(AgentId::user()));

        let with_reason = stored("paused", "the database is being moved");
        assert_eq!(with_reason.given_reason(), with_reason.reason.as_deref());
        assert_eq!(with_reason.paused_by(), None);

        let idle = stored("idle", "paused by user");
        assert_eq!(idle.given_reason(), Some("paused by user"));
        assert_eq!(idle.paused_by(), None);
    }
}
