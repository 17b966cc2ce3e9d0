//! Sessions: live processes or connections that act as an agent, and which of them claimed a task.
//!
//! A session is a lease with an end that its process moves on while it lives. An agent that is served over standard input
//! and output has one session at a time; over HTTP several sessions may share an agent's token.

use serde::{Deserialize, Serialize};

use crate::id::{AgentId, TaskId};
use crate::record::{RecordKind, RecordName};
use crate::refusal::{Code, Refusal};
use crate::society::Kept;
use crate::time::Timestamp;

/// A session as a store has it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Session {
    /// The agent it acts as.
    pub agent: AgentId,
    /// The process that holds it, with its identity.
    pub holder: String,
    /// When it ends unless it is renewed (milliseconds); 0 once it was closed.
    pub until: i64,
    /// The agent whose further sessions act under this name, if polis made the name for them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub numbered_for: Option<AgentId>,
}

impl Session {
    /// Whether its process closed it.
    pub fn is_closed(&self) -> bool {
        self.until == 0
    }

    /// Whether it is live at a moment in milliseconds.
    pub fn is_live(&self, now: i64) -> bool {
        now < self.until
    }
}

/// The id of the one session that serves an agent over standard input and output.
pub fn stdio_id(agent: &AgentId) -> String {
    format!("stdio/{agent}")
}

/// The id of a session over HTTP.
pub fn http_id(agent: &AgentId, session: &str) -> String {
    format!("http/{agent}/{session}")
}

/// Where a session is kept.
pub fn record_name(id: &str) -> RecordName {
    RecordName::new(RecordKind::Session, id)
}

/// What is known of the process that holds a session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProcessState {
    /// It runs on this machine.
    Running,
    /// It ran on this machine and has ended.
    Ended,
    /// It runs elsewhere, or the system does not tell.
    Unknown,
}

/// Whether a process may open a session that `found` describes: it is new, closed, its own, or its process has ended.
/// One that expired is free only if its process is not known to run: a machine that was suspended renews nothing.
pub fn may_open(
    found: Option<&Kept<Session>>,
    holder: &str,
    now: i64,
    state_of: impl Fn(&str) -> ProcessState,
) -> bool {
    let Some(Kept { value: session, .. }) = found else {
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

/// Which session made the claim that a task is held by.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct TaskClaimant {
    /// The session's id.
    pub session: String,
    /// When it claimed the task: a later claim without a session makes this record meaningless.
    pub claimed_at: Timestamp,
}

/// Where the claimant of a task is kept.
pub fn claimant_name(task: TaskId) -> RecordName {
    RecordName::new(RecordKind::TaskClaimant, task.to_string())
}

/// The answer to a claim of a task that a live session of the same agent holds.
pub fn held_by_other_session(task: TaskId, agent: &AgentId) -> Refusal {
    Refusal::new(
        Code::HeldByOtherSession,
        format!("Task #{task} is held by another live session of \"{agent}\"."),
        "claim another one (`polis task claim` takes the best ready task)",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn session_is_opened_by_one_live_process_at_a_time() {
        let found = |holder: &str, until| Kept {
            value: Session {
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
            let may = may_open(found.as_ref(), "me", 1_000, state_of);
            assert_eq!(may, expected, "{found:?}");
        }
    }
}
