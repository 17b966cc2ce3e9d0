//! What goes into the very commit of an operation beside its own writes: the answer to a request that may come
//! again, or the turn of the member whose call it is. One is there exactly if the other is.

use std::fmt::Debug;
use std::sync::Arc;

use polis_core::changeset::Receipt;
use polis_core::{Changeset, RecordKey, Refusal};

/// The operation's answer as JSON, made of the receipt of its commit.
pub type AnswerOf = Arc<dyn Fn(&Receipt) -> String + Send + Sync>;

/// What is committed together with an operation.
///
/// An operation that commits does so once for its deed and joins this to it, even if the deed itself turns out to
/// be nothing. An operation that only looks, or refuses, never asks.
pub trait Alongside: Send + Sync + Debug {
    /// The operation's changes with these added; `now` is in milliseconds. Asked again for every attempt, always with the changes of that attempt.
    /// A record that the operation writes already has to be changed where it stands (see
    /// [`Changeset::amend`]), because a changeset cannot expect two states of it. A body made of the receipt
    /// is in the last write.
    fn join(&self, changes: Changeset, now: i64, answer: AnswerOf) -> Changeset;

    /// Why the operation must not be tried again after this record was not as expected; `None` if it may.
    fn lost(&self, key: &RecordKey) -> Option<Refusal>;

    /// All of it is durable.
    fn committed(&self, receipt: &Receipt);
}
