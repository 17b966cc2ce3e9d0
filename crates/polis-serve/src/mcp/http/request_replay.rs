//! Request replay: keeps the SSE events of each request for a client that lost its connection and resumes.
//!
//! A request of a session continues when its client disconnects, and its response may exist nowhere else:
//! messages it returned are marked as read, a command has run. So every event is written to a log, the
//! response reads from the log, and a `GET` with `Last-Event-ID` resumes from there, whether the response is
//! ready or not.
//!
//! `rmcp` can resume a stream too, but discards it once its response is sent, received or not. Its event
//! store is no alternative: it has no notion of sessions, so a client with the id of another session's event
//! could read that response.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};
use std::time::Duration;

use futures_util::Stream;
use parking_lot::{Mutex, MutexGuard};
use rmcp::transport::streamable_http_server::session::ServerSseMessage;
use tokio::time::Instant;

/// Maximum number of completed responses kept per session.
const MAX_KEPT_RESPONSES: usize = 32;
/// Maximum size of these responses in bytes of JSON. The newest response is kept regardless of its size.
const MAX_KEPT_RESPONSE_BYTES: usize = 256 << 10;
/// Maximum number of events kept per request. A client that was disconnected longer misses progress
/// notifications; the response is always the last event.
const MAX_EVENTS: usize = 32;
/// Reconnection delay sent to clients.
const RECONNECT_DELAY: Duration = Duration::from_secs(3);

/// Id of an event: the stream within the session, and the index within that stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct ReplayEventId {
    stream: u64,
    index: u64,
}

impl fmt::Display for ReplayEventId {
    // Distinct from the ids of the session's standalone stream, which are plain numbers assigned by `rmcp`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}/{}", self.stream, self.index)
    }
}

impl ReplayEventId {
    fn parse(text: &str) -> Option<Self> {
        let (stream, index) = text.strip_prefix('r')?.split_once('/')?;
        Some(Self {
            stream: stream.parse().ok()?,
            index: index.parse().ok()?,
        })
    }
}

/// Returns whether an event belongs to a request's stream rather than to the session's standalone stream.
pub(super) fn is_request_event(event_id: &str) -> bool {
    event_id.starts_with('r')
}

/// Event logs of a session's requests.
#[derive(Debug)]
pub(super) struct RequestReplay {
    /// How long a response is kept.
    ttl: Duration,
    streams: Mutex<ReplayStreams>,
}

/// Event logs by stream number, and the next number.
#[derive(Debug, Default)]
struct ReplayStreams {
    next: u64,
    logs: BTreeMap<u64, Arc<RequestEventLog>>,
}

impl RequestReplay {
    pub(super) fn new(ttl: Duration) -> Self {
        Self {
            ttl,
            streams: Mutex::default(),
        }
    }

    /// Creates the log of a request. If `primed`, its first event has no message: it only gives the client an
    /// id to resume from. Clients older than 2025-11-25 would mistake it for a message.
    pub(super) fn create_log(&self, primed: bool) -> Arc<RequestEventLog> {
        let mut streams = self.streams.lock();
        let stream = streams.next;
        streams.next += 1;
        let log = Arc::new(RequestEventLog {
            stream,
            inner: Mutex::default(),
        });
        streams.logs.insert(stream, Arc::clone(&log));
        drop(streams);
        // Index 0 is reserved for the priming event, whether it is sent or not.
        log.lock().next = 1;
        if primed {
            let id = ReplayEventId { stream, index: 0 };
            let first = ServerSseMessage::priming(id.to_string(), RECONNECT_DELAY);
            log.lock().events.push_back((0, first));
        }
        log
    }

    /// Returns a reader that continues after an event; `None` if its stream was evicted.
    pub(super) fn resume(&self, last_event_id: &str) -> Option<RequestEventReader> {
        self.evict();
        let last = ReplayEventId::parse(last_event_id)?;
        let log = self.streams.lock().logs.get(&last.stream).cloned()?;
        Some(log.new_reader(last.index.checked_add(1)?))
    }

    /// Evicts responses that are too old or exceed the limits: those already sent first, then the oldest.
    pub(super) fn evict(&self) {
        let now = Instant::now();
        let mut streams = self.streams.lock();
        let is_old = |log: &RequestEventLog| {
            log.completed_response()
                .is_some_and(|response| response.completed_at + self.ttl <= now)
        };
        streams.logs.retain(|_, log| !is_old(log));
        let logs = streams.logs.iter();
        let mut completed: Vec<(u64, CompletedResponse)> = logs
            .filter_map(|(stream, log)| Some((*stream, log.completed_response()?)))
            .collect();
        // The newest response stays, so that a single large response can be resumed. A request that began
        // early may be answered last.
        completed.sort_by_key(|(stream, answer)| (answer.completed_at, *stream));
        completed.pop();
        completed.sort_by_key(|(stream, answer)| (!answer.sent, answer.completed_at, *stream));
        let mut count = completed.len() + 1;
        let mut bytes: usize = completed.iter().map(|(_, answer)| answer.bytes).sum();
        for (stream, answer) in completed {
            if count <= MAX_KEPT_RESPONSES && bytes <= MAX_KEPT_RESPONSE_BYTES {
                break;
            }
            streams.logs.remove(&stream);
            count -= 1;
            bytes -= answer.bytes;
        }
    }
}

/// A completed response that is kept for replay.
#[derive(Debug, Clone, Copy)]
struct CompletedResponse {
    completed_at: Instant,
    bytes: usize,
    /// Whether it was written completely to a connection. It may still have been lost there.
    sent: bool,
}

/// Event log of one request.
#[derive(Debug)]
pub(super) struct RequestEventLog {
    stream: u64,
    inner: Mutex<EventLogState>,
}

#[derive(Debug, Default)]
struct EventLogState {
    events: VecDeque<(u64, ServerSseMessage)>,
    next: u64,
    completed: Option<CompletedResponse>,
    /// Number of the newest reader. Only the newest reads; earlier ones end, so that no message is sent on
    /// two streams.
    reader: u64,
    reader_waker: Option<Waker>,
}

impl RequestEventLog {
    fn lock(&self) -> MutexGuard<'_, EventLogState> {
        self.inner.lock()
    }

    /// Appends an event.
    pub(super) fn push(&self, mut event: ServerSseMessage) {
        let mut inner = self.lock();
        let index = inner.next;
        inner.next += 1;
        let id = ReplayEventId {
            stream: self.stream,
            index,
        };
        event.event_id = Some(id.to_string());
        if inner.events.len() >= MAX_EVENTS {
            inner.events.pop_front();
        }
        inner.events.push_back((index, event));
        wake_reader(inner);
    }

    /// Marks the log as complete.
    pub(super) fn mark_complete(&self) {
        let mut inner = self.lock();
        let bytes = inner
            .events
            .iter()
            .map(|(_, event)| event_json_bytes(event));
        inner.completed = Some(CompletedResponse {
            completed_at: Instant::now(),
            bytes: bytes.sum(),
            sent: false,
        });
        wake_reader(inner);
    }

    fn completed_response(&self) -> Option<CompletedResponse> {
        self.lock().completed
    }

    /// Returns a reader that starts at an event index. It ends the previous reader.
    pub(super) fn new_reader(self: &Arc<Self>, next: u64) -> RequestEventReader {
        let mut inner = self.lock();
        inner.reader += 1;
        let number = inner.reader;
        wake_reader(inner);
        RequestEventReader {
            log: Arc::clone(self),
            number,
            next,
        }
    }
}

/// Wakes the waiting reader after releasing the lock, which the reader acquires immediately.
fn wake_reader(mut inner: MutexGuard<'_, EventLogState>) {
    let waiting = inner.reader_waker.take();
    drop(inner);
    if let Some(waiting) = waiting {
        waiting.wake();
    }
}

/// Returns the size of an event as JSON.
fn event_json_bytes(event: &ServerSseMessage) -> usize {
    /// Writer that only counts bytes.
    struct ByteCounter(usize);
    impl std::io::Write for ByteCounter {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0 += bytes.len();
            Ok(bytes.len())
        }
        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut counter = ByteCounter(0);
    if let Some(message) = &event.message {
        // A message that cannot be serialized is not sent either.
        let _ = serde_json::to_writer(&mut counter, message.as_ref());
    }
    counter.0
}

/// Events of a request in order. Ends after the response.
#[derive(Debug)]
pub(super) struct RequestEventReader {
    log: Arc<RequestEventLog>,
    number: u64,
    next: u64,
}

impl Stream for RequestEventReader {
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
        if let Some(response) = &mut inner.completed {
            response.sent = true;
            return Poll::Ready(None);
        }
        inner.reader_waker = Some(cx.waker().clone());
        Poll::Pending
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replay_event_id_round_trips() {
        let id = ReplayEventId {
            stream: 12,
            index: 3,
        };
        assert_eq!(ReplayEventId::parse(&id.to_string()), Some(id));
        for nonsense in ["", "r", "r/", "r1", "1/2", "r1/x", "r+1/2/", "r-1/0"] {
            assert_eq!(ReplayEventId::parse(nonsense), None, "{nonsense}");
        }
    }

    #[tokio::test(start_paused = true)]
    async fn eviction_keeps_newest_response() {
        let replay = RequestReplay::new(Duration::from_secs(60));
        let (slow, fast) = (replay.create_log(true), replay.create_log(true));
        let large = || {
            let text = "x".repeat(MAX_KEPT_RESPONSE_BYTES + 1);
            let answer = serde_json::json!({
                "jsonrpc": "2.0", "id": 1, "error": {"code": -32_000, "message": text},
            });
            ServerSseMessage::from_message(serde_json::from_value(answer).unwrap())
        };
        for log in [&fast, &slow] {
            log.push(large());
            log.mark_complete();
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        replay.evict();
        // The request that began first was answered last.
        assert!(replay.resume("r0/0").is_some());
        assert!(replay.resume("r1/0").is_none());
    }
}
