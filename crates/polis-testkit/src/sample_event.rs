//! Payloads of events for tests that need an event and not a change.

use polis_core::event::{BoardChangedEvent, EventPayload, TaskChangedEvent, TaskCommentedEvent};
use polis_core::{EventKind, RawJson, RawObject};

/// Returns the payload of a comment with this text.
pub fn comment_payload(text: &str) -> EventPayload {
    EventPayload::TaskCommented(TaskCommentedEvent {
        body: text.to_owned(),
        mentions: Vec::new(),
        reply_to: None,
    })
}

/// Returns the payload of a task whose description was changed.
pub fn task_changed_payload(
    kind: fn(TaskChangedEvent) -> EventPayload,
    text: &str,
) -> EventPayload {
    let description = RawJson::from_value(&text).unwrap();
    kind(TaskChangedEvent {
        version: 2,
        changes: RawObject::from_iter([("description".to_owned(), description)]),
        assignment: None,
        duration_ms: None,
        task_type: None,
    })
}

/// Returns a payload of this kind that contains the text, if the kind has room for one.
///
/// # Panics
/// If there is no sample of this kind.
pub fn sample_payload(kind: EventKind, text: &str) -> EventPayload {
    let bytes = text.len() as u64;
    match kind {
        EventKind::TaskUpdated => task_changed_payload(EventPayload::TaskUpdated, text),
        EventKind::TaskClaimed => task_changed_payload(EventPayload::TaskClaimed, text),
        EventKind::TaskStarted => task_changed_payload(EventPayload::TaskStarted, text),
        EventKind::TaskCommented => comment_payload(text),
        EventKind::BoardWritten => EventPayload::BoardWritten(BoardChangedEvent { bytes }),
        EventKind::BoardAppended => EventPayload::BoardAppended(BoardChangedEvent { bytes }),
        _ => panic!("no sample of {kind:?}"),
    }
}
