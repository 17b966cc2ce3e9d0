//! The task state machine: four statuses and a transition table.
//!
//! [`TRANSITIONS`] lists every allowed transition and the callers that may make it. Blockers and approval are
//! checked in `transition`.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use crate::id::quote_untrusted;
use crate::refusal::{Refusal, TaskRefusal};
use crate::refusal_serde::deserialize_from_text;

/// Status of a task.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum TaskStatus {
    /// Not started.
    Pending,
    /// An agent works on it, or it was released.
    InProgress,
    /// Finished.
    Completed,
    /// Removed from lists; final.
    Deleted,
}

use TaskStatus::{Completed, Deleted, InProgress, Pending};

/// Callers that may make a transition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TransitionCallers {
    /// Every caller that may update the task.
    Anyone,
    /// Callers that may delete completed tasks: by default, the team lead and the person.
    Lead,
}

/// All allowed transitions. Any other is forbidden.
pub const TRANSITIONS: [(TaskStatus, TaskStatus, TransitionCallers); 5] = [
    (Pending, InProgress, TransitionCallers::Anyone),
    (Pending, Deleted, TransitionCallers::Anyone),
    (InProgress, Completed, TransitionCallers::Anyone),
    (InProgress, Deleted, TransitionCallers::Anyone),
    (Completed, Deleted, TransitionCallers::Lead),
];

impl TaskStatus {
    /// All statuses, in the order of the work.
    pub const ALL: [Self; 4] = [Pending, InProgress, Completed, Deleted];

    /// Returns the status as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Pending => "pending",
            InProgress => "in_progress",
            Completed => "completed",
            Deleted => "deleted",
        }
    }

    /// Returns the status with this name, if it exists.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|s| s.as_str() == name)
    }

    /// Parses a status. Fails with `invalid_status`, listing the valid ones.
    pub fn parse(name: &str) -> Result<Self, Refusal> {
        Self::from_name(name).ok_or_else(|| {
            Refusal::from(TaskRefusal::InvalidStatus {
                name: quote_untrusted(name),
            })
        })
    }

    /// Returns whether a task of this status no longer blocks others.
    pub fn is_finished(self) -> bool {
        matches!(self, Completed | Deleted)
    }

    /// Fails with `invalid_transition` if the table does not allow the transition, or only for callers that
    /// may delete completed tasks. `lead` means that the caller may.
    pub fn check_transition(self, to: Self, lead: bool) -> Result<(), Refusal> {
        let allowed = TRANSITIONS
            .iter()
            .any(|&(a, b, who)| a == self && b == to && (lead || who == TransitionCallers::Anyone));
        if allowed {
            return Ok(());
        }
        let next: Vec<_> = TRANSITIONS.iter().filter(|(a, ..)| *a == self).collect();
        let names: Vec<_> = next
            .iter()
            .map(|(_, b, _)| format!("\"{}\"", b.as_str()))
            .collect();
        let lead_only =
            !next.is_empty() && next.iter().all(|(.., who)| *who == TransitionCallers::Lead);
        let allowed = names.join(", ");
        let (from, to_name) = (self.as_str().to_owned(), to.as_str().to_owned());
        Err(match (self, to) {
            (Pending, Completed) => TaskRefusal::TransitionStartFirst {
                from,
                to: to_name,
                allowed,
                lead_only,
            },
            (InProgress, Pending) => TaskRefusal::TransitionReleaseInstead {
                from,
                to: to_name,
                allowed,
                lead_only,
            },
            (Completed, Deleted) => TaskRefusal::TransitionAskLeadToDelete {
                from,
                to: to_name,
                allowed,
                lead_only,
            },
            _ => TaskRefusal::TransitionCreateNew {
                from,
                to: to_name,
                allowed,
                lead_only,
            },
        }
        .into())
    }
}

impl<'de> Deserialize<'de> for TaskStatus {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserialize_from_text(deserializer, Self::parse)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn transition_table_matches_the_documented_matrix() {
        for from in TaskStatus::ALL {
            for to in TaskStatus::ALL {
                let anyone = matches!(
                    (from, to),
                    (Pending, InProgress | Deleted) | (InProgress, Completed | Deleted)
                );
                let lead = anyone || (from, to) == (Completed, Deleted);
                assert_eq!(
                    from.check_transition(to, false).is_ok(),
                    anyone,
                    "{from:?} {to:?}"
                );
                assert_eq!(
                    from.check_transition(to, true).is_ok(),
                    lead,
                    "{from:?} {to:?}"
                );
            }
        }
    }
}
