//! Store port [`Ledger`], the only one that writes: commits changesets.
//!
//! Every change of shared state is a commit. All writes and events of a changeset become durable together, or
//! none does; if a record is not in the expected state, the commit fails with a conflict. The events form the
//! event log, which `EventLogReader` reads.

use polis_core::changeset::Fence;
pub use polis_core::changeset::Receipt;
use polis_core::{Changeset, RecordKey};

use crate::port::{PortError, PortFuture};

/// Result of a commit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommitOutcome {
    /// The whole changeset is durable.
    Committed(Receipt),
    /// Nothing was applied: this record was not in the expected state.
    Conflict(RecordKey),
}

/// Stream of changesets, so that a large import does not have to fit in memory.
pub trait ChangesetSource: Send {
    /// Returns the next changeset; `None` at the end. An error rolls back everything.
    fn next(&mut self) -> Result<Option<Changeset>, PortError>;
}

/// The single write port.
pub trait Ledger {
    /// Commits a changeset.
    ///
    /// All its writes and events become visible together, or none does. Of two changesets that expect the
    /// same revision of a record, at most one is committed. Once `Committed` is returned, no crash can undo
    /// the commit. Fails with `board_locked` if another program has locked the file of a board, with
    /// `commit_unknown` if the connection broke and the outcome is unknown, and if the store fails.
    fn commit(&self, changes: Changeset) -> PortFuture<'_, CommitOutcome>;

    /// Commits many changesets as one: all or none. May block the calling thread until it is done; a server
    /// must call it on a separate thread. Fails if the source or the store does.
    fn commit_stream<'a>(
        &'a self,
        source: &'a mut dyn ChangesetSource,
    ) -> PortFuture<'a, CommitOutcome>;

    /// Returns a fence's revision; 0 if it was never touched.
    fn fence_revision(&self, fence: Fence) -> PortFuture<'_, u64>;
}
