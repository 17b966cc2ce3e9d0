//! Runs of the society: one requirement, its status, its hiring limits and its duration.
//!
//! A run is active, paused, done or stopped. A done run can be reopened; a stopped one cannot.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::run_id::RunId;
use crate::id::AgentId;
use crate::record::{RecordKind, RecordName};
use crate::refusal::{Refusal, SocietyRefusal};
use crate::timestamp::Timestamp;

/// A run of the society.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Run {
    /// Id of the run.
    #[serde(flatten, with = "crate::society::run_id_json")]
    #[schemars(with = "crate::society::run_id_json::RunIdFields<RunId>")]
    pub id: RunId,
    /// The requirement.
    pub requirement: String,
    /// The directory that becomes the workspace of root's child, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub workspace_path: Option<String>,
    /// The team it was started with, if one was named.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// The top of its tree: `root`, or an agent outside of any run (or the person) that hires for itself.
    #[serde(default = "AgentId::root", skip_serializing_if = "AgentId::is_root")]
    pub head: AgentId,
    /// Tools whose calls a person must approve, in addition to the configured ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approve: Vec<String>,
    /// Status of the run.
    pub status: RunStatus,
    /// Number of its current agents, excluding `root`.
    pub agents: u32,
    /// Number of agents ever hired for it.
    pub hired: u32,
    /// Times of the latest hires (milliseconds), within the window of the rate limit.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub hired_at: Vec<i64>,
    /// The agent or person that started it.
    #[serde(default = "AgentId::user")]
    pub created_by: AgentId,
    /// When it was started.
    pub created_at: Timestamp,
    /// When it was last resumed after it was done.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub resumed_at: Option<Timestamp>,
    /// When it ended (done or stopped); absent while it is open.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ended_at: Option<Timestamp>,
    /// How long it was open up to its last end (milliseconds), excluding the time between an end and a
    /// resumption.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub duration_ms: u64,
}

#[expect(
    clippy::trivially_copy_pass_by_ref,
    reason = "serde passes a reference"
)]
fn is_zero(number: &u64) -> bool {
    *number == 0
}

/// Status of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum RunStatus {
    /// Its members work whenever they have something to do.
    Active,
    /// No member works until the run is resumed.
    Paused,
    /// All members are idle and nothing is open; a message to a member resumes it.
    Done,
    /// Ended for good; all members were dismissed.
    Stopped,
}

/// Limits on hiring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct HireLimits {
    /// Maximum depth of the tree: 1 is a child of root.
    pub depth: u32,
    /// Maximum number of agents in a run at the same time.
    pub agents: u32,
    /// Maximum number of hires per minute in a run.
    pub per_minute: u32,
}

impl Default for HireLimits {
    fn default() -> Self {
        Self {
            depth: 5,
            agents: 50,
            per_minute: 30,
        }
    }
}

impl RunStatus {
    /// Returns the status as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Active => "active",
            Self::Paused => "paused",
            Self::Done => "done",
            Self::Stopped => "stopped",
        }
    }
}

impl Run {
    /// Creates a run that starts now.
    pub fn new(id: RunId, requirement: String, creator: &AgentId, now: &Timestamp) -> Self {
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
            created_by: creator.clone(),
            created_at: now.clone(),
            resumed_at: None,
            ended_at: None,
            duration_ms: 0,
        }
    }

    /// Ends the run as done or stopped, and sets its duration. A run that is already done and is then stopped
    /// keeps its end time.
    pub fn mark_ended(&mut self, status: RunStatus, now: &Timestamp) {
        if self.is_open() {
            self.duration_ms = self.duration_while_open(now.unix_millis());
            self.ended_at = Some(now.clone());
        }
        self.status = status;
    }

    /// Sets the status to active or paused. A run that was done is open again from `now` on.
    pub fn reopen(&mut self, status: RunStatus, now: &Timestamp) {
        self.status = status;
        if self.ended_at.take().is_some() {
            self.resumed_at = Some(now.clone());
        }
    }

    /// Returns whether the run is neither done nor stopped.
    pub fn is_open(&self) -> bool {
        matches!(self.status, RunStatus::Active | RunStatus::Paused)
    }

    /// Returns how long it has been open at this time (both in milliseconds). Returns `None` if it has ended
    /// at an unknown time: runs that were stopped before end times were stored have none.
    pub fn duration_at(&self, now: i64) -> Option<u64> {
        match &self.ended_at {
            Some(_) => Some(self.duration_ms),
            None => self.is_open().then(|| self.duration_while_open(now)),
        }
    }

    fn duration_while_open(&self, now: i64) -> u64 {
        let since = self.resumed_at.as_ref().unwrap_or(&self.created_at);
        let open = now.saturating_sub(since.millis().unwrap_or(now));
        self.duration_ms
            .saturating_add(u64::try_from(open).unwrap_or(0))
    }

    /// Fails with `wrong_state` if the run is stopped.
    pub fn check_open(&self) -> Result<(), Refusal> {
        if self.status != RunStatus::Stopped {
            return Ok(());
        }
        Err(Refusal::from(SocietyRefusal::RunStopped {
            run: self.id.to_string(),
        }))
    }

    /// Fails with `wrong_state` if the run is done. Pausing it would lose its end time, and the run would
    /// have to be resumed before a message could reopen it.
    pub fn check_pausable(&self) -> Result<(), Refusal> {
        if self.status != RunStatus::Done {
            return Ok(());
        }
        Err(Refusal::from(SocietyRefusal::RunDone {
            run: self.id.to_string(),
        }))
    }
}

/// Returns the refusal for a run that does not exist or is not visible to the caller.
pub fn run_not_found(run: &RunId) -> Refusal {
    Refusal::from(SocietyRefusal::RunNotFound {
        run: run.to_string(),
    })
}

/// Returns the record name of a run.
pub fn run_record_name(run: &RunId) -> RecordName {
    RecordName::new(RecordKind::Run, run.as_str())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn duration_counts_only_the_time_a_run_is_open() {
        let at = Timestamp::from_millis;
        let id = "r1".parse().unwrap();
        let mut run = Run::new(id, "paint".to_owned(), &AgentId::user(), &at(1_000));
        assert_eq!(run.duration_at(1_500), Some(500));
        run.mark_ended(RunStatus::Done, &at(3_000));
        assert_eq!(
            (run.duration_ms, run.duration_at(9_000)),
            (2_000, Some(2_000))
        );
        run.reopen(RunStatus::Active, &at(10_000));
        assert_eq!(
            (run.ended_at.as_ref(), run.duration_at(10_400)),
            (None, Some(2_400))
        );
        run.mark_ended(RunStatus::Done, &at(11_000));
        run.mark_ended(RunStatus::Stopped, &at(50_000));
        assert_eq!(
            (run.status, run.duration_ms, run.ended_at),
            (RunStatus::Stopped, 3_000, Some(at(11_000)))
        );
    }

    #[test]
    fn duration_of_a_stopped_run_without_an_end_is_unknown() {
        let at = Timestamp::from_millis;
        let id = "r1".parse().unwrap();
        let mut run = Run::new(id, "paint".to_owned(), &AgentId::user(), &at(1_000));
        run.status = RunStatus::Stopped;
        assert_eq!(run.duration_at(9_000), None);
        // Stopping it again does not add an end time.
        run.mark_ended(RunStatus::Stopped, &at(9_000));
        assert_eq!((run.duration_ms, run.ended_at), (0, None));
    }
}
