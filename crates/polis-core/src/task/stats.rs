//! Task statistics: role match, conflict and cross-role rates and durations, computed from the event log.
//!
//! They implement the success metrics of requirement 004 (docs/requirements.md). [`StatisticsCounter`] counts
//! the events of one period. Every assignment and every update is an event. A refused attempt is one if it names a task
//! and its code concerns the team's work; a typing error is not logged (`Request::log_refusal` in `polis-ops`).
//! A rate is a percentage, and null if its denominator is zero.

use crate::number::saturating_cast;
use std::collections::BTreeMap;

use schemars::JsonSchema;
use serde::Serialize;

use crate::event::{Event, EventArea, EventKind, EventPayload, TaskChangedEvent};
use crate::timestamp::Timestamp;

/// Task statistics of one period.
#[derive(Debug, Clone, Default, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct TaskStatistics {
    /// Assigned tasks whose owner has the required role (or that require none), in percent.
    pub role_match_rate: Option<f64>,
    /// Updates refused because of a version conflict, in percent of all attempted updates.
    pub conflict_rate: Option<f64>,
    /// Assigned tasks whose owner has another role than the required one, in percent.
    pub cross_role_rate: Option<f64>,
    /// Updates refused because the state machine does not allow the transition.
    pub invalid_transitions: u64,
    /// Tasks created, including imported ones.
    pub created: u64,
    /// Tasks completed.
    pub completed: u64,
    /// Tasks deleted.
    pub deleted: u64,
    /// Tasks assigned to an owner.
    pub assigned: u64,
    /// Assigned tasks whose owner has the required role.
    pub matched: u64,
    /// Assigned tasks whose owner has another role.
    pub cross_role: u64,
    /// Successful updates: field changes, claims, releases, completions, deletions, approvals.
    pub updates: u64,
    /// Refused updates.
    pub refused: u64,
    /// Updates refused because of a version conflict.
    pub version_conflicts: u64,
    /// Number of refusals, by code.
    pub refusals: BTreeMap<String, u64>,
    /// Mean time from start to completion.
    pub average_duration_ms: Option<f64>,
    /// Mean time from start to completion, by task type.
    pub average_duration_ms_by_type: BTreeMap<String, f64>,
}

/// A period and its statistics.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StatisticsPeriod {
    /// Start of the period.
    pub from: Timestamp,
    /// Statistics of the period.
    #[serde(flatten)]
    pub figures: TaskStatistics,
}

/// Accumulates the events of one period.
#[derive(Debug, Clone, Default)]
pub struct StatisticsCounter {
    figures: TaskStatistics,
    /// For each task, whether its last assignment matched the required role.
    assignments: BTreeMap<String, bool>,
    /// Count and total of completed tasks' durations, by type.
    durations: BTreeMap<String, (u64, i64)>,
}

impl StatisticsCounter {
    /// Counts an event. Ignores events that do not concern tasks, and those that this version cannot read.
    pub fn add_event(&mut self, event: &Event) {
        match event.known_kind() {
            Some(EventKind::TaskCreated | EventKind::TaskImported) => self.figures.created += 1,
            // The task at the other end of a new dependency changes too, but no caller updated it.
            Some(EventKind::TaskLinked) => {}
            Some(kind) if kind.area() == EventArea::Task => self.add_attempt(event),
            _ => {}
        }
    }

    /// Counts an update or a refused update.
    fn add_attempt(&mut self, event: &Event) {
        match event.payload() {
            Some(EventPayload::TaskRefused(refusal)) => {
                self.figures.refused += 1;
                match refusal.code.as_str() {
                    "version_mismatch" => self.figures.version_conflicts += 1,
                    "invalid_transition" => self.figures.invalid_transitions += 1,
                    _ => {}
                }
                *self.figures.refusals.entry(refusal.code).or_default() += 1;
            }
            Some(EventPayload::TaskCompleted(changed)) => {
                self.figures.completed += 1;
                self.add_update(&event.subject, changed);
            }
            Some(EventPayload::TaskDeleted(changed)) => {
                self.figures.deleted += 1;
                self.add_update(&event.subject, changed);
            }
            Some(
                EventPayload::TaskUpdated(changed)
                | EventPayload::TaskClaimed(changed)
                | EventPayload::TaskStarted(changed)
                | EventPayload::TaskReleased(changed)
                | EventPayload::TaskApproved(changed),
            ) => self.add_update(&event.subject, changed),
            // Comments and renewed leases.
            _ => {}
        }
    }

    fn add_update(&mut self, task: &str, changed: TaskChangedEvent) {
        self.figures.updates += 1;
        if let Some(assignment) = &changed.assignment {
            self.assignments.insert(task.to_owned(), assignment.matched);
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

    /// Returns the statistics of the added events.
    pub fn statistics(&self) -> TaskStatistics {
        let mut figures = self.figures.clone();
        let count = |n: usize| saturating_cast::<u64>(n);
        figures.assigned = count(self.assignments.len());
        figures.matched = count(
            self.assignments
                .values()
                .filter(|matched| **matched)
                .count(),
        );
        figures.cross_role = figures.assigned - figures.matched;
        figures.role_match_rate = percentage(figures.matched, figures.assigned);
        figures.cross_role_rate = percentage(figures.cross_role, figures.assigned);
        figures.conflict_rate =
            percentage(figures.version_conflicts, figures.updates + figures.refused);
        let (n, total) = self
            .durations
            .values()
            .fold((0, 0), |(n, t), (m, u)| (n + m, t + u));
        figures.average_duration_ms = mean_of(total, n);
        figures.average_duration_ms_by_type = self
            .durations
            .iter()
            .filter(|(name, _)| !name.is_empty())
            .filter_map(|(name, (n, total))| Some((name.clone(), mean_of(*total, *n)?)))
            .collect();
        figures
    }
}

#[expect(clippy::cast_precision_loss, reason = "counts stay far below 2^52")]
fn percentage(part: u64, whole: u64) -> Option<f64> {
    (whole > 0).then(|| part as f64 * 100.0 / whole as f64)
}

#[expect(
    clippy::cast_precision_loss,
    reason = "milliseconds of work stay far below 2^52"
)]
fn mean_of(total: i64, n: u64) -> Option<f64> {
    (n > 0).then(|| total as f64 / n as f64)
}
