//! A run: one requirement and what is allowed to everybody who works for it together.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::name::RunId;
use crate::id::AgentId;
use crate::record::{RecordKind, RecordName};
use crate::refusal::{Code, Refusal};
use crate::time::Timestamp;

/// A run.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Its name.
    #[serde(rename = "taskId")]
    pub id: RunId,
    /// What was asked for.
    pub requirement: String,
    /// The directory that becomes the workspace of root's child, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_path: Option<String>,
    /// The team it was started with, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// Who is at its top: `root`, or the agent outside of any run (or the person) that hires for itself.
    #[serde(default = "AgentId::root", skip_serializing_if = "AgentId::is_root")]
    pub head: AgentId,
    /// Tools that a person has to allow call by call, beyond those of the configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approve: Vec<String>,
    /// Whether it goes on.
    pub status: RunStatus,
    /// How many agents work for it now, `root` not counted.
    pub agents: u32,
    /// How many were ever hired for it.
    pub hired: u32,
    /// When the newest of them were hired (milliseconds), as far back as the rate limit looks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hired_at: Vec<i64>,
    /// Who asked for it.
    #[serde(default = "AgentId::user")]
    pub created_by: AgentId,
    /// When it began.
    pub created_at: Timestamp,
}

/// Whether a run goes on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Its members think when there is something to think about.
    Active,
    /// Nobody thinks until somebody says so.
    Paused,
    /// It is over; everybody was dismissed.
    Stopped,
}

/// How many may be hired.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HireLimits {
    /// How deep the tree may be: 1 is a child of root.
    pub depth: u32,
    /// How many may work for a run at a time.
    pub agents: u32,
    /// How many may be hired for a run in a minute.
    pub a_minute: u32,
}

impl Default for HireLimits {
    fn default() -> Self {
        Self {
            depth: 5,
            agents: 50,
            a_minute: 30,
        }
    }
}

impl RunStatus {
    /// The status as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Stopped => "stopped",
        }
    }
}

impl Run {
    /// A run that begins now.
    pub fn new(id: RunId, requirement: String, by: &AgentId, now: &Timestamp) -> Self {
        Self {
            id,
            requirement,
            workspace_path: None,
            team: None,
            head: AgentId::root(),
            approve: Vec::new(),
            status: RunStatus::Active,
            agents: 0,
            hired: 0,
            hired_at: Vec::new(),
            created_by: by.clone(),
            created_at: now.clone(),
        }
    }

    /// Refuses what cannot be done any more for a run that is over.
    pub fn check_open(&self) -> Result<(), Refusal> {
        if self.status != RunStatus::Stopped {
            return Ok(());
        }
        Err(Refusal::new(
            Code::WrongState,
            format!("Run \"{}\" is over; everybody was dismissed.", self.id),
            "start a new one with `polis run`",
        ))
    }
}

/// There is no such run, or not for this caller.
pub fn not_found(run: &RunId) -> Refusal {
    Refusal::new(
        Code::RunNotFound,
        format!("There is no run \"{run}\"."),
        "see the runs there are with `polis society ps`",
    )
}

/// Where a run is kept.
pub fn record_name(run: &RunId) -> RecordName {
    RecordName::new(RecordKind::Run, run.as_str())
}
