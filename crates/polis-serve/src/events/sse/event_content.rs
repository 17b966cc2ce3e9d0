//! Content of `GET /v1/events`: the events that match the filter and are visible to the reader, a `behind`
//! notice for slow readers and a `closing` notice.

use std::collections::VecDeque;

use bytes::Bytes;
use polis_core::number::saturating_cast;
use polis_core::visibility::EventVisibility;
use serde::Serialize;

use super::SseSettings;
use super::stream::{SseContent, SseEndReason};
use super::stream_query::StreamQuery;
use crate::events::batch::EventSlice;
use crate::events::sse_encoding;

/// Content of a stream of events.
#[derive(Debug)]
pub(super) struct EventContent {
    query: StreamQuery,
    /// Reconnection delay for clients.
    retry_ms: u64,
    /// Number of events the reader may lag behind before it gets a notice.
    behind_threshold: u64,
    /// The last `id` sent to the client.
    last_sent_id: u64,
    /// Whether the client was notified that it is behind.
    behind_notified: bool,
}

/// Data of the `behind` notice.
#[derive(Debug, Serialize)]
struct BehindNotice {
    /// Sequence number of the next event the client gets.
    next: u64,
    /// Newest sequence number.
    head: u64,
    /// Number of events in between.
    behind: u64,
}

/// Data of the `closing` notice.
#[derive(Debug, Serialize)]
struct ClosingNotice {
    reason: &'static str,
    /// All matching events up to this sequence number were sent.
    #[serde(rename = "place")]
    position: u64,
}

impl EventContent {
    pub(super) fn new(query: StreamQuery, settings: &SseSettings) -> Self {
        Self {
            query,
            retry_ms: saturating_cast::<u64>(settings.reconnect_delay.as_millis()),
            behind_threshold: settings.behind_threshold,
            last_sent_id: 0,
            behind_notified: false,
        }
    }

    /// Returns the position after which the stream starts, given the newest of the log.
    pub(super) fn start_position(&self, head: u64) -> Result<u64, polis_core::Refusal> {
        self.query.start_position(head)
    }

    fn queue_matching(
        &mut self,
        slice: &EventSlice,
        visibility: &EventVisibility,
        chunks: &mut VecDeque<Bytes>,
    ) {
        let mut from = None;
        for (at, event) in slice.events().iter().enumerate() {
            if self.query.filter.matches_event(event) && visibility.is_visible(event) {
                from.get_or_insert(at);
            } else if let Some(from) = from.take() {
                self.queue_range(slice, from, at, chunks);
            }
        }
        if let Some(from) = from {
            self.queue_range(slice, from, slice.count(), chunks);
        }
    }

    /// Queues consecutive events, up to the limit.
    fn queue_range(
        &mut self,
        slice: &EventSlice,
        from: usize,
        to: usize,
        chunks: &mut VecDeque<Bytes>,
    ) {
        let mut count = to - from;
        if let Some(left) = &mut self.query.limit {
            count = count.min(saturating_cast::<usize>(*left));
            *left -= count as u64;
        }
        if count > 0 {
            self.last_sent_id = slice.first_seq() + (from + count) as u64 - 1;
            chunks.push_back(slice.encoded_range(from, from + count));
        }
    }
}

impl SseContent for EventContent {
    fn opening(&mut self, position: u64) -> Bytes {
        self.last_sent_id = position;
        sse_encoding::encode_stream_start(position, self.retry_ms)
    }

    fn take_events(
        &mut self,
        slice: &EventSlice,
        visibility: &EventVisibility,
        chunks: &mut VecDeque<Bytes>,
    ) {
        if visibility.sees_everything() && self.query.filter.matches_all() {
            self.queue_range(slice, 0, slice.count(), chunks);
        } else {
            self.queue_matching(slice, visibility, chunks);
        }
    }

    /// Returns a notice for a client that has fallen behind; once, until it has caught up to half the
    /// threshold.
    fn due_chunk(&mut self, position: u64, head: u64) -> Option<Bytes> {
        let behind = head.saturating_sub(position);
        if behind <= self.behind_threshold / 2 {
            self.behind_notified = false;
        }
        if behind <= self.behind_threshold || self.behind_notified {
            return None;
        }
        self.behind_notified = true;
        let notice = BehindNotice {
            next: position + 1,
            head,
            behind,
        };
        Some(sse_encoding::encode_notice("behind", None, &notice))
    }

    fn heartbeat(&mut self, position: u64) -> Bytes {
        let heartbeat = sse_encoding::encode_heartbeat(position, position > self.last_sent_id);
        self.last_sent_id = position;
        heartbeat
    }

    fn closing(&mut self, reason: SseEndReason, position: u64) -> Option<Bytes> {
        // A client that received all events of its limit needs no closing notice.
        if self.is_complete() {
            return None;
        }
        let notice = ClosingNotice {
            reason: reason.as_str(),
            position,
        };
        let position = Some(position);
        Some(sse_encoding::encode_notice("closing", position, &notice))
    }

    fn is_complete(&self) -> bool {
        self.query.limit == Some(0)
    }
}
