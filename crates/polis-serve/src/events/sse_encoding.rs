//! SSE encoding: writes events, heartbeats and notices as server-sent events.
//!
//! Only the wire format is defined here; `sse` decides what is sent and when.

use bytes::Bytes;
use polis_core::Event;
use serde::Serialize;

/// Writes a log event: its sequence number as `id`, its kind as `event`, its JSON as `data`.
pub(crate) fn encode_event(event: &Event, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(format!("id: {}\n", event.seq).as_bytes());
    // A line break would start another SSE field. Our own event kinds contain none.
    if !event.kind.contains(['\n', '\r']) {
        buffer.extend_from_slice(b"event: ");
        buffer.extend_from_slice(event.kind.as_bytes());
        buffer.push(b'\n');
    }
    encode_data(event, buffer);
    buffer.push(b'\n');
}

/// Returns the first frame of a stream: the reconnection delay and the sequence number the stream starts
/// after.
pub(super) fn encode_stream_start(position: u64, retry_ms: u64) -> Bytes {
    format!("retry: {retry_ms}\n: at {position}\nid: {position}\n\n").into()
}

/// Returns a heartbeat. If the position advanced without an event being sent, the heartbeat carries an `id`
/// without `data`: that moves the client's `Last-Event-ID` but dispatches no event.
pub(super) fn encode_heartbeat(position: u64, moved: bool) -> Bytes {
    if moved {
        format!(": at {position}\nid: {position}\n\n").into()
    } else {
        format!(": at {position}\n\n").into()
    }
}

/// Returns a notice of the stream itself, with an `id` if the client's resume position changes.
pub(super) fn encode_notice(name: &str, position: Option<u64>, document: &impl Serialize) -> Bytes {
    let id = position.map(|position| format!("id: {position}\n"));
    let mut text = format!("{}event: {name}\n", id.unwrap_or_default()).into_bytes();
    encode_data(document, &mut text);
    text.push(b'\n');
    text.into()
}

fn encode_data(document: &impl Serialize, buffer: &mut Vec<u8>) {
    buffer.extend_from_slice(b"data: ");
    let start = buffer.len();
    // Serializing our own types to memory cannot fail. If it did, the client would still receive an event.
    if serde_json::to_writer(&mut *buffer, document).is_err() {
        buffer.truncate(start);
        buffer.extend_from_slice(b"{}");
    }
    buffer.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::sample_event;

    #[test]
    fn event_is_encoded_in_three_lines() {
        let mut text = Vec::new();
        encode_event(&sample_event(7), &mut text);
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "id: 7\nevent: task.created\ndata: {\"seq\":7,\"at\":\"2026-01-01T00:00:00.000Z\",\
             \"actor\":\"user\",\"kind\":\"task.created\",\"subject\":\"task/7\",\"data\":{\"n\":7}}\n\n"
        );
    }

    #[test]
    fn line_breaks_in_event_are_not_encoded() {
        let mut bad = sample_event(1);
        bad.kind = "a\nevent: b".to_owned();
        bad.actor = "x\r\ny".to_owned();
        let mut text = Vec::new();
        encode_event(&bad, &mut text);
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(!text.contains('\r'));
    }

    #[test]
    fn heartbeats_and_notices_carry_position() {
        assert_eq!(encode_heartbeat(9, true), ": at 9\nid: 9\n\n");
        assert_eq!(encode_heartbeat(9, false), ": at 9\n\n");
        assert_eq!(
            encode_stream_start(9, 2_000),
            "retry: 2000\n: at 9\nid: 9\n\n"
        );
        assert_eq!(
            encode_notice("behind", None, &[1]),
            "event: behind\ndata: [1]\n\n"
        );
        assert_eq!(
            encode_notice("closing", Some(9), &[1]),
            "id: 9\nevent: closing\ndata: [1]\n\n"
        );
    }
}
