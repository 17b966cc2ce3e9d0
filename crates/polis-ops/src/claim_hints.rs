//! In-flight claim hints: the tasks that claimers of this process are about to take.
//!
//! Concurrent requests for the best task would all try to claim the same task, and all but one would fail.
//! The hints let each claimer skip the tasks that others are trying to claim. They are only hints: the commit
//! decides which claimer gets a task, and claimers in other processes are not visible here.

use std::collections::BTreeSet;

use parking_lot::Mutex;
use polis_core::TaskId;

/// Set of tasks with a claim in flight.
#[derive(Debug, Default)]
pub(crate) struct ClaimHints(Mutex<BTreeSet<TaskId>>);

impl ClaimHints {
    /// Returns a copy of the set.
    pub(crate) fn tasks_in_flight(&self) -> BTreeSet<TaskId> {
        self.0.lock().clone()
    }
}

/// The task that one claimer is about to take; the hint is removed on drop.
#[derive(Debug)]
pub(crate) struct ClaimHintGuard<'a> {
    hints: &'a ClaimHints,
    task: Mutex<Option<TaskId>>,
}

impl<'a> ClaimHintGuard<'a> {
    /// Creates a guard without a chosen task.
    pub(crate) fn new(hints: &'a ClaimHints) -> Self {
        Self {
            hints,
            task: Mutex::new(None),
        }
    }

    /// Chooses a task; returns false if another claimer has chosen it in the meantime.
    pub(crate) fn try_choose(&self, task: TaskId) -> bool {
        let first = self.hints.0.lock().insert(task);
        if first {
            *self.task.lock() = Some(task);
        }
        first
    }

    /// Removes the hint for the chosen task.
    pub(crate) fn release_hint(&self) {
        if let Some(task) = self.task.lock().take() {
            self.hints.0.lock().remove(&task);
        }
    }
}

impl Drop for ClaimHintGuard<'_> {
    fn drop(&mut self) {
        self.release_hint();
    }
}
