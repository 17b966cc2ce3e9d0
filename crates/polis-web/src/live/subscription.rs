//! Subscription of a page to events, with coalescing of notifications.
//!
//! The first event of a name is sent at once, further ones at most every tenth of a second, and the last one always: a
//! page that refreshes on notification is never stale for longer than that. A name with the suffix `~` is sent at most
//! once a second, for fragments that are expensive to render.

use std::time::Duration;

use bytes::Bytes;
use polis_core::{Code, Event, Refusal};
use tokio::time::Instant;

/// Minimum interval between notifications of a name.
const QUIET: Duration = Duration::from_millis(100);
/// Minimum interval for a name with the suffix `~`.
const QUIET_SLOWLY: Duration = Duration::from_secs(1);
/// Suffix of a name with the longer interval; no area and no subject ends with it.
pub(super) const SLOWLY: char = '~';
/// Maximum number of names per page.
const MOST: usize = 32;
/// Maximum length of a name.
const LONGEST: usize = 512;
/// Name that matches all events.
const EVERYTHING: &str = "event";

/// The subscription of a page.
#[derive(Debug)]
pub(super) struct Wanted(Vec<Name>);

#[derive(Debug)]
struct Name {
    text: String,
    /// Sequence number of the newest event that was not sent yet.
    open: Option<u64>,
    /// Earliest time of the next notification.
    from: Option<Instant>,
}

impl Wanted {
    /// Parses a comma-separated list of names: areas or subjects.
    pub(super) fn parse(list: &str) -> Result<Self, Refusal> {
        let names: Vec<&str> = list.split(',').filter(|name| !name.is_empty()).collect();
        let fit = |name: &&str| name.len() <= LONGEST && !name.contains(['\n', '\r']);
        if names.is_empty() || names.len() > MOST || !names.iter().all(fit) {
            return Err(Refusal::new(
                Code::InvalidInput,
                "It is not said what to tell of.",
                format!("give up to {MOST} areas or subjects, such as about=task,board/global"),
            ));
        }
        let name = |text: &&str| Name {
            text: (*text).to_owned(),
            open: None,
            from: None,
        };
        Ok(Self(names.iter().map(name).collect()))
    }

    /// Records an event for the names that match it.
    pub(super) fn note(&mut self, event: &Event) {
        let area = event.kind.split('.').next().unwrap_or_default();
        for name in &mut self.0 {
            let about = name.text.strip_suffix(SLOWLY).unwrap_or(&name.text);
            if about == area || about == event.subject || about == EVERYTHING {
                name.open = Some(event.seq);
            }
        }
    }

    /// Marks all names as changed.
    pub(super) fn note_all(&mut self, seq: u64) {
        for name in &mut self.0 {
            name.open = Some(seq);
        }
    }

    /// Returns the notifications that are due now.
    pub(super) fn due(&mut self, now: Instant) -> Option<Bytes> {
        let mut text = String::new();
        for name in &mut self.0 {
            if name.from.is_some_and(|from| from > now) {
                continue;
            }
            if let Some(seq) = name.open.take() {
                let quiet = match name.text.ends_with(SLOWLY) {
                    true => QUIET_SLOWLY,
                    false => QUIET,
                };
                name.from = Some(now + quiet);
                text += &format!("event: {}\ndata: {seq}\n\n", name.text);
            }
        }
        (!text.is_empty()).then(|| text.into())
    }

    /// Returns when the next notification is due.
    pub(super) fn next_due(&self) -> Option<Instant> {
        let open = self.0.iter().filter(|name| name.open.is_some());
        open.filter_map(|name| name.from).min()
    }
}

#[cfg(test)]
mod tests {
    use polis_core::{Raw, Timestamp};

    use super::*;

    fn event(seq: u64, kind: &str, subject: &str) -> Event {
        Event {
            seq,
            at: Timestamp::from_millis(0),
            actor: "a".to_owned(),
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            data: Raw::parse("{}").unwrap(),
        }
    }

    #[test]
    fn the_first_is_told_at_once_and_the_last_in_time() {
        let mut wanted = Wanted::parse("task,board/global").unwrap();
        let begin = Instant::now();
        assert_eq!(wanted.due(begin), None);
        wanted.note(&event(1, "task.created", "task/1"));
        wanted.note(&event(2, "board.written", "board/top"));
        assert_eq!(wanted.due(begin).unwrap(), "event: task\ndata: 1\n\n");
        for seq in 3..9 {
            wanted.note(&event(seq, "task.updated", "task/1"));
        }
        wanted.note(&event(9, "board.written", "board/global"));
        let soon = begin + Duration::from_millis(50);
        assert_eq!(
            wanted.due(soon).unwrap(),
            "event: board/global\ndata: 9\n\n"
        );
        assert_eq!(wanted.due(soon), None);
        let then = wanted.next_due().unwrap();
        assert_eq!(then, begin + QUIET);
        assert_eq!(wanted.due(then).unwrap(), "event: task\ndata: 8\n\n");
        assert_eq!(wanted.next_due(), None);
    }

    #[test]
    fn what_is_dear_to_draw_is_told_slowly_and_its_last_too() {
        let mut wanted = Wanted::parse("task,task~").unwrap();
        let begin = Instant::now();
        wanted.note(&event(1, "task.created", "task/1"));
        assert_eq!(
            wanted.due(begin).unwrap(),
            "event: task\ndata: 1\n\nevent: task~\ndata: 1\n\n"
        );
        wanted.note(&event(2, "task.updated", "task/1"));
        let soon = begin + QUIET;
        assert_eq!(wanted.due(soon).unwrap(), "event: task\ndata: 2\n\n");
        assert_eq!(wanted.next_due(), Some(begin + QUIET_SLOWLY));
        let later = begin + QUIET_SLOWLY;
        assert_eq!(wanted.due(later).unwrap(), "event: task~\ndata: 2\n\n");
    }

    #[test]
    fn everything_has_a_name_too() {
        let mut wanted = Wanted::parse("event").unwrap();
        wanted.note(&event(4, "agent.added", "agent/a"));
        assert!(wanted.due(Instant::now()).is_some());
    }

    #[test]
    fn what_names_nothing_is_refused() {
        for bad in ["", ",", "a\nb", &"x,".repeat(40), &"x".repeat(600)] {
            assert!(Wanted::parse(bad).is_err(), "{bad:?}");
        }
    }
}
