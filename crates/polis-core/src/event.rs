//! The commit log's entries: what happened, who did it, to what.
//!
//! Events are written in the same commit as the change they tell of, so a reader of the log sees
//! exactly what happened, in commit order.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::id::{AgentId, TaskId};
use crate::json::Raw;
use crate::time::Timestamp;

/// What an event is about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Subject {
    /// A task.
    Task(TaskId),
    /// The task that this very commit creates; the store fills in its number.
    CreatedTask,
    /// An agent.
    Agent(AgentId),
    /// Many tasks at once: an import.
    Import,
}

impl Subject {
    /// The subject as it stands in the log, where `created` is the number the store gave.
    pub fn text(&self, created: Option<TaskId>) -> String {
        match self {
            Self::Task(id) => format!("task/{id}"),
            Self::CreatedTask => {
                created.map_or_else(|| "task".to_owned(), |id| format!("task/{id}"))
            }
            Self::Agent(id) => format!("agent/{id}"),
            Self::Import => "import".to_owned(),
        }
    }
}

/// An event not yet committed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// What happened, such as `task.claimed`.
    pub kind: &'static str,
    /// To what.
    pub subject: Subject,
    /// The particulars, JSON.
    pub data: String,
}

impl NewEvent {
    /// An event whose particulars are anything that serialises.
    pub fn of(kind: &'static str, subject: Subject, data: &impl Serialize) -> Self {
        // Our own types serialise; should one not, the event still says what happened.
        let data = serde_json::to_string(data).unwrap_or_else(|_| "{}".to_owned());
        Self {
            kind,
            subject,
            data,
        }
    }
}

/// An entry of the commit log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Event {
    /// Its place in the log: 1, 2, 3, … without gaps, in commit order.
    pub seq: u64,
    /// When it was committed.
    pub at: Timestamp,
    /// Who did it.
    pub actor: String,
    /// What happened.
    pub kind: String,
    /// To what, such as `task/5`.
    pub subject: String,
    /// The particulars.
    #[schemars(with = "serde_json::Value")]
    pub data: Raw,
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{} {} {} {} {}",
            self.seq, self.at, self.actor, self.kind, self.subject
        )
    }
}
