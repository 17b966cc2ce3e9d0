//! Members of a run: their identity and their state.
//!
//! They are two records. The identity is fixed when a member is hired; the state changes with every step. The
//! state is small and is written in every commit of a step at the revision it was read at. So if two workers
//! both believe that they drive the member, only one of them can commit.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::brief::TaskBrief;
use super::budget::Account;
use super::name::MemberKey;
use crate::id::AgentId;
use crate::record::{RecordKind, RecordName};
use crate::time::Timestamp;

/// Who a member is.
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
    /// What it was told.
    pub brief: TaskBrief,
    /// How far below `root` it is; `root` is 0.
    pub depth: u32,
    /// When it was hired.
    pub created_at: Timestamp,
    /// Whether it thinks for itself, somewhere else: an agent outside of any run, or the person, that hired
    /// somebody. Nobody drives such a member.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub outside: bool,
}

/// How a member stands.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct MemberState {
    /// What it does.
    pub status: MemberStatus,
    /// Why, if it is held up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// The number of the next turn of its conversation; the first is 0.
    pub next_turn: u64,
    /// The first turn that is still in its context.
    #[serde(default)]
    pub since: u64,
    /// How many messages it has heard.
    #[serde(default)]
    pub heard: u64,
    /// How many answers of a model it has kept, summaries too.
    #[serde(default)]
    pub answers: u64,
    /// The outside call that was begun and whose result is not known yet: the id of the model's tool call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub doing: Option<String>,
    /// The tool of that call.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tool: Option<String>,
    /// What it may spend and has spent.
    #[serde(default)]
    pub account: Account,
    /// Tokens of its context when a model last said so.
    #[serde(default)]
    pub context_tokens: u64,
    /// Whom it hired and has not dismissed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub children: Vec<AgentId>,
    /// Which worker drives it, if one does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub worker: Option<String>,
}

impl MemberState {
    /// Creates the state of a newly hired member with this account.
    pub fn new(account: Account) -> Self {
        Self {
            status: MemberStatus::Idle,
            why: None,
            next_turn: 0,
            since: 0,
            heard: 0,
            answers: 0,
            doing: None,
            tool: None,
            account,
            context_tokens: 0,
            children: Vec::new(),
            worker: None,
        }
    }
}

/// What a member does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum MemberStatus {
    /// Waits for a message.
    Idle,
    /// Has something to go on with: a message it heard, a call to carry out, an answer to get.
    Working,
    /// Waits for a person to allow a call.
    Asking,
    /// A person, a budget or a repeated call holds it up; goes on when somebody says so.
    Paused,
    /// Its model fails for good; goes on when somebody says so.
    Parked,
    /// Was dismissed.
    Gone,
}

impl MemberStatus {
    /// Returns the status as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Idle => "idle",
            Self::Working => "working",
            Self::Asking => "asking",
            Self::Paused => "paused",
            Self::Parked => "parked",
            Self::Gone => "gone",
        }
    }
}

/// Returns the record name of a member's identity.
pub fn record_name(member: &MemberKey) -> RecordName {
    RecordName::new(RecordKind::Member, member.to_string())
}

/// Returns the record name of a member's state.
pub fn state_name(member: &MemberKey) -> RecordName {
    RecordName::new(RecordKind::MemberState, member.to_string())
}
