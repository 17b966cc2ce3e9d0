//! Commit hook (trait): adds writes to the commit of an operation, may forbid a retry after a conflict, and is
//! notified when the commit is durable.
//!
//! Implemented for the stored response of an idempotency key and for the turn of the member that made the call.
//! The operation's effect and these writes are stored together or not at all.

use std::fmt::Debug;
use std::sync::Arc;

use polis_core::changeset::Receipt;
use polis_core::{Changeset, RecordKey, Refusal};

/// Builds the operation's response as JSON from the receipt of its commit.
pub type ResponseBuilder = Arc<dyn Fn(&Receipt) -> String + Send + Sync>;

/// Writes that join the commit of an operation.
///
/// An operation that commits does so exactly once for its effect and joins these writes to it, even if the
/// effect itself turns out to be empty. An operation that only reads, or that is refused, never calls the
/// hook.
pub trait CommitHook: Send + Sync + Debug {
    /// Returns the operation's changes with the additional writes; `now` is in milliseconds. Called again for
    /// every retry, always with the changes of that attempt. A record that the operation already writes must
    /// be changed in place (see [`Changeset::amend_record`]), because a changeset cannot expect two states of one
    /// record. A body that is built from the receipt must be in the last write.
    fn add_writes(&self, changes: Changeset, now: i64, answer: ResponseBuilder) -> Changeset;

    /// Returns why the operation must not be retried after a conflict on this record, or `None` if it may be
    /// retried.
    fn refusal_on_conflict(&self, key: &RecordKey) -> Option<Refusal>;

    /// Called when the whole commit is durable.
    fn on_committed(&self, receipt: &Receipt);
}
