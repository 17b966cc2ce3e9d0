//! Where every change to shared state goes.

use polis_core::changeset::Fence;
pub use polis_core::changeset::Receipt;
use polis_core::{Changeset, RecordKey};

use super::{PortError, PortFuture};

/// What became of a changeset.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// All of it is durable.
    Committed(Receipt),
    /// None of it was applied: this record was not as expected.
    Conflict(RecordKey),
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

    /// Commits many changesets as one: all or none. May keep the calling thread busy until it is
    /// done: whoever serves others meanwhile gives it a thread of its own.
    fn commit_stream<'a>(&'a self, source: &'a mut dyn ChangesetSource) -> PortFuture<'a, Outcome>;

    /// A fence's revision; 0 if it was never touched.
    fn fence(&self, fence: Fence) -> PortFuture<'_, u64>;
}
