//! Replay of request streams: keeps the events of each request for a client that lost its connection.
//!
//! A request of a session continues when its client disconnects, and its answer may exist nowhere else: messages it
//! returned are marked as read, a command has run. So every event goes into a log, the response reads from the log,
//! and a `GET` with `Last-Event-ID` reads on from there, whether the answer is ready already or not.
//!
//! `rmcp` can resume a stream too, but forgets it when its answer is sent, received or not. Its event store is no
//! alternative: it knows no sessions, so a client with the id of another session's event could read that answer.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::Stream;
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use tokio::time::Instant;

/// How many answered requests of a session are kept.
const MAX_ANSWERS: usize = 32;
/// How many bytes of them, as JSON. The newest answer is kept whatever its size.
const MAX_ANSWER_BYTES: usize = 256 << 10;
/// How many events of one request are kept. A client that was away longer misses reports of progress; the answer is the
/// last event.
const MAX_EVENTS: usize = 32;
/// How long a client waits before it reconnects.
const RETRY: Duration = Duration::from_secs(3);

/// The name of an event: which of the session's streams it belongs to, and its place there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct EventId {
    stream: u64,
    index: u64,
}

impl fmt::Display for EventId {
    // Distinct from the ids of the session's common stream, which are plain numbers and `rmcp`'s own.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}/{}", self.stream, self.index)
    }
}

impl EventId {
    fn parse(text: &str) -> Option<Self> {
        let (stream, index) = text.strip_prefix('r')?.split_once('/')?;
        Some(Self {
            stream: stream.parse().ok()?,
            index: index.parse().ok()?,
        })
    }
}

/// Whether an event is one of a request's stream, and not of a session's common stream.
pub(super) fn is_of_request(event_id: &str) -> bool {
    event_id.starts_with('r')
}

/// The logs of a session's requests.
#[derive(Debug)]
pub(super) struct Replay {
    /// For how long an answer is kept.
    ttl: Duration,
    streams: Mutex<Streams>,
}

#[derive(Debug, Default)]
struct Streams {
    next: u64,
    logs: BTreeMap<u64, Arc<EventLog>>,
}

impl Replay {
    pub(super) fn new(ttl: Duration) -> Self {
        Self {
            ttl,
            streams: Mutex::default(),
        }
    }

    fn streams(&self) -> MutexGuard<'_, Streams> {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Begins the log of a request. If `primed`, its first event has no message: it only gives the client an id to
    /// resume with, which clients before 2025-11-25 would take for a message.
    pub(super) fn begin(&self, primed: bool) -> Arc<EventLog> {
        let mut streams = self.streams();
        let stream = streams.next;
        streams.next += 1;
        let log = Arc::new(EventLog {
            stream,
            inner: Mutex::default(),
        });
        streams.logs.insert(stream, Arc::clone(&log));
        drop(streams);
        // 0 is the place of the first event without a message, whether it is sent or not.
        log.lock().next = 1;
        if primed {
            let id = EventId { stream, index: 0 };
            let first = ServerSseMessage::priming(id.to_string(), RETRY);
            log.lock().events.push_back((0, first));
        }
        log
    }

    /// Reads on after an event of one of the streams, unless it is forgotten.
    pub(super) fn resume(&self, last_event_id: &str) -> Option<EventReader> {
        self.evict();
        let last = EventId::parse(last_event_id)?;
        let log = self.streams().logs.get(&last.stream).cloned()?;
        Some(log.reader(last.index.checked_add(1)?))
    }

    /// Forgets answers that are too old or too many: those that were sent first, then the oldest.
    pub(super) fn evict(&self) {
        let now = Instant::now();
        let mut streams = self.streams();
        let is_old = |log: &EventLog| log.answered().is_some_and(|kept| kept.at + self.ttl <= now);
        streams.logs.retain(|_, log| !is_old(log));
        let answered = streams.logs.iter();
        let mut kept: Vec<(u64, KeptAnswer)> = answered
            .filter_map(|(stream, log)| Some((*stream, log.answered()?)))
            .collect();
        // The newest stays, so that one large answer can be resumed, too. A request that began early may be answered last.
        kept.sort_by_key(|(stream, answer)| (answer.at, *stream));
        kept.pop();
        kept.sort_by_key(|(stream, answer)| (!answer.sent, answer.at, *stream));
        let mut count = kept.len() + 1;
        let mut bytes: usize = kept.iter().map(|(_, answer)| answer.bytes).sum();
        for (stream, answer) in kept {
            if count <= MAX_ANSWERS && bytes <= MAX_ANSWER_BYTES {
                break;
            }
            streams.logs.remove(&stream);
            count -= 1;
            bytes -= answer.bytes;
        }
    }
}

/// An answer that is kept.
#[derive(Debug, Clone, Copy)]
struct KeptAnswer {
    at: Instant,
    bytes: usize,
    /// Whether all of it was handed to a connection. It may still have been lost there.
    sent: bool,
}

/// The events of one request.
#[derive(Debug)]
pub(super) struct EventLog {
    stream: u64,
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    events: VecDeque<(u64, ServerSseMessage)>,
    next: u64,
    answered: Option<KeptAnswer>,
    /// Counts the readers: the newest reads, those before it end, so that no message is on two streams.
    reader: u64,
    waiting: Option<Waker>,
}

impl EventLog {
    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an event.
    pub(super) fn push(&self, mut event: ServerSseMessage) {
        let mut inner = self.lock();
        let index = inner.next;
        inner.next += 1;
        let id = EventId {
            stream: self.stream,
            index,
        };
        event.event_id = Some(id.to_string());
        if inner.events.len() >= MAX_EVENTS {
            inner.events.pop_front();
        }
        inner.events.push_back((index, event));
        wake(inner);
    }

    /// Says that no more events come.
    pub(super) fn end(&self) {
        let mut inner = self.lock();
        let bytes = inner.events.iter().map(|(_, event)| size_of_event(event));
        inner.answered = Some(KeptAnswer {
            at: Instant::now(),
            bytes: bytes.sum(),
            sent: false,
        });
        wake(inner);
    }

    fn answered(&self) -> Option<KeptAnswer> {
        self.lock().answered
    }

    /// Returns a reader from an event on. It ends the reader before it.
    pub(super) fn reader(self: &Arc<Self>, next: u64) -> EventReader {
        let mut inner = self.lock();
        inner.reader += 1;
        let number = inner.reader;
        wake(inner);
        EventReader {
            log: Arc::clone(self),
            number,
            next,
        }
    }
}

/// Wakes the reader that waits, without the lock: it takes it at once.
fn wake(mut inner: MutexGuard<'_, Inner>) {
    let waiting = inner.waiting.take();
    drop(inner);
    if let Some(waiting) = waiting {
        waiting.wake();
    }
}

/// How long an event is as JSON.
fn size_of_event(event: &ServerSseMessage) -> usize {
    /// Counts what is written.
    struct Counter(usize);
    impl std::io::Write for Counter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = Counter(0);
    if let Some(message) = &event.message {
        // A message that does not serialise is not sent either.
        let _ = serde_json::to_writer(&mut counter, message.as_ref());
    }
    counter.0
}

/// Events of a request, in order; the end comes after the answer.
#[derive(Debug)]
pub(super) struct EventReader {
    log: Arc<EventLog>,
    number: u64,
    next: u64,
}

impl Stream for EventReader {
    type Item = ServerSseMessage;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let log = Arc::clone(&self.log);
        let mut inner = log.lock();
        if inner.reader != self.number {
            return Poll::Ready(None);
        }
        let found = inner.events.iter().find(|(index, _)| *index >= self.next);
        if let Some((index, event)) = found {
            self.next = index + 1;
            return Poll::Ready(Some(event.clone()));
        }
        if let Some(answered) = &mut inner.answered {
            answered.sent = true;
            return Poll::Ready(None);
        }
        inner.waiting = Some(cx.waker().clone());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_ids_are_read_as_they_are_written() {
        let id = EventId {
            stream: 12,
            index: 3,
        };
        assert_eq!(EventId::parse(&id.to_string()), Some(id));
        for nonsense in ["", "r", "r/", "r1", "1/2", "r1/x", "r+1/2/", "r-1/0"] {
            assert_eq!(EventId::parse(nonsense), None, "{nonsense}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn eviction_spares_the_answer_that_came_last() {
        let replay = Replay::new(Duration::from_secs(60));
        let (slow, fast) = (replay.begin(true), replay.begin(true));
        let large = || {
            let text = "x".repeat(MAX_ANSWER_BYTES + 1);
            let answer = serde_json::json!({
                "jsonrpc": "2.0", "id": 1, "error": {"code": -32_000, "message": text},
            });
            ServerSseMessage::from_message(serde_json::from_value(answer).unwrap())
        };
        for log in [&fast, &slow] {
            log.push(large());
            log.end();
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        replay.evict();
        // The request that began first was answered last.
        assert!(replay.resume("r0/0").is_some());
        assert!(replay.resume("r1/0").is_none());
    }
}
