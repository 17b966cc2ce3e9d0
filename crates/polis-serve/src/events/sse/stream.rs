//! Event stream of one reader (SSE), as a sequence of body chunks.
//!
//! Follows the log from a position, keeps the reader's visibility current, sends heartbeats, and ends when the
//! token expires or is revoked, or at shutdown. What a reader gets is decided by an [`SseContent`]: the events
//! themselves (`event_content`), or notifications of an open page (`polis-web`).

use std::collections::VecDeque;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::response::Response;
use bytes::Bytes;
use futures_util::stream::unfold;
use http::header::{CACHE_CONTROL, CONTENT_TYPE};
use http::{HeaderName, HeaderValue};
use polis_core::Refusal;
use polis_core::visibility::EventVisibility;
use polis_ops::{App, OpError, op};
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};

use crate::CallerIdentity;
use crate::events::batch::EventSlice;
use crate::events::follower::LogFollower;
use crate::events::hub::Hub;
use crate::events::token_check::{is_access_valid, token_expiry};

/// What the streams of a server have in common.
#[derive(Debug)]
pub struct SseSource {
    /// The follower of the log.
    pub hub: Hub,
    /// The store, for visibility and token checks.
    pub app: App,
    /// Interval of heartbeats, at which the reader's access is checked again as well.
    pub heartbeat_interval: Duration,
}

/// What a reader gets. Every chunk is a sequence of complete SSE frames.
pub trait SseContent: Send + 'static {
    /// Returns the first chunk of a stream that starts after a position.
    fn opening(&mut self, position: u64) -> Bytes;

    /// Takes new events, and queues what is to be sent for them at once. Only events that are visible to the
    /// reader may be sent.
    fn take_events(
        &mut self,
        slice: &EventSlice,
        visibility: &EventVisibility,
        chunks: &mut VecDeque<Bytes>,
    );

    /// Returns a chunk that is due independently of new events. `position` is the last event taken, `head` the
    /// newest of the log.
    fn due_chunk(&mut self, position: u64, head: u64) -> Option<Bytes>;

    /// Returns when `due_chunk` is to be called again, if no event comes first.
    fn wake_time(&self) -> Option<Instant> {
        None
    }

    /// Returns a heartbeat.
    fn heartbeat(&mut self, position: u64) -> Bytes;

    /// Returns the last chunk of a stream that the server ends; `None` to end it silently.
    fn closing(&mut self, reason: SseEndReason, position: u64) -> Option<Bytes>;

    /// Returns whether everything the reader asked for was sent.
    fn is_complete(&self) -> bool {
        false
    }
}

/// Why the server ends a stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SseEndReason {
    /// The server shuts down.
    Shutdown,
    /// The token or session is no longer valid.
    Access,
}

impl SseEndReason {
    /// Returns the reason as sent to readers.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Shutdown => "shutdown",
            Self::Access => "access",
        }
    }
}

/// An open stream.
#[derive(Debug)]
pub struct SseStream<C> {
    source: Arc<SseSource>,
    identity: CallerIdentity,
    visibility: EventVisibility,
    follower: LogFollower,
    heartbeats: Interval,
    /// When its token expires.
    token_expiry: Option<Instant>,
    content: C,
    /// Chunks ready to be sent.
    pending_chunks: VecDeque<Bytes>,
    /// Whether the server has ended the stream.
    has_ended: bool,
}

impl<C: SseContent> SseStream<C> {
    /// Opens a stream for a reader. `start` returns the position after which it starts, given the newest
    /// position of the log. Fails if `start` or the store does.
    pub async fn open(
        source: &Arc<SseSource>,
        identity: CallerIdentity,
        mut content: C,
        start: impl FnOnce(&mut C, u64) -> Result<u64, Refusal>,
    ) -> Result<Self, OpError> {
        let visibility = op::load_event_visibility(&identity.request(&source.app)).await?;
        let position = start(&mut content, source.hub.last_sequence().await?)?;
        let interval = source.heartbeat_interval;
        let mut heartbeats = interval_at(Instant::now() + interval, interval);
        heartbeats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        Ok(Self {
            token_expiry: token_expiry(&source.app, &identity).await,
            source: Arc::clone(source),
            identity,
            visibility,
            follower: source.hub.follow(position),
            heartbeats,
            pending_chunks: VecDeque::from([content.opening(position)]),
            content,
            has_ended: false,
        })
    }

    /// Returns the response with the stream as its body.
    pub fn into_response(self) -> Response {
        let chunks = unfold(self, async |mut stream| {
            let chunk = stream.next_chunk().await?;
            Some((Ok::<_, Infallible>(chunk), stream))
        });
        let mut response = Response::new(Body::from_stream(chunks));
        let headers = response.headers_mut();
        let mut set = |name, value| headers.insert(name, HeaderValue::from_static(value));
        set(CONTENT_TYPE, "text/event-stream");
        set(CACHE_CONTROL, "no-cache, no-store");
        // Reverse proxies that buffer responses would delay events.
        set(HeaderName::from_static("x-accel-buffering"), "no");
        response
    }

    /// Returns the next chunk to send; `None` at the end.
    async fn next_chunk(&mut self) -> Option<Bytes> {
        loop {
            if let Some(chunk) = self.pending_chunks.pop_front() {
                return Some(chunk);
            }
            if self.has_ended || self.content.is_complete() {
                return None;
            }
            let position = self.follower.position();
            if self.source.hub.is_closed() {
                self.end_stream(SseEndReason::Shutdown, position);
                continue;
            }
            if let Some(chunk) = self.content.due_chunk(position, self.source.hub.head()) {
                return Some(chunk);
            }
            let wake_time = self.content.wake_time();
            tokio::select! {
                biased;
                () = wait_until(self.token_expiry) => self.end_stream(SseEndReason::Access, position),
                _ = self.heartbeats.tick() => self.queue_heartbeat(position).await,
                slice = self.follower.next() => match slice {
                    Some(slice) => self.queue_events(slice).await,
                    None => self.end_stream(SseEndReason::Shutdown, position),
                },
                () = wait_until(wake_time) => {}
            }
        }
    }

    /// Queues a heartbeat, or ends the stream if its access was revoked.
    async fn queue_heartbeat(&mut self, position: u64) {
        if !is_access_valid(&self.source.app, &self.identity).await {
            return self.end_stream(SseEndReason::Access, position);
        }
        // What an agent may see changes with its position in the team.
        self.reload_visibility().await;
        let heartbeat = self.content.heartbeat(position);
        self.pending_chunks.push_back(heartbeat);
    }

    /// Loads the reader's visibility again; keeps the old one if that fails.
    async fn reload_visibility(&mut self) {
        let agent = &self.identity.agent;
        if let Ok(visibility) = op::load_event_visibility(&self.source.app.request(agent)).await {
            self.visibility = visibility;
        }
    }

    /// Passes new events on, and ends the stream if one of them revokes its access.
    async fn queue_events(&mut self, slice: EventSlice) {
        let before = self.follower.position() - slice.count() as u64;
        let token = self.identity.token.as_deref();
        let revocation = slice.revocation_index(token, self.identity.agent.as_str());
        let slice = slice.limited_to(revocation.unwrap_or(usize::MAX));
        if !self.visibility.sees_everything()
            && slice.events().iter().any(EventVisibility::is_outdated_by)
        {
            self.reload_visibility().await;
        }
        self.content
            .take_events(&slice, &self.visibility, &mut self.pending_chunks);
        if let Some(at) = revocation {
            self.end_stream(SseEndReason::Access, before + at as u64);
        }
    }

    fn end_stream(&mut self, reason: SseEndReason, position: u64) {
        self.has_ended = true;
        self.pending_chunks
            .extend(self.content.closing(reason, position));
    }
}

/// Waits until a time; forever if there is none.
async fn wait_until(time: Option<Instant>) {
    match time {
        Some(time) => sleep_until(time).await,
        None => std::future::pending().await,
    }
}
