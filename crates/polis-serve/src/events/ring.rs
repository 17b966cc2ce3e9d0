//! Ring buffer of the newest events of the event log, shared by all readers in this process (event streams, MCP
//! subscriptions and webhooks).
//!
//! Pure data structure: the hub fills it. Readers whose position is older than the ring get their events from
//! `page_cache`.

use std::collections::VecDeque;
use std::sync::Arc;

use super::batch::{EventBatch, EventSlice};

/// Limits of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct RingLimits {
    /// Maximum number of events.
    pub(crate) max_events: usize,
    /// Approximate maximum size in bytes.
    pub(crate) max_bytes: usize,
}

/// The newest batches, without a gap between them. The newest batch is always kept, even if it exceeds the
/// limits.
#[derive(Debug)]
pub(crate) struct Ring {
    limits: RingLimits,
    batches: VecDeque<Arc<EventBatch>>,
    events: usize,
    bytes: usize,
}

/// Result of a lookup in the ring.
#[derive(Debug)]
pub(crate) enum RingLookup {
    /// The next events.
    Events(EventSlice),
    /// The next event is older than the ring.
    OlderThanRing,
    /// No event that the reader may see yet.
    NoneYet,
}

impl Ring {
    /// Creates an empty ring.
    pub(crate) fn new(limits: RingLimits) -> Self {
        Self {
            limits,
            batches: VecDeque::new(),
            events: 0,
            bytes: 0,
        }
    }

    /// Returns the sequence number of the newest event.
    pub(crate) fn last_seq(&self) -> Option<u64> {
        self.batches.back().map(|batch| batch.last_seq())
    }

    /// Returns the number of events and their approximate size in bytes.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.events, self.bytes)
    }

    /// Adds a batch and evicts the oldest ones beyond the limits. A batch that does not continue the ring
    /// replaces it: a ring never has a gap.
    pub(crate) fn push(&mut self, batch: Arc<EventBatch>) {
        let continues = |last: u64| batch.first_seq() == last.saturating_add(1);
        if !self.last_seq().is_none_or(continues) {
            self.clear();
        }
        self.events += batch.len();
        self.bytes += batch.memory_bytes();
        self.batches.push_back(batch);
        while self.batches.len() > 1 && self.exceeds_limits() {
            if let Some(oldest) = self.batches.pop_front() {
                self.events -= oldest.len();
                self.bytes -= oldest.memory_bytes();
            }
        }
    }

    /// Removes all batches.
    pub(crate) fn clear(&mut self) {
        self.batches.clear();
        (self.events, self.bytes) = (0, 0);
    }

    /// Returns the events after `position` from one batch, up to and including `announced`.
    pub(crate) fn events_after(&self, position: u64, announced: u64) -> RingLookup {
        if announced <= position {
            return RingLookup::NoneYet;
        }
        let Some(oldest) = self.batches.front() else {
            return RingLookup::NoneYet;
        };
        if position.saturating_add(1) < oldest.first_seq() {
            return RingLookup::OlderThanRing;
        }
        let at = self
            .batches
            .partition_point(|batch| batch.last_seq() <= position);
        let slice = self
            .batches
            .get(at)
            .and_then(|batch| EventSlice::from_batch(batch, position, announced));
        slice.map_or(RingLookup::NoneYet, RingLookup::Events)
    }

    fn exceeds_limits(&self) -> bool {
        self.events > self.limits.max_events || self.bytes > self.limits.max_bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::events::sample_event;

    fn event_batch(from: u64, count: u64) -> Arc<EventBatch> {
        EventBatch::from_events((from..from + count).map(sample_event).collect()).unwrap()
    }

    #[test]
    fn ring_keeps_newest_batch_over_limit() {
        let bounds = RingLimits {
            max_events: 2,
            max_bytes: 1 << 20,
        };
        let mut ring = Ring::new(bounds);
        assert!(matches!(ring.events_after(0, 9), RingLookup::NoneYet));
        ring.push(event_batch(1, 9));
        assert_eq!(ring.size().0, 9);
        assert!(matches!(ring.events_after(0, 9), RingLookup::Events(slice) if slice.count() == 9));
        ring.push(event_batch(10, 1));
        assert_eq!(ring.size().0, 1);
        assert!(matches!(
            ring.events_after(8, 10),
            RingLookup::OlderThanRing
        ));
    }

    #[test]
    fn ring_is_replaced_by_batch_after_gap() {
        let mut ring = Ring::new(RingLimits {
            max_events: 100,
            max_bytes: 1 << 20,
        });
        ring.push(event_batch(1, 5));
        ring.push(event_batch(8, 2));
        assert_eq!((ring.last_seq(), ring.size().0), (Some(9), 2));
        assert!(matches!(ring.events_after(5, 9), RingLookup::OlderThanRing));
        ring.clear();
        assert_eq!((ring.last_seq(), ring.size()), (None, (0, 0)));
    }

    /// A step applied to a ring and its readers.
    #[derive(Debug, Clone)]
    enum RingStep {
        /// Adds a batch with this many events.
        Push(u64),
        /// Announces all events in the ring to the readers.
        Announce,
        /// Lets this reader read at most this many times.
        Read(usize, usize),
        /// Replaces this reader by one that starts this far back.
        RestartReader(usize, u64),
    }

    fn ring_steps() -> impl Strategy<Value = Vec<RingStep>> {
        let step = prop_oneof![
            4 => (1..12_u64).prop_map(RingStep::Push),
            3 => Just(RingStep::Announce),
            6 => (0..4_usize, 1..6_usize).prop_map(|(who, times)| RingStep::Read(who, times)),
            1 => (0..4_usize, 0..80_u64).prop_map(|(who, back)| RingStep::RestartReader(who, back)),
        ];
        prop::collection::vec(step, 1..120)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Readers of any speed see each event once and in order, from the ring or, if the ring no longer has
        /// it, from the log; never beyond the announced sequence number.
        #[test]
        fn every_reader_sees_every_event_once_in_order(
            steps in ring_steps(),
            events in 1..40_usize,
            bytes in 200..20_000_usize,
        ) {
            let bounds = RingLimits { max_events: events, max_bytes: bytes };
            let mut ring = Ring::new(bounds);
            let (mut head, mut announced) = (0, 0);
            let mut positions = [0_u64; 4];
            for step in steps {
                match step {
                    RingStep::Push(count) => {
                        let new = event_batch(head + 1, count);
                        let newest_len = new.len();
                        ring.push(new);
                        head += count;
                        prop_assert_eq!(ring.last_seq(), Some(head));
                        let (stored, weight) = ring.size();
                        prop_assert!(stored == newest_len || (stored <= events && weight <= bytes));
                    }
                    RingStep::Announce => announced = head,
                    RingStep::RestartReader(reader, distance) => positions[reader] = head.saturating_sub(distance),
                    RingStep::Read(reader, times) => {
                        for _ in 0..times {
                            let position = positions[reader];
                            match ring.events_after(position, announced) {
                                RingLookup::Events(slice) => {
                                    let actual: Vec<u64> = slice.events().iter().map(|e| e.seq).collect();
                                    let expected: Vec<u64> = (position + 1..=slice.last_seq()).collect();
                                    prop_assert_eq!(&actual, &expected);
                                    prop_assert!(!actual.is_empty() && slice.last_seq() <= announced);
                                    positions[reader] = slice.last_seq();
                                }
                                // Simulates a read of the log: one event, which must be older than the ring.
                                RingLookup::OlderThanRing => {
                                    prop_assert!(position < announced);
                                    positions[reader] = position + 1;
                                }
                                RingLookup::NoneYet => {
                                    prop_assert!(position >= announced, "{position} of {announced} and nothing");
                                    break;
                                }
                            }
                        }
                    }
                }
            }
            // Every reader that continues reading reaches the end.
            for mut position in positions {
                let mut reads = 0;
                while position < head {
                    position = match ring.events_after(position, head) {
                        RingLookup::Events(slice) => slice.last_seq(),
                        RingLookup::OlderThanRing => position + 1,
                        RingLookup::NoneYet => return Err(TestCaseError::fail("stuck")),
                    };
                    reads += 1;
                    prop_assert!(reads < 10_000);
                }
            }
        }
    }
}
