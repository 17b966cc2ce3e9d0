//! The task state machine: four states and a transition table.
//!
//! [`TRANSITIONS`] lists every allowed transition and the callers that may make it. Blockers and approval are
//! checked in `step`.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::id::quoted;
use crate::refusal::{Code, Refusal};
use crate::refusal_serde::from_text;

/// Where a task stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not begun.
    Pending,
    /// Being worked on.
    InProgress,
    /// Done.
    Completed,
    /// Gone from lists; the end.
    Deleted,
}

use TaskStatus::{Completed, Deleted, InProgress, Pending};

/// Callers that may make a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Who {
    /// All callers.
    Anyone,
    /// The team lead and the person.
    Lead,
}

/// All allowed transitions. Any other is forbidden.
pub const TRANSITIONS: [(TaskStatus, TaskStatus, Who); 5] = [
    (Pending, InProgress, Who::Anyone),
    (Pending, Deleted, Who::Anyone),
    (InProgress, Completed, Who::Anyone),
    (InProgress, Deleted, Who::Anyone),
    (Completed, Deleted, Who::Lead),
];

impl TaskStatus {
    /// All states.
    pub const ALL: [Self; 4] = [Pending, InProgress, Completed, Deleted];

    /// Returns the state as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Pending => "pending",
            InProgress => "in_progress",
            Completed => "completed",
            Deleted => "deleted",
        }
    }

    /// Returns the state with this name, if it exists.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == name)
    }

    /// Parses a state. Fails with `invalid_status`, listing the valid states.
    pub fn parse(name: &str) -> Result<Self, Refusal> {
        Self::from_name(name).ok_or_else(|| {
            Refusal::new(
                Code::InvalidStatus,
                format!(
                    "Invalid status: {}. Valid: pending, in_progress, completed, deleted.",
                    quoted(name)
                ),
                "use one of the valid states",
            )
        })
    }

    /// Returns whether a task in this state no longer blocks others.
    pub fn is_settled(self) -> bool {
        matches!(self, Completed | Deleted)
    }

    /// Fails if the transition is not in the table or not allowed for this caller.
    pub fn check_step(self, to: Self, lead: bool) -> Result<(), Refusal> {
        let allowed = TRANSITIONS
            .iter()
            .any(|&(a, b, who)| a == self && b == to && (lead || who == Who::Anyone));
        if allowed {
            return Ok(());
        }
        let next: Vec<_> = TRANSITIONS.iter().filter(|(a, ..)| *a == self).collect();
        let names: Vec<_> = next
            .iter()
            .map(|(_, b, _)| format!("\"{}\"", b.as_str()))
            .collect();
        let lead_only = !next.is_empty() && next.iter().all(|(.., who)| *who == Who::Lead);
        Err(Refusal::new(
            Code::InvalidTransition,
            format!(
                "Invalid status transition: \"{}\" -> \"{}\".\nAllowed transitions from \"{}\": [{}]{}.",
                self.as_str(),
                to.as_str(),
                self.as_str(),
                names.join(", "),
                if lead_only { " (team-lead only)" } else { "" }
            ),
            match (self, to) {
                (Pending, Completed) => "start it first: claim it or set its status to in_progress",
                (InProgress, Pending) => "to give it back, release it: set its owner to \"\"",
                (Completed, Deleted) => "ask the team lead to delete it",
                _ => "create a new task for further work",
            },
        ))
    }
}

impl<'de> Deserialize<'de> for TaskStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        from_text(deserializer, Self::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_table_is_the_matrix_of_the_document() {
        for from in TaskStatus::ALL {
            for to in TaskStatus::ALL {
                let anyone = matches!(
                    (from, to),
                    (Pending, InProgress | Deleted) | (InProgress, Completed | Deleted)
                );
                let lead = anyone || (from, to) == (Completed, Deleted);
                assert_eq!(
                    from.check_step(to, false).is_ok(),
                    anyone,
                    "{from:?} {to:?}"
                );
                assert_eq!(from.check_step(to, true).is_ok(), lead, "{from:?} {to:?}");
            }
        }
    }

    #[test]
    fn refusals_speak_the_documents_words() {
        assert_eq!(
            Completed.check_step(Pending, false).unwrap_err().message,
            "Invalid status transition: \"completed\" -> \"pending\".\n\
             Allowed transitions from \"completed\": [\"deleted\"] (team-lead only)."
        );
        assert_eq!(
            InProgress.check_step(Pending, true).unwrap_err().message,
            "Invalid status transition: \"in_progress\" -> \"pending\".\n\
             Allowed transitions from \"in_progress\": [\"completed\", \"deleted\"]."
        );
        assert!(
            Deleted
                .check_step(Pending, true)
                .unwrap_err()
                .message
                .ends_with("from \"deleted\": [].")
        );
    }
}
