//! Store port [`EventLogReader`]: reads the events of the event log, and waits for new ones.

use std::time::Duration;

use polis_core::{Event, EventKind};

use crate::port::PortFuture;

/// Selection of events: a range of the log, and filters.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EventLogQuery {
    /// Only events after this sequence number.
    pub after: u64,
    /// Only events before this sequence number.
    pub before: Option<u64>,
    /// If more than `limit` events match: whether to return the newest instead of the oldest.
    pub newest: bool,
    /// Maximum number of events.
    pub limit: u32,
    /// Only events about this subject, such as `task/5`.
    pub subject: Option<String>,
    /// Excluded event kinds.
    pub excluded_kinds: &'static [EventKind],
}

/// Read access to the event log.
pub trait EventLogReader {
    /// Returns events in commit order. Sequence numbers have no gaps, and all events before a readable event
    /// are readable.
    fn events<'a>(&'a self, query: &'a EventLogQuery) -> PortFuture<'a, Vec<Event>>;

    /// Returns the sequence number of the newest event; 0 if there is none.
    fn last_sequence(&self) -> PortFuture<'_, u64>;

    /// Waits until there is an event after `after`, from any process, or until the timeout. Returns the
    /// sequence number of the newest event.
    fn wait_for_event_after(&self, after: u64, timeout: Duration) -> PortFuture<'_, u64>;
}
