//! Where every change to shared state goes.

use polis_core::{Changeset, RecordKey, TaskId};

use super::{PortError, PortFuture};

/// What became of a changeset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All of it is durable.
    Committed(Receipt),
    /// None of it was applied: this record was not as expected.
    Conflict(RecordKey),
}

/// What a store adds to a committed changeset.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Receipt {
    /// The place of its last event in the log.
    pub sequence: u64,
    /// The number of the task it created.
    pub created: Option<TaskId>,
    /// The number of the last comment it added.
    pub comment: Option<u64>,
    /// Pending tasks that have no open blocker any more through it.
    pub unblocked: Vec<TaskId>,
}

/// Gives changesets one after another, so that a large import need not fit in memory.
pub trait ChangesetSource: Send {
    /// The next one; `None` at the end. An error undoes everything.
    fn next(&mut self) -> Result<Option<Changeset>, PortError>;
}

/// Where every change goes.
pub trait Ledger {
    /// Commits a changeset.
    ///
    /// All its writes and events become visible together, or none does. Of two changesets that
    /// expect the same revision of a record, at most one is committed. When this answers
    /// `Committed`, a crash of anything cannot undo it.
    fn commit(&self, changes: Changeset) -> PortFuture<'_, Outcome>;

    /// Commits many changesets as one: all or none.
    fn commit_stream<'a>(&'a self, source: &'a mut dyn ChangesetSource) -> PortFuture<'a, Outcome>;
}
