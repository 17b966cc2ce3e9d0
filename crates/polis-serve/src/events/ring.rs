//! Ring buffer of the newest log events, shared by all readers.
//!
//! Pure data structure: the hub fills it, and `history` provides older events.

use std::collections::VecDeque;
use std::sync::Arc;

use super::batch::{Batch, News};

/// Limits of a ring.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Bounds {
    /// Maximum number of events.
    pub(crate) events: usize,
    /// Approximate maximum size in bytes.
    pub(crate) bytes: usize,
}

/// The newest batches, without a gap between them. The newest batch is always kept, even if it exceeds the
/// limits.
#[derive(Debug)]
pub(crate) struct Ring {
    bounds: Bounds,
    batches: VecDeque<Arc<Batch>>,
    events: usize,
    bytes: usize,
}

/// Result of a lookup in the ring.
#[derive(Debug)]
pub(crate) enum Look {
    /// The next events.
    News(News),
    /// The next event is older than the ring.
    Older,
    /// No event that the reader may see yet.
    Nothing,
}

impl Ring {
    /// Creates an empty ring.
    pub(crate) fn new(bounds: Bounds) -> Self {
        Self {
            bounds,
            batches: VecDeque::new(),
            events: 0,
            bytes: 0,
        }
    }

    /// Returns the sequence number of the newest event.
    pub(crate) fn last(&self) -> Option<u64> {
        self.batches.back().map(|batch| batch.last())
    }

    /// Returns the number of events and their approximate size in bytes.
    pub(crate) fn size(&self) -> (usize, usize) {
        (self.events, self.bytes)
    }

    /// Adds a batch and evicts the oldest ones beyond the limits. A batch that does not continue the ring
    /// replaces it: a ring never has a gap.
    pub(crate) fn push(&mut self, batch: Arc<Batch>) {
        let continues = |last: u64| batch.first() == last.saturating_add(1);
        if !self.last().is_none_or(continues) {
            self.clear();
        }
        self.events += batch.len();
        self.bytes += batch.weight();
        self.batches.push_back(batch);
        while self.batches.len() > 1 && self.is_over() {
            if let Some(oldest) = self.batches.pop_front() {
                self.events -= oldest.len();
                self.bytes -= oldest.weight();
            }
        }
    }

    /// Removes all batches.
    pub(crate) fn clear(&mut self) {
        self.batches.clear();
        (self.events, self.bytes) = (0, 0);
    }

    /// Returns the events after `place` from one batch, up to and including `told`.
    pub(crate) fn after(&self, place: u64, told: u64) -> Look {
        if told <= place {
            return Look::Nothing;
        }
        let Some(oldest) = self.batches.front() else {
            return Look::Nothing;
        };
        if place.saturating_add(1) < oldest.first() {
            return Look::Older;
        }
        let at = self.batches.partition_point(|batch| batch.last() <= place);
        let news = self
            .batches
            .get(at)
            .and_then(|batch| News::of(batch, place, told));
        news.map_or(Look::Nothing, Look::News)
    }

    fn is_over(&self) -> bool {
        self.events > self.bounds.events || self.bytes > self.bounds.bytes
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::events::sample;

    fn batch(from: u64, many: u64) -> Arc<Batch> {
        Batch::of((from..from + many).map(sample).collect()).unwrap()
    }

    #[test]
    fn the_newest_stays_however_large() {
        let bounds = Bounds {
            events: 2,
            bytes: 1 << 20,
        };
        let mut ring = Ring::new(bounds);
        assert!(matches!(ring.after(0, 9), Look::Nothing));
        ring.push(batch(1, 9));
        assert_eq!(ring.size().0, 9);
        assert!(matches!(ring.after(0, 9), Look::News(news) if news.count() == 9));
        ring.push(batch(10, 1));
        assert_eq!(ring.size().0, 1);
        assert!(matches!(ring.after(8, 10), Look::Older));
    }

    #[test]
    fn what_does_not_continue_replaces() {
        let mut ring = Ring::new(Bounds {
            events: 100,
            bytes: 1 << 20,
        });
        ring.push(batch(1, 5));
        ring.push(batch(8, 2));
        assert_eq!((ring.last(), ring.size().0), (Some(9), 2));
        assert!(matches!(ring.after(5, 9), Look::Older));
        ring.clear();
        assert_eq!((ring.last(), ring.size()), (None, (0, 0)));
    }

    /// A step applied to a ring and its readers.
    #[derive(Debug, Clone)]
    enum Step {
        /// Adds a batch with this many events.
        Push(u64),
        /// Announces all events in the ring to the readers.
        Tell,
        /// Lets this reader read at most this many times.
        Read(usize, usize),
        /// Replaces this reader by one that starts this far back.
        Begin(usize, u64),
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            4 => (1..12_u64).prop_map(Step::Push),
            3 => Just(Step::Tell),
            6 => (0..4_usize, 1..6_usize).prop_map(|(who, times)| Step::Read(who, times)),
            1 => (0..4_usize, 0..80_u64).prop_map(|(who, back)| Step::Begin(who, back)),
        ];
        prop::collection::vec(step, 1..120)
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(512))]

        /// Readers of any speed see each event once and in order, from the ring or, if the ring no longer has
        /// it, from the log; never beyond the announced sequence number.
        #[test]
        fn every_reader_sees_every_event_once_in_order(
            steps in steps(),
            events in 1..40_usize,
            bytes in 200..20_000_usize,
        ) {
            let bounds = Bounds { events, bytes };
            let mut ring = Ring::new(bounds);
            let (mut head, mut told) = (0, 0);
            let mut places = [0_u64; 4];
            for step in steps {
                match step {
                    Step::Push(many) => {
                        let new = batch(head + 1, many);
                        let alone = new.len();
                        ring.push(new);
                        head += many;
                        prop_assert_eq!(ring.last(), Some(head));
                        let (kept, weight) = ring.size();
                        prop_assert!(kept == alone || (kept <= events && weight <= bytes));
                    }
                    Step::Tell => told = head,
                    Step::Begin(who, back) => places[who] = head.saturating_sub(back),
                    Step::Read(who, times) => {
                        for _ in 0..times {
                            let place = places[who];
                            match ring.after(place, told) {
                                Look::News(news) => {
                                    let seen: Vec<u64> = news.events().iter().map(|e| e.seq).collect();
                                    let due: Vec<u64> = (place + 1..=news.last()).collect();
                                    prop_assert_eq!(&seen, &due);
                                    prop_assert!(!seen.is_empty() && news.last() <= told);
                                    places[who] = news.last();
                                }
                                // Simulates a read of the log: one event, which must be older than the ring.
                                Look::Older => {
                                    prop_assert!(place < told);
                                    places[who] = place + 1;
                                }
                                Look::Nothing => {
                                    prop_assert!(place >= told, "{place} of {told} and nothing");
                                    break;
                                }
                            }
                        }
                    }
                }
            }
            // Every reader that continues reading reaches the end.
            for mut place in places {
                let mut reads = 0;
                while place < head {
                    place = match ring.after(place, head) {
                        Look::News(news) => news.last(),
                        Look::Older => place + 1,
                        Look::Nothing => return Err(TestCaseError::fail("stuck")),
                    };
                    reads += 1;
                    prop_assert!(reads < 10_000);
                }
            }
        }
    }
}
