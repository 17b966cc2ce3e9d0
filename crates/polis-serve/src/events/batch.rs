//! Event batches: immutable sequences of consecutive events of the event log, shared by all readers.
//!
//! The SSE encoding of a batch is produced once, by the first reader that needs it; all other readers send
//! slices of the same bytes. Filtering and visibility are decided by each reader.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use polis_core::{Event, EventKind, EventPayload};

use super::sse_encoding;

/// Estimated memory per event in bytes, without its strings.
const EVENT_OVERHEAD_BYTES: usize = 160;

/// Consecutive events in order; at least one.
#[derive(Debug)]
pub(crate) struct EventBatch {
    events: Vec<Event>,
    first_seq: u64,
    last_seq: u64,
    event_bytes: usize,
    revocations: Vec<AccessRevocation>,
    encoded: OnceLock<EncodedBatch>,
}

/// The batch encoded as server-sent events: one buffer, and the end offset of each event in it.
#[derive(Debug)]
struct EncodedBatch {
    bytes: Bytes,
    event_ends: Vec<usize>,
}

/// An event that revokes access, by its index in the batch.
#[derive(Debug)]
struct AccessRevocation {
    index: usize,
    reader: RevokedReader,
}

/// Readers whose access an event revokes.
#[derive(Debug, PartialEq, Eq)]
enum RevokedReader {
    /// Readers authenticated with this token.
    Token(String),
    /// Readers that act as the agent with this event subject.
    Agent(String),
}

impl EventBatch {
    /// Creates a batch. Returns `None` if there are no events or if their sequence numbers have a gap.
    pub(crate) fn from_events(events: Vec<Event>) -> Option<Arc<Self>> {
        let first = events.first()?.seq;
        let last = events.last()?.seq;
        let mut expected = first;
        for event in &events {
            if event.seq != expected {
                return None;
            }
            expected = expected.saturating_add(1);
        }
        let weight = events.iter().map(event_memory_bytes).sum();
        let revocations = events
            .iter()
            .enumerate()
            .filter_map(find_revocation)
            .collect();
        Some(Arc::new(Self {
            events,
            first_seq: first,
            last_seq: last,
            event_bytes: weight,
            revocations,
            encoded: OnceLock::new(),
        }))
    }

    /// Returns the sequence number of its first event.
    pub(crate) fn first_seq(&self) -> u64 {
        self.first_seq
    }

    /// Returns the sequence number of its last event.
    pub(crate) fn last_seq(&self) -> u64 {
        self.last_seq
    }

    /// Returns the number of events.
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns the approximate memory use in bytes: the events, and the same amount again for their encoding.
    pub(crate) fn memory_bytes(&self) -> usize {
        self.event_bytes * 2
    }

    fn encoded(&self) -> &EncodedBatch {
        self.encoded.get_or_init(|| {
            let mut text = Vec::with_capacity(self.event_bytes);
            let event_ends = self
                .events
                .iter()
                .map(|event| {
                    sse_encoding::encode_event(event, &mut text);
                    text.len()
                })
                .collect();
            EncodedBatch {
                bytes: text.into(),
                event_ends,
            }
        })
    }
}

/// Events that a reader has not seen yet, in order and without gaps; at least one.
#[derive(Debug, Clone)]
pub struct EventSlice {
    batch: Arc<EventBatch>,
    from: usize,
    to: usize,
}

impl EventSlice {
    /// Returns the events of a batch after `position`, up to and including `announced`. Returns `None` if there are
    /// none, or if events are missing between `position` and the batch.
    pub(crate) fn from_batch(
        batch: &Arc<EventBatch>,
        position: u64,
        announced: u64,
    ) -> Option<Self> {
        let next = position.checked_add(1)?;
        if next < batch.first_seq || next > batch.last_seq || announced < next {
            return None;
        }
        let at = |seq: u64| usize::try_from(seq - batch.first_seq).ok();
        Some(Self {
            from: at(next)?,
            to: at(announced.min(batch.last_seq))? + 1,
            batch: Arc::clone(batch),
        })
    }

    /// Returns the events.
    pub fn events(&self) -> &[Event] {
        self.batch.events.get(self.from..self.to).unwrap_or(&[])
    }

    /// Returns the sequence number of the first event.
    pub fn first_seq(&self) -> u64 {
        self.batch.first_seq + self.from as u64
    }

    /// Returns the sequence number of the last event.
    pub fn last_seq(&self) -> u64 {
        self.batch.first_seq + self.to.saturating_sub(1) as u64
    }

    /// Returns the number of events.
    pub fn count(&self) -> usize {
        self.to - self.from
    }

    /// Returns the events with index `from..to` encoded as server-sent events. The bytes are shared with all
    /// other readers.
    pub(crate) fn encoded_range(&self, from: usize, to: usize) -> Bytes {
        let wire = self.batch.encoded();
        let end = |index: usize| match index {
            0 => 0,
            n => wire
                .event_ends
                .get(n - 1)
                .copied()
                .unwrap_or(wire.bytes.len()),
        };
        let start = end(self.from + from);
        let until = end(self.from + to).max(start);
        wire.bytes.slice(start..until)
    }

    /// Keeps only the first `many` events.
    #[must_use]
    pub fn limited_to(mut self, count: usize) -> Self {
        self.to = self.to.min(self.from.saturating_add(count));
        self
    }

    /// Returns the index of the first event that revokes the access of a reader with this token, acting as
    /// this agent.
    pub fn revocation_index(&self, token: Option<&str>, agent: &str) -> Option<usize> {
        let is_reader = |reader: &RevokedReader| match reader {
            RevokedReader::Token(id) => token == Some(id.as_str()),
            RevokedReader::Agent(subject) => subject.strip_prefix("agent/") == Some(agent),
        };
        let mut revocations = self
            .batch
            .revocations
            .iter()
            .filter(|revocation| (self.from..self.to).contains(&revocation.index));
        let found = revocations.find(|revocation| is_reader(&revocation.reader))?;
        Some(found.index - self.from)
    }
}

fn event_memory_bytes(event: &Event) -> usize {
    let texts = event.actor.len() + event.kind.len() + event.subject.len();
    EVENT_OVERHEAD_BYTES + texts + event.data.as_str().len()
}

fn find_revocation((at, event): (usize, &Event)) -> Option<AccessRevocation> {
    let reader = match event.known_kind()? {
        EventKind::TokenRevoked => match event.payload() {
            Some(EventPayload::TokenRevoked(data)) => RevokedReader::Token(data.token),
            // It is unknown which token was revoked, so all readers that act as its agent reconnect.
            _ => RevokedReader::Agent(event.subject.clone()),
        },
        EventKind::AgentRetired => RevokedReader::Agent(event.subject.clone()),
        _ => return None,
    };
    Some(AccessRevocation { index: at, reader })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::sample_event;

    #[test]
    fn event_batch_with_gap_is_rejected() {
        assert!(EventBatch::from_events(Vec::new()).is_none());
        assert!(EventBatch::from_events(vec![sample_event(3), sample_event(5)]).is_none());
        assert!(EventBatch::from_events(vec![sample_event(3), sample_event(3)]).is_none());
        let batch = EventBatch::from_events((3..=5).map(sample_event).collect()).unwrap();
        assert_eq!(
            (batch.first_seq(), batch.last_seq(), batch.len()),
            (3, 5, 3)
        );
    }

    #[test]
    fn event_slice_starts_after_position() {
        let batch = EventBatch::from_events((3..=6).map(sample_event).collect()).unwrap();
        let range = |position, announced| {
            let slice = EventSlice::from_batch(&batch, position, announced)?;
            assert_eq!(slice.events().len(), slice.count());
            assert_eq!(slice.events().last().unwrap().seq, slice.last_seq());
            Some((slice.events().first().unwrap().seq, slice.last_seq()))
        };
        assert_eq!(range(1, 9), None, "3 would be skipped");
        assert_eq!(range(2, 9), Some((3, 6)));
        assert_eq!(range(2, 4), Some((3, 4)));
        assert_eq!(range(4, 9), Some((5, 6)));
        assert_eq!(range(4, 4), None);
        assert_eq!(range(6, 9), None);
        assert_eq!(range(u64::MAX, u64::MAX), None);
    }

    #[test]
    fn encoded_ranges_share_one_buffer() {
        let batch = EventBatch::from_events((3..=6).map(sample_event).collect()).unwrap();
        let slice = EventSlice::from_batch(&batch, 2, 6).unwrap();
        let all = slice.encoded_range(0, 4);
        let parts: Vec<Bytes> = (0..4).map(|n| slice.encoded_range(n, n + 1)).collect();
        assert_eq!(all, parts.concat());
        assert!(parts[3].starts_with(b"id: 6\n"));
        // The same memory, not merely equal bytes.
        assert_eq!(parts[0].as_ptr(), all.as_ptr());
        let later = EventSlice::from_batch(&batch, 4, 6).unwrap();
        assert_eq!(later.encoded_range(0, 2), parts[2..].concat());
        assert_eq!(later.encoded_range(1, 2).as_ptr(), parts[3].as_ptr());
        assert_eq!(later.limited_to(1).encoded_range(0, 1), parts[2]);
    }

    #[test]
    fn revocation_index_matches_token_and_agent() {
        let mut events: Vec<Event> = (1..=5).map(sample_event).collect();
        events[1].kind = EventKind::TokenRevoked.as_str().to_owned();
        events[1].data = polis_core::RawJson::parse(r#"{"token":"abc","scopes":["all"]}"#).unwrap();
        events[3].kind = EventKind::AgentRetired.as_str().to_owned();
        events[3].subject = "agent/bob".to_owned();
        events[4].kind = EventKind::TokenRevoked.as_str().to_owned();
        events[4].subject = "agent/carol".to_owned();
        events[4].data = polis_core::RawJson::parse(r#"{"tokens":["abd"]}"#).unwrap();
        let batch = EventBatch::from_events(events).unwrap();
        let slice = EventSlice::from_batch(&batch, 0, 5).unwrap();
        assert_eq!(slice.revocation_index(Some("abc"), "alice"), Some(1));
        assert_eq!(slice.revocation_index(Some("abd"), "alice"), None);
        assert_eq!(slice.revocation_index(None, "bob"), Some(3));
        // A revocation that cannot be read ends the streams of its agent.
        assert_eq!(slice.revocation_index(Some("abd"), "carol"), Some(4));
        let later = EventSlice::from_batch(&batch, 2, 4).unwrap();
        assert_eq!(later.revocation_index(Some("abc"), "bob"), Some(1));
        assert_eq!(later.limited_to(1).revocation_index(None, "bob"), None);
    }
}
