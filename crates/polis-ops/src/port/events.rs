//! Reading the commit log.

use std::time::Duration;

use polis_core::Event;

use super::PortFuture;

/// Which events to read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventQuery {
    /// Only those after this place in the log.
    pub after: u64,
    /// Only those before this place.
    pub before: Option<u64>,
    /// The newest of them, if there are more than so many; the oldest otherwise.
    pub newest: bool,
    /// At most so many.
    pub limit: u32,
    /// Only those about this subject, such as `task/5`.
    pub subject: Option<String>,
    /// None of these kinds.
    pub except: &'static [&'static str],
}

/// The commit log.
pub trait Events {
    /// Events in commit order. Sequence numbers have no gaps, and an event that can be read is
    /// preceded by all earlier ones.
    fn events<'a>(&'a self, query: &'a EventQuery) -> PortFuture<'a, Vec<Event>>;

    /// The place of the newest event; 0 if there is none.
    fn last_sequence(&self) -> PortFuture<'_, u64>;

    /// Waits until there is an event after `after`, from whatever process, or the time is up.
    /// Answers the place of the newest event.
    fn wait_beyond(&self, after: u64, at_most: Duration) -> PortFuture<'_, u64>;
}
