//! Subscription of a page to events, with coalescing of notifications.
//!
//! The first event of a name is sent at once, further ones at most every tenth of a second, and the last one
//! always: a page that refreshes on notification is never stale for longer than that. A name with the suffix
//! `~` is sent at most once a second, for fragments that are expensive to render.

use std::time::Duration;

use bytes::Bytes;
use polis_core::{Event, Refusal};
use tokio::time::Instant;

use crate::refusal_tables::PageRefusal;

/// Minimum interval between notifications of a name.
const NOTIFY_INTERVAL: Duration = Duration::from_millis(100);
/// Minimum interval for a name with the suffix `~`.
const SLOW_NOTIFY_INTERVAL: Duration = Duration::from_secs(1);
/// Suffix of a name with the longer interval; no area and no subject ends with it.
pub(super) const SLOW_SUFFIX: char = '~';
/// Maximum number of names per page.
const MAX_TOPICS: usize = 32;
/// Maximum length of a name.
const MAX_TOPIC_BYTES: usize = 512;
/// Name that matches all events.
const ALL_EVENTS: &str = "event";

/// The subscription of a page.
#[derive(Debug)]
pub(super) struct PageSubscription(Vec<SubscribedTopic>);

#[derive(Debug)]
struct SubscribedTopic {
    text: String,
    /// Sequence number of the newest event that was not sent yet.
    pending_seq: Option<u64>,
    /// Earliest time of the next notification.
    not_before: Option<Instant>,
}

impl PageSubscription {
    /// Parses a comma-separated list of names: areas or subjects. Fails with `InvalidInput` if there are none
    /// or too many, or if one is too long.
    pub(super) fn parse(list: &str) -> Result<Self, Refusal> {
        let names: Vec<&str> = list.split(',').filter(|name| !name.is_empty()).collect();
        let fit = |name: &&str| name.len() <= MAX_TOPIC_BYTES && !name.contains(['\n', '\r']);
        if names.is_empty() || names.len() > MAX_TOPICS || !names.iter().all(fit) {
            return Err(Refusal::from(PageRefusal::InvalidTopics {
                max_topics: MAX_TOPICS,
            }));
        }
        let name = |text: &&str| SubscribedTopic {
            text: (*text).to_owned(),
            pending_seq: None,
            not_before: None,
        };
        Ok(Self(names.iter().map(name).collect()))
    }

    /// Records an event for the names that match it.
    pub(super) fn record_event(&mut self, event: &Event) {
        let area = event.kind.split('.').next().unwrap_or_default();
        for name in &mut self.0 {
            let topic = name.text.strip_suffix(SLOW_SUFFIX).unwrap_or(&name.text);
            if topic == area || topic == event.subject || topic == ALL_EVENTS {
                name.pending_seq = Some(event.seq);
            }
        }
    }

    /// Marks all names as changed.
    pub(super) fn mark_all_changed(&mut self, seq: u64) {
        for name in &mut self.0 {
            name.pending_seq = Some(seq);
        }
    }

    /// Returns the notifications that are due now, in SSE encoding; `None` if there are none.
    pub(super) fn due_notifications(&mut self, now: Instant) -> Option<Bytes> {
        let mut text = String::new();
        for name in &mut self.0 {
            if name.not_before.is_some_and(|from| from > now) {
                continue;
            }
            if let Some(seq) = name.pending_seq.take() {
                let interval = if name.text.ends_with(SLOW_SUFFIX) {
                    SLOW_NOTIFY_INTERVAL
                } else {
                    NOTIFY_INTERVAL
                };
                name.not_before = Some(now + interval);
                text += &format!("event: {}\ndata: {seq}\n\n", name.text);
            }
        }
        (!text.is_empty()).then(|| text.into())
    }

    /// Returns when the next notification is due.
    pub(super) fn next_due_time(&self) -> Option<Instant> {
        let open = self.0.iter().filter(|name| name.pending_seq.is_some());
        open.filter_map(|name| name.not_before).min()
    }
}

#[cfg(test)]
mod tests {
    use polis_core::{RawJson, Timestamp};

    use super::*;

    fn test_event(seq: u64, kind: &str, subject: &str) -> Event {
        Event {
            seq,
            at: Timestamp::from_millis(0),
            actor: "a".to_owned(),
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            data: RawJson::parse("{}").unwrap(),
        }
    }

    #[test]
    fn first_notification_is_immediate_and_last_is_not_lost() {
        let mut subscription = PageSubscription::parse("task,board/global").unwrap();
        let start = Instant::now();
        assert_eq!(subscription.due_notifications(start), None);
        subscription.record_event(&test_event(1, "task.created", "task/1"));
        subscription.record_event(&test_event(2, "board.written", "board/top"));
        assert_eq!(
            subscription.due_notifications(start).unwrap(),
            "event: task\ndata: 1\n\n"
        );
        for seq in 3..9 {
            subscription.record_event(&test_event(seq, "task.updated", "task/1"));
        }
        subscription.record_event(&test_event(9, "board.written", "board/global"));
        let soon = start + Duration::from_millis(50);
        assert_eq!(
            subscription.due_notifications(soon).unwrap(),
            "event: board/global\ndata: 9\n\n"
        );
        assert_eq!(subscription.due_notifications(soon), None);
        let then = subscription.next_due_time().unwrap();
        assert_eq!(then, start + NOTIFY_INTERVAL);
        assert_eq!(
            subscription.due_notifications(then).unwrap(),
            "event: task\ndata: 8\n\n"
        );
        assert_eq!(subscription.next_due_time(), None);
    }

    #[test]
    fn slow_name_is_notified_once_a_second_including_the_last() {
        let mut subscription = PageSubscription::parse("task,task~").unwrap();
        let start = Instant::now();
        subscription.record_event(&test_event(1, "task.created", "task/1"));
        assert_eq!(
            subscription.due_notifications(start).unwrap(),
            "event: task\ndata: 1\n\nevent: task~\ndata: 1\n\n"
        );
        subscription.record_event(&test_event(2, "task.updated", "task/1"));
        let soon = start + NOTIFY_INTERVAL;
        assert_eq!(
            subscription.due_notifications(soon).unwrap(),
            "event: task\ndata: 2\n\n"
        );
        assert_eq!(
            subscription.next_due_time(),
            Some(start + SLOW_NOTIFY_INTERVAL)
        );
        let later = start + SLOW_NOTIFY_INTERVAL;
        assert_eq!(
            subscription.due_notifications(later).unwrap(),
            "event: task~\ndata: 2\n\n"
        );
    }

    #[test]
    fn name_event_matches_all_events() {
        let mut subscription = PageSubscription::parse("event").unwrap();
        subscription.record_event(&test_event(4, "agent.added", "agent/a"));
        assert!(subscription.due_notifications(Instant::now()).is_some());
    }

    #[test]
    fn invalid_name_list_is_refused() {
        for bad in ["", ",", "a\nb", &"x,".repeat(40), &"x".repeat(600)] {
            assert!(PageSubscription::parse(bad).is_err(), "{bad:?}");
        }
    }
}
