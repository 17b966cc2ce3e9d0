//! Success statistics of 004 §9.1, computed from the commit log.
//!
//! They are exact, because every assignment, update and refusal is an event, and per period, because events
//! have a time. A rate is a percentage, and null if its denominator is zero.

use crate::event::kind;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use super::history::{Changed, Refused};
use crate::event::Event;
use crate::time::Timestamp;

/// The figures of one period.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Figures {
    /// Assigned tasks whose owner has the required role (or that require none), in percent.
    pub role_match_rate: Option<f64>,
    /// Refused for a version conflict, of all attempts to update, in percent.
    pub conflict_rate: Option<f64>,
    /// Assigned tasks whose owner has another role than the required one, in percent.
    pub cross_role_rate: Option<f64>,
    /// Refused because the state machine has no such step.
    pub invalid_transitions: u64,
    /// Tasks created (imported ones too).
    pub created: u64,
    /// Tasks completed.
    pub completed: u64,
    /// Tasks deleted.
    pub deleted: u64,
    /// Tasks that were given an owner.
    pub assigned: u64,
    /// Of those, with the required role.
    pub matched: u64,
    /// Of those, with another role.
    pub cross_role: u64,
    /// Updates carried out: field changes, claims, releases, completions, deletions, approvals.
    pub updates: u64,
    /// Updates refused, for whatever reason.
    pub refused: u64,
    /// Of those, for a version conflict.
    pub version_conflicts: u64,
    /// Refusals by code.
    pub refusals: BTreeMap<String, u64>,
    /// Mean time from beginning to completion.
    pub average_duration_ms: Option<f64>,
    /// The same by type of task.
    pub average_duration_ms_by_type: BTreeMap<String, f64>,
}

/// A period and its figures.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Period {
    /// Where it begins.
    pub from: Timestamp,
    /// Its figures.
    #[serde(flatten)]
    pub figures: Figures,
}

/// Accumulates the events of one period.
#[derive(Debug, Clone, Default)]
pub struct Tally {
    figures: Figures,
    /// For each task, whether its last assignment matched the required role.
    assignments: BTreeMap<String, bool>,
    /// Count and total of completed tasks' durations, by type.
    durations: BTreeMap<String, (u64, i64)>,
}

impl Tally {
    /// Adds an event.
    pub fn add(&mut self, event: &Event) {
        let figures = &mut self.figures;
        match event.kind.as_str() {
            kind::TASK_CREATED | kind::TASK_IMPORTED => figures.created += 1,
            kind::TASK_REFUSED => {
                if let Some(refused) = event.data.to::<Refused>() {
                    figures.refused += 1;
                    match refused.code.as_str() {
                        "version_mismatch" => figures.version_conflicts += 1,
                        "invalid_transition" => figures.invalid_transitions += 1,
                        _ => {}
                    }
                    *figures.refusals.entry(refused.code).or_default() += 1;
                }
            }
            // The task at the other end of a new dependency changes too, but no caller updated it.
            kind::TASK_LINKED => {}
            kind if kind.starts_with("task.") => {
                let Some(changed) = event.data.to::<Changed>() else {
                    return;
                };
                figures.updates += 1;
                match kind {
                    kind::TASK_COMPLETED => figures.completed += 1,
                    kind::TASK_DELETED => figures.deleted += 1,
                    _ => {}
                }
                if let Some(assignment) = &changed.assignment {
                    self.assignments
                        .insert(event.subject.clone(), assignment.matched);
                }
                if let Some(ms) = changed.duration_ms {
                    let slot = self
                        .durations
                        .entry(changed.task_type.unwrap_or_default())
                        .or_default();
                    slot.0 += 1;
                    slot.1 += ms;
                }
            }
            _ => {}
        }
    }

    /// Returns the statistics of the added events.
    pub fn figures(&self) -> Figures {
        let mut figures = self.figures.clone();
        let count = |n: usize| u64::try_from(n).unwrap_or(u64::MAX);
        figures.assigned = count(self.assignments.len());
        figures.matched = count(
            self.assignments
                .values()
                .filter(|matched| **matched)
                .count(),
        );
        figures.cross_role = figures.assigned - figures.matched;
        figures.role_match_rate = percent(figures.matched, figures.assigned);
        figures.cross_role_rate = percent(figures.cross_role, figures.assigned);
        figures.conflict_rate =
            percent(figures.version_conflicts, figures.updates + figures.refused);
        let (n, total) = self
            .durations
            .values()
            .fold((0, 0), |(n, t), (m, u)| (n + m, t + u));
        figures.average_duration_ms = mean(total, n);
        figures.average_duration_ms_by_type = self
            .durations
            .iter()
            .filter(|(name, _)| !name.is_empty())
            .filter_map(|(name, (n, total))| Some((name.clone(), mean(*total, *n)?)))
            .collect();
        figures
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn percent(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 * 100.0 / whole as f64)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds of work stay far below 2^52"
)]
fn mean(total: i64, n: u64) -> Option<f64> {
    (n > 0).then(|| total as f64 / n as f64)
}
