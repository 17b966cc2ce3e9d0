//! Agent sessions: live processes or connections that act as an agent, and which of them claimed a task.
//!
//! A session is a lease which its process renews as long as it runs. An agent that is served over stdio has one
//! session at a time ([`may_open_session`]); over HTTP several sessions may share an agent's token.

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, TaskId};
use crate::record::{RecordKind, RecordName};
use crate::refusal::{AgentRefusal, Refusal};
use crate::society::VersionedRecord;
use crate::timestamp::Timestamp;

/// A session, as its stored record.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct AgentSession {
    /// The agent it acts as.
    pub agent: AgentId,
    /// The process that holds it, with its identity.
    pub holder: String,
    /// When it expires unless it is renewed (milliseconds); 0 after it was closed.
    pub until: i64,
    /// The agent that this name was generated for, if polis generated it for an additional session of that
    /// agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbered_for: Option<AgentId>,
}

impl AgentSession {
    /// Returns whether its process closed it.
    pub fn is_closed(&self) -> bool {
        self.until == 0
    }

    /// Returns whether it is live at this time (milliseconds).
    pub fn is_live(&self, now: i64) -> bool {
        now < self.until
    }
}

/// Returns the id of the only session that serves an agent over stdio.
pub fn stdio_session_id(agent: &AgentId) -> String {
    format!("stdio/{agent}")
}

/// Returns the id of a session over HTTP.
pub fn http_session_id(agent: &AgentId, session: &str) -> String {
    format!("http/{agent}/{session}")
}

/// Returns the record name of a session.
pub fn session_record_name(id: &str) -> RecordName {
    RecordName::new(RecordKind::AgentSession, id)
}

/// State of the process that holds a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessState {
    /// It is running on this machine.
    Running,
    /// It ran on this machine and has ended.
    Ended,
    /// It runs on another machine, or the system does not report its state.
    Unknown,
}

/// Returns whether a process may open the session `found`: it is new, closed, already held by this process,
/// or the process that holds it has ended. An expired session is free only if its process is not known to be
/// running, because a suspended machine cannot renew its leases.
pub fn may_open_session(
    found: Option<&VersionedRecord<AgentSession>>,
    holder: &str,
    now: i64,
    state_of: impl Fn(&str) -> ProcessState,
) -> bool {
    let Some(VersionedRecord { value: session, .. }) = found else {
        return true;
    };
    if session.is_closed() || session.holder == holder {
        return true;
    }
    match state_of(&session.holder) {
        ProcessState::Running => false,
        ProcessState::Ended => true,
        ProcessState::Unknown => !session.is_live(now),
    }
}

/// The session that made a task's current claim.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskClaimant {
    /// The session's id.
    pub session: String,
    /// When it claimed the task. A later claim without a session invalidates this record.
    pub claimed_at: Timestamp,
}

/// Returns the record name of a task's claimant.
pub fn claimant_record_name(task: TaskId) -> RecordName {
    RecordName::new(RecordKind::TaskClaimant, task.to_string())
}

/// Returns the refusal of a claim on a task that another live session of the same agent holds.
pub fn held_by_other_session(task: TaskId, agent: &AgentId) -> Refusal {
    Refusal::from(AgentRefusal::HeldByOtherSession {
        task,
        agent: agent.clone(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_is_opened_by_one_live_process_at_a_time() {
        let found = |holder: &str, until| VersionedRecord {
            value: AgentSession {
                agent: "claude".parse().unwrap(),
                holder: holder.to_owned(),
                until,
                numbered_for: None,
            },
            revision: 1,
        };
        let state_of = |holder: &str| match holder {
            "dead" => ProcessState::Ended,
            "suspended" => ProcessState::Running,
            _ => ProcessState::Unknown,
        };
        for (found, expected) in [
            (None, true),
            (Some(found("other", 2_000)), false),
            (Some(found("other", 1_000)), true),
            (Some(found("other", 0)), true),
            (Some(found("me", 2_000)), true),
            (Some(found("dead", 2_000)), true),
            (Some(found("suspended", 1_000)), false),
            (Some(found("suspended", 2_000)), false),
            (Some(found("suspended", 0)), true),
        ] {
            let allowed = may_open_session(found.as_ref(), "me", 1_000, state_of);
            assert_eq!(allowed, expected, "{found:?}");
        }
    }
}
