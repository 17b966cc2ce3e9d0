//! What a page wants to hear of, and what it has not heard of yet.
//!
//! The first event of a name is told at once, further ones at most every tenth of a second, and the last
//! always: a page that fetches when it is told is never behind for longer than that. A name with `~` behind
//! it is told at most once a second, for what is dear to draw.

use std::time::Duration;

use bytes::Bytes;
use polis_core::{Code, Event, Refusal};
use tokio::time::Instant;

/// How long a name is quiet after it was told.
const QUIET: Duration = Duration::from_millis(100);
/// How long one is that is to be told slowly.
const QUIET_SLOWLY: Duration = Duration::from_secs(1);
/// What stands behind a name that is to be told slowly; no area and no subject ends in it.
pub(super) const SLOWLY: char = '~';
/// How many names a page may ask for.
const MOST: usize = 32;
/// How long one may be.
const LONGEST: usize = 512;
/// The name of everything that happens.
const EVERYTHING: &str = "event";

/// What a page wants to hear of.
#[derive(Debug)]
pub(super) struct Wanted(Vec<Name>);

#[derive(Debug)]
struct Name {
    text: String,
    /// The newest event that was not told.
    open: Option<u64>,
    /// From when on it may be told again.
    from: Option<Instant>,
}

impl Wanted {
    /// Reads a list of names: areas or subjects, separated by commas.
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

    /// Notes an event for the names that mean it.
    pub(super) fn note(&mut self, event: &Event) {
        let area = event.kind.split('.').next().unwrap_or_default();
        for name in &mut self.0 {
            let about = name.text.strip_suffix(SLOWLY).unwrap_or(&name.text);
            if about == area || about == event.subject || about == EVERYTHING {
                name.open = Some(event.seq);
            }
        }
    }

    /// Takes everything for changed.
    pub(super) fn note_all(&mut self, seq: u64) {
        for name in &mut self.0 {
            name.open = Some(seq);
        }
    }

    /// What is to be told at this moment.
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

    /// When something is to be told next.
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
