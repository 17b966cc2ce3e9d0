//! In-flight claim hints: the tasks that claimers of this process are about to take.
//!
//! Concurrent requests for the best task would all try to claim the same task, and all but one would fail. The hints
//! let each claimer skip the tasks that others are trying to claim. They are only hints: the commit decides which
//! claimer gets a task, and claimers in other processes are not visible here.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use polis_core::TaskId;

/// Set of tasks with a claim in flight.
#[derive(Debug, Default)]
pub(crate) struct Claiming(Mutex<BTreeSet<TaskId>>);

impl Claiming {
    fn set(&self) -> MutexGuard<'_, BTreeSet<TaskId>> {
        // A set of numbers cannot be left inconsistent, so a poisoned lock is safe to use.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns a copy of the set.
    pub(crate) fn taken(&self) -> BTreeSet<TaskId> {
        self.set().clone()
    }
}

/// The task that one claimer is about to take; the hint is removed on drop.
#[derive(Debug)]
pub(crate) struct Hold<'a> {
    claiming: &'a Claiming,
    task: Mutex<Option<TaskId>>,
}

impl<'a> Hold<'a> {
    /// Creates a hold without a task.
    pub(crate) fn new(claiming: &'a Claiming) -> Self {
        Self {
            claiming,
            task: Mutex::new(None),
        }
    }

    fn chosen(&self) -> MutexGuard<'_, Option<TaskId>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Chooses a task; returns false if another claimer has chosen it in the meantime.
    pub(crate) fn take(&self, task: TaskId) -> bool {
        let first = self.claiming.set().insert(task);
        if first {
            *self.chosen() = Some(task);
        }
        first
    }

    /// Removes the hint for the chosen task.
    pub(crate) fn let_go(&self) {
        if let Some(task) = self.chosen().take() {
            self.claiming.set().remove(&task);
        }
    }
}

impl Drop for Hold<'_> {
    fn drop(&mut self) {
        self.let_go();
    }
}
