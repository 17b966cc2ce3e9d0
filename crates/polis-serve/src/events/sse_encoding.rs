//! SSE encoding: writes events, heartbeats and notices as server-sent events.
//!
//! Only the wire format is defined here; `sse::stream` decides what is sent and when.

use bytes::Bytes;
use polis_core::Event;
use serde::Serialize;

/// Writes a log event: its sequence number as `id`, its kind as `event`, its JSON as `data`.
pub(crate) fn event(event: &Event, into: &mut Vec<u8>) {
    into.extend_from_slice(format!("id: {}\n", event.seq).as_bytes());
    // A line break would start another SSE field. Our own event kinds contain none.
    if !event.kind.contains(['\n', '\r']) {
        into.extend_from_slice(b"event: ");
        into.extend_from_slice(event.kind.as_bytes());
        into.push(b'\n');
    }
    data(event, into);
    into.push(b'\n');
}

/// Returns the first frame of a stream: the reconnection delay and the sequence number the stream starts
/// after.
pub(super) fn beginning(place: u64, retry_ms: u64) -> Bytes {
    format!("retry: {retry_ms}\n: at {place}\nid: {place}\n\n").into()
}

/// Returns a heartbeat. If the position advanced without an event being sent, the heartbeat carries an `id`
/// without `data`: that moves the client's `Last-Event-ID` but dispatches no event.
pub(super) fn heartbeat(place: u64, moved: bool) -> Bytes {
    if moved {
        format!(": at {place}\nid: {place}\n\n").into()
    } else {
        format!(": at {place}\n\n").into()
    }
}

/// Returns a notice of the stream itself, with an `id` if the client's resume position changes.
pub(super) fn notice(name: &str, place: Option<u64>, document: &impl Serialize) -> Bytes {
    let id = place.map(|place| format!("id: {place}\n"));
    let mut text = format!("{}event: {name}\n", id.unwrap_or_default()).into_bytes();
    data(document, &mut text);
    text.push(b'\n');
    text.into()
}

fn data(document: &impl Serialize, into: &mut Vec<u8>) {
    into.extend_from_slice(b"data: ");
    let begin = into.len();
    // Serializing our own types to memory cannot fail. If it did, the client would still receive an event.
    if serde_json::to_writer(&mut *into, document).is_err() {
        into.truncate(begin);
        into.extend_from_slice(b"{}");
    }
    into.push(b'\n');
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::sample;

    #[test]
    fn an_event_is_three_lines() {
        let mut text = Vec::new();
        event(&sample(7), &mut text);
        assert_eq!(
            String::from_utf8(text).unwrap(),
            "id: 7\nevent: task.created\ndata: {\"seq\":7,\"at\":\"2026-01-01T00:00:00.000Z\",\
             \"actor\":\"user\",\"kind\":\"task.created\",\"subject\":\"task/7\",\"data\":{\"n\":7}}\n\n"
        );
    }

    #[test]
    fn no_text_begins_another_line() {
        let mut bad = sample(1);
        bad.kind = "a\nevent: b".to_owned();
        bad.actor = "x\r\ny".to_owned();
        let mut text = Vec::new();
        event(&bad, &mut text);
        let text = String::from_utf8(text).unwrap();
        assert_eq!(text.lines().count(), 3, "{text}");
        assert!(!text.contains('\r'));
    }

    #[test]
    fn signs_of_life_carry_the_place() {
        assert_eq!(heartbeat(9, true), ": at 9\nid: 9\n\n");
        assert_eq!(heartbeat(9, false), ": at 9\n\n");
        assert_eq!(beginning(9, 2_000), "retry: 2000\n: at 9\nid: 9\n\n");
        assert_eq!(notice("behind", None, &[1]), "event: behind\ndata: [1]\n\n");
        assert_eq!(
            notice("closing", Some(9), &[1]),
            "id: 9\nevent: closing\ndata: [1]\n\n"
        );
    }
}
