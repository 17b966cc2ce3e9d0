//! Tasks that claimers of this process are about to take.
//!
//! Many who ask for the best task at the same moment would all try for the same one, and all but one in
//! vain. Here they see what others are trying for and look past it. It is a hint and no more: who gets a
//! task is decided by the commit, and claimers of other processes are not seen.

use std::collections::BTreeSet;
use std::sync::{Mutex, MutexGuard, PoisonError};

use polis_core::TaskId;

/// What is about to be taken.
#[derive(Debug, Default)]
pub(crate) struct Claiming(Mutex<BTreeSet<TaskId>>);

impl Claiming {
    fn set(&self) -> MutexGuard<'_, BTreeSet<TaskId>> {
        // A set of numbers is whole whatever happened to whoever held it.
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What is about to be taken now.
    pub(crate) fn taken(&self) -> BTreeSet<TaskId> {
        self.set().clone()
    }
}

/// What one claimer is about to take; let go when it is dropped.
#[derive(Debug)]
pub(crate) struct Hold<'a> {
    claiming: &'a Claiming,
    task: Mutex<Option<TaskId>>,
}

impl<'a> Hold<'a> {
    /// A claimer that has not chosen yet.
    pub(crate) fn new(claiming: &'a Claiming) -> Self {
        Self {
            claiming,
            task: Mutex::new(None),
        }
    }

    fn chosen(&self) -> MutexGuard<'_, Option<TaskId>> {
        self.task.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Chooses a task; false if another claimer has chosen it meanwhile.
    pub(crate) fn take(&self, task: TaskId) -> bool {
        let first = self.claiming.set().insert(task);
        if first {
            *self.chosen() = Some(task);
        }
        first
    }

    /// Gives up what it has chosen.
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
