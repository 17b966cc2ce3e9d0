//! Immutable batches of consecutive log events, shared by all readers.
//!
//! The SSE encoding of a batch is produced once, by the first reader that needs it; all other readers send
//! slices of the same bytes. Filtering and visibility are decided by each reader.

use std::sync::{Arc, OnceLock};

use bytes::Bytes;
use polis_core::Event;
use polis_core::event::kind;
use serde::Deserialize;

use super::sse_encoding;

/// Estimated memory per event in bytes, without its strings.
const OVERHEAD: usize = 160;

/// Consecutive events in order; at least one.
#[derive(Debug)]
pub(crate) struct Batch {
    events: Vec<Event>,
    first: u64,
    last: u64,
    weight: usize,
    ends: Vec<Ended>,
    wire: OnceLock<Wire>,
}

/// The batch encoded as server-sent events: one buffer, and the end offset of each event in it.
#[derive(Debug)]
struct Wire {
    bytes: Bytes,
    ends: Vec<usize>,
}

/// An event that revokes access, by its index in the batch.
#[derive(Debug)]
struct Ended {
    at: usize,
    who: Who,
}

#[derive(Debug, PartialEq, Eq)]
enum Who {
    /// Readers authenticated with this token.
    Token(String),
    /// Readers that act as the agent with this event subject.
    Agent(String),
}

impl Batch {
    /// Creates a batch. Returns `None` if there are no events or if their sequence numbers have a gap.
    pub(crate) fn of(events: Vec<Event>) -> Option<Arc<Self>> {
        let first = events.first()?.seq;
        let last = events.last()?.seq;
        let mut due = first;
        for event in &events {
            if event.seq != due {
                return None;
            }
            due = due.saturating_add(1);
        }
        let weight = events.iter().map(weight).sum();
        let ends = events.iter().enumerate().filter_map(ended).collect();
        Some(Arc::new(Self {
            events,
            first,
            last,
            weight,
            ends,
            wire: OnceLock::new(),
        }))
    }

    /// Returns the sequence number of its first event.
    pub(crate) fn first(&self) -> u64 {
        self.first
    }

    /// Returns the sequence number of its last event.
    pub(crate) fn last(&self) -> u64 {
        self.last
    }

    /// Returns the number of events.
    pub(crate) fn len(&self) -> usize {
        self.events.len()
    }

    /// Returns the approximate memory use in bytes: the events, and the same amount again for their encoding.
    pub(crate) fn weight(&self) -> usize {
        self.weight * 2
    }

    fn wire(&self) -> &Wire {
        self.wire.get_or_init(|| {
            let mut text = Vec::with_capacity(self.weight);
            let ends = self
                .events
                .iter()
                .map(|event| {
                    sse_encoding::event(event, &mut text);
                    text.len()
                })
                .collect();
            Wire {
                bytes: text.into(),
                ends,
            }
        })
    }
}

/// Events that a reader has not seen yet, in order and without gaps; at least one.
#[derive(Debug, Clone)]
pub struct News {
    batch: Arc<Batch>,
    from: usize,
    to: usize,
}

impl News {
    /// Returns the events of a batch after `place`, up to and including `told`. Returns `None` if there are
    /// none, or if events are missing between `place` and the batch.
    pub(crate) fn of(batch: &Arc<Batch>, place: u64, told: u64) -> Option<Self> {
        let next = place.checked_add(1)?;
        if next < batch.first || next > batch.last || told < next {
            return None;
        }
        let at = |seq: u64| usize::try_from(seq - batch.first).ok();
        Some(Self {
            from: at(next)?,
            to: at(told.min(batch.last))? + 1,
            batch: Arc::clone(batch),
        })
    }

    /// Returns the events.
    pub fn events(&self) -> &[Event] {
        self.batch.events.get(self.from..self.to).unwrap_or(&[])
    }

    /// Returns the sequence number of the first event.
    pub fn first(&self) -> u64 {
        self.batch.first + self.from as u64
    }

    /// Returns the sequence number of the last event.
    pub fn last(&self) -> u64 {
        self.batch.first + self.to.saturating_sub(1) as u64
    }

    /// Returns the number of events.
    pub fn count(&self) -> usize {
        self.to - self.from
    }

    /// Returns the events with index `from..to` encoded as server-sent events. The bytes are shared with all
    /// other readers.
    pub(crate) fn frames_of(&self, from: usize, to: usize) -> Bytes {
        let wire = self.batch.wire();
        let end = |of: usize| match of {
            0 => 0,
            n => wire.ends.get(n - 1).copied().unwrap_or(wire.bytes.len()),
        };
        let begin = end(self.from + from);
        let until = end(self.from + to).max(begin);
        wire.bytes.slice(begin..until)
    }

    /// Keeps only the first `many` events.
    #[must_use]
    pub fn up_to(mut self, many: usize) -> Self {
        self.to = self.to.min(self.from.saturating_add(many));
        self
    }

    /// Returns the index of the first event that revokes the access of a reader with this token, acting as
    /// this agent.
    pub fn ends_access(&self, token: Option<&str>, agent: &str) -> Option<usize> {
        let meant = |who: &Who| match who {
            Who::Token(id) => token == Some(id.as_str()),
            Who::Agent(subject) => subject.strip_prefix("agent/") == Some(agent),
        };
        let mut here = self
            .batch
            .ends
            .iter()
            .filter(|ended| (self.from..self.to).contains(&ended.at));
        let found = here.find(|ended| meant(&ended.who))?;
        Some(found.at - self.from)
    }
}

fn weight(event: &Event) -> usize {
    let texts = event.actor.len() + event.kind.len() + event.subject.len();
    OVERHEAD + texts + event.data.text().len()
}

fn ended((at, event): (usize, &Event)) -> Option<Ended> {
    #[derive(Deserialize)]
    struct Revoked {
        token: String,
    }
    let who = match event.kind.as_str() {
        kind::TOKEN_REVOKED => Who::Token(event.data.to::<Revoked>()?.token),
        kind::AGENT_RETIRED => Who::Agent(event.subject.clone()),
        _ => return None,
    };
    Some(Ended { at, who })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::sample;

    #[test]
    fn a_batch_has_no_gaps() {
        assert!(Batch::of(Vec::new()).is_none());
        assert!(Batch::of(vec![sample(3), sample(5)]).is_none());
        assert!(Batch::of(vec![sample(3), sample(3)]).is_none());
        let batch = Batch::of((3..=5).map(sample).collect()).unwrap();
        assert_eq!((batch.first(), batch.last(), batch.len()), (3, 5, 3));
    }

    #[test]
    fn news_are_what_comes_after_a_place() {
        let batch = Batch::of((3..=6).map(sample).collect()).unwrap();
        let seen = |place, told| {
            let news = News::of(&batch, place, told)?;
            assert_eq!(news.events().len(), news.count());
            assert_eq!(news.events().last().unwrap().seq, news.last());
            Some((news.events().first().unwrap().seq, news.last()))
        };
        assert_eq!(seen(1, 9), None, "3 would be skipped");
        assert_eq!(seen(2, 9), Some((3, 6)));
        assert_eq!(seen(2, 4), Some((3, 4)));
        assert_eq!(seen(4, 9), Some((5, 6)));
        assert_eq!(seen(4, 4), None);
        assert_eq!(seen(6, 9), None);
        assert_eq!(seen(u64::MAX, u64::MAX), None);
    }

    #[test]
    fn frames_are_shared_and_fit_together() {
        let batch = Batch::of((3..=6).map(sample).collect()).unwrap();
        let news = News::of(&batch, 2, 6).unwrap();
        let all = news.frames_of(0, 4);
        let parts: Vec<Bytes> = (0..4).map(|n| news.frames_of(n, n + 1)).collect();
        assert_eq!(all, parts.concat());
        assert!(parts[3].starts_with(b"id: 6\n"));
        // The same memory, not merely equal bytes.
        assert_eq!(parts[0].as_ptr(), all.as_ptr());
        let later = News::of(&batch, 4, 6).unwrap();
        assert_eq!(later.frames_of(0, 2), parts[2..].concat());
        assert_eq!(later.frames_of(1, 2).as_ptr(), parts[3].as_ptr());
        assert_eq!(later.up_to(1).frames_of(0, 1), parts[2]);
    }

    #[test]
    fn a_batch_knows_whose_access_it_ends() {
        let mut events: Vec<Event> = (1..=4).map(sample).collect();
        events[1].kind = kind::TOKEN_REVOKED.to_owned();
        events[1].data = polis_core::Raw::parse(r#"{"token":"abc","scopes":["all"]}"#).unwrap();
        events[3].kind = kind::AGENT_RETIRED.to_owned();
        events[3].subject = "agent/bob".to_owned();
        let batch = Batch::of(events).unwrap();
        let news = News::of(&batch, 0, 4).unwrap();
        assert_eq!(news.ends_access(Some("abc"), "alice"), Some(1));
        assert_eq!(news.ends_access(Some("abd"), "alice"), None);
        assert_eq!(news.ends_access(None, "bob"), Some(3));
        let later = News::of(&batch, 2, 4).unwrap();
        assert_eq!(later.ends_access(Some("abc"), "bob"), Some(1));
        assert_eq!(later.up_to(1).ends_access(None, "bob"), None);
    }
}
