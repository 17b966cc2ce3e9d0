//! One reader's SSE stream, as a sequence of chunks.
//!
//! Sends the events that match the filter and are visible to the reader, heartbeats, a `behind` notice for
//! slow readers and a `closing` notice. Ends when the token expires or is revoked, at the limit, or at
//! shutdown.

use std::collections::VecDeque;
use std::sync::Arc;

use bytes::Bytes;
use polis_core::visibility::Sight;
use polis_ops::op;
use serde::Serialize;
use tokio::time::{Instant, Interval, MissedTickBehavior, interval_at, sleep_until};

use super::Desk;
use super::query::Query;
use crate::Identity;
use crate::events::batch::News;
use crate::events::follower::Follower;
use crate::events::sse_encoding;
use crate::events::token_check::still_counts;

/// An open stream.
#[derive(Debug)]
pub(super) struct Stream {
    desk: Arc<Desk>,
    identity: Identity,
    sight: Sight,
    query: Query,
    follower: Follower,
    beats: Interval,
    /// When its token expires.
    until: Option<Instant>,
    /// The last `id` sent to the client.
    sent: u64,
    /// Chunks ready to be sent.
    ready: VecDeque<Bytes>,
    /// Whether the client was notified that it is behind.
    told_behind: bool,
    /// Whether the stream has ended.
    over: bool,
}

/// Data of the `behind` notice.
#[derive(Debug, Serialize)]
struct Behind {
    /// Sequence number of the next event the client gets.
    next: u64,
    /// Newest sequence number.
    head: u64,
    /// Number of events in between.
    behind: u64,
}

/// Why the server ends a stream.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(rename_all = "lowercase")]
enum Reason {
    /// The server shuts down.
    Shutdown,
    /// The token is no longer valid.
    Access,
}

/// Data of the `closing` notice.
#[derive(Debug, Serialize)]
struct Closing {
    reason: Reason,
    /// All matching events up to this sequence number were sent.
    place: u64,
}

impl Stream {
    pub(super) fn begin(
        desk: &Arc<Desk>,
        identity: Identity,
        sight: Sight,
        query: Query,
        place: u64,
        until: Option<Instant>,
    ) -> Self {
        let every = desk.settings.heartbeat;
        let mut beats = interval_at(Instant::now() + every, every);
        beats.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let retry = u64::try_from(desk.settings.retry.as_millis()).unwrap_or(u64::MAX);
        Self {
            desk: Arc::clone(desk),
            identity,
            sight,
            query,
            follower: desk.hub.follow(place),
            beats,
            until,
            sent: place,
            ready: VecDeque::from([sse_encoding::beginning(place, retry)]),
            told_behind: false,
            over: false,
        }
    }

    /// Returns the next chunk to send; `None` at the end.
    pub(super) async fn next(&mut self) -> Option<Bytes> {
        loop {
            if let Some(piece) = self.ready.pop_front() {
                return Some(piece);
            }
            if self.over || self.query.limit == Some(0) {
                return None;
            }
            if self.desk.hub.is_closed() {
                self.end(Reason::Shutdown, self.follower.place());
                continue;
            }
            if let Some(piece) = self.behind() {
                return Some(piece);
            }
            tokio::select! {
                biased;
                () = ended(self.until) => self.end(Reason::Access, self.follower.place()),
                _ = self.beats.tick() => self.beat().await,
                news = self.follower.next() => match news {
                    Some(news) => self.take(news).await,
                    None => self.end(Reason::Shutdown, self.follower.place()),
                },
            }
        }
    }

    /// Queues a heartbeat, or ends the stream if its access was revoked.
    async fn beat(&mut self) {
        let place = self.follower.place();
        if !still_counts(&self.desk.polis, &self.identity).await {
            return self.end(Reason::Access, place);
        }
        // What an agent may see changes with its position in the team.
        self.look_again().await;
        let beat = sse_encoding::heartbeat(place, place > self.sent);
        self.sent = place;
        self.ready.push_back(beat);
    }

    async fn look_again(&mut self) {
        if let Ok(sight) = op::event_sight(&self.desk.polis, &self.identity.agent).await {
            self.sight = sight;
        }
    }

    /// Queues new events: all of them, or those that match the filter and are visible.
    async fn take(&mut self, news: News) {
        let before = self.follower.place() - news.count() as u64;
        let token = self.identity.token.as_deref();
        let end = news.ends_access(token, self.identity.agent.as_str());
        let news = news.up_to(end.unwrap_or(usize::MAX));
        if !self.sight.shows_everything() && news.events().iter().any(Sight::is_outdated_by) {
            self.look_again().await;
        }
        if self.sight.shows_everything() && self.query.filter.wants_all() {
            self.send(&news, 0, news.count());
        } else {
            self.send_wanted(&news);
        }
        if let Some(at) = end {
            self.end(Reason::Access, before + at as u64);
        }
    }

    fn send_wanted(&mut self, news: &News) {
        let mut from = None;
        for (at, event) in news.events().iter().enumerate() {
            if self.query.filter.wants(event) && self.sight.shows(event) {
                from.get_or_insert(at);
            } else if let Some(from) = from.take() {
                self.send(news, from, at);
            }
        }
        if let Some(from) = from {
            self.send(news, from, news.count());
        }
    }

    /// Queues consecutive events, up to the limit.
    fn send(&mut self, news: &News, from: usize, to: usize) {
        let mut many = to - from;
        if let Some(left) = &mut self.query.limit {
            many = many.min(usize::try_from(*left).unwrap_or(usize::MAX));
            *left -= many as u64;
        }
        if many > 0 {
            self.sent = news.first() + (from + many) as u64 - 1;
            self.ready.push_back(news.frames_of(from, from + many));
        }
    }

    /// Returns a notice for a client that has fallen behind; once, until it has caught up to half the
    /// threshold.
    fn behind(&mut self) -> Option<Bytes> {
        let (place, head) = (self.follower.place(), self.desk.hub.head());
        let behind = head.saturating_sub(place);
        let most = self.desk.settings.behind;
        if behind <= most / 2 {
            self.told_behind = false;
        }
        if behind <= most || self.told_behind {
            return None;
        }
        self.told_behind = true;
        let notice = Behind {
            next: place + 1,
            head,
            behind,
        };
        Some(sse_encoding::notice("behind", None, &notice))
    }

    fn end(&mut self, reason: Reason, place: u64) {
        self.over = true;
        // A client that received all events of its limit needs no closing notice.
        if self.query.limit != Some(0) {
            let closing = Closing { reason, place };
            let last = sse_encoding::notice("closing", Some(place), &closing);
            self.ready.push_back(last);
        }
    }
}

/// Waits until a token expires; forever if it does not.
async fn ended(until: Option<Instant>) {
    match until {
        Some(until) => sleep_until(until).await,
        None => std::future::pending().await,
    }
}
