//! Event filter of a request to `GET /v1/events`: by kind, subject and actor. Webhooks have their own
//! (`polis_core::webhook`).
//!
//! A filter expresses what the reader asked for. What the reader is allowed to see (visibility) is checked
//! separately.

use polis_core::webhook::matches_kind_filter;
use polis_core::{Event, Refusal};

use crate::refusal_tables::EventRefusal;

/// Maximum number of entries per list.
const MAX_FILTER_ENTRIES: usize = 64;
/// Maximum length of a list parameter in bytes.
const MAX_FILTER_BYTES: usize = 4_096;

/// Event filter. An empty list matches every event; an event must match all lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct EventFilter {
    kinds: Vec<String>,
    subjects: Vec<String>,
    actors: Vec<String>,
}

impl EventFilter {
    /// Returns whether the filter matches every event.
    pub(crate) fn matches_all(&self) -> bool {
        self.kinds.is_empty() && self.subjects.is_empty() && self.actors.is_empty()
    }

    /// Returns whether the filter matches this event.
    pub(crate) fn matches_event(&self, event: &Event) -> bool {
        let any = |list: &[String], hit: &dyn Fn(&str) -> bool| {
            list.is_empty() || list.iter().any(|pattern| hit(pattern))
        };
        any(&self.kinds, &|pattern| {
            matches_kind_filter(pattern, &event.kind)
        }) && any(&self.subjects, &|pattern| {
            subject_matches(pattern, &event.subject)
        }) && any(&self.actors, &|pattern| pattern == event.actor)
    }

    /// Adds kinds, separated by commas: `task.claimed`, or the prefix `task.` for all task events.
    pub(crate) fn add_kinds(&mut self, list: &str) -> Result<(), Refusal> {
        for kind in split_list(list) {
            if !kind.contains('.') {
                return Err(EventRefusal::NotAKind {
                    kind: polis_core::id::quote_untrusted(kind),
                }
                .into());
            }
            push_entry(&mut self.kinds, kind)?;
        }
        check_list_size(list)
    }

    /// Adds subjects, separated by commas: `task/5`, or the prefix `task/` for all tasks.
    pub(crate) fn add_subjects(&mut self, list: &str) -> Result<(), Refusal> {
        // A file name may contain a comma, so the unsplit list is added as a subject too.
        if list.contains(',') {
            push_entry(&mut self.subjects, list)?;
        }
        for subject in split_list(list) {
            push_entry(&mut self.subjects, subject)?;
        }
        check_list_size(list)
    }

    /// Adds actors, separated by commas.
    pub(crate) fn add_actors(&mut self, list: &str) -> Result<(), Refusal> {
        for actor in split_list(list) {
            push_entry(&mut self.actors, actor)?;
        }
        check_list_size(list)
    }
}

fn subject_matches(pattern: &str, subject: &str) -> bool {
    pattern == subject || (pattern.ends_with('/') && subject.starts_with(pattern))
}

fn split_list(list: &str) -> impl Iterator<Item = &str> {
    list.split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
}

fn push_entry(list: &mut Vec<String>, entry: &str) -> Result<(), Refusal> {
    if list.len() >= MAX_FILTER_ENTRIES {
        return Err(EventRefusal::TooManyEntries {
            limit: MAX_FILTER_ENTRIES,
        }
        .into());
    }
    list.push(entry.to_owned());
    Ok(())
}

fn check_list_size(list: &str) -> Result<(), Refusal> {
    if list.len() <= MAX_FILTER_BYTES {
        return Ok(());
    }
    Err(EventRefusal::FilterTooLong {
        limit: MAX_FILTER_BYTES,
    }
    .into())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::sample_event;
    use polis_core::RefusalCode;

    fn event_with(kind: &str, subject: &str, actor: &str) -> Event {
        Event {
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            actor: actor.to_owned(),
            ..sample_event(1)
        }
    }

    #[test]
    fn event_must_match_every_filter_list() {
        let mut filter = EventFilter::default();
        let claimed = event_with("task.claimed", "task/5", "a");
        let written = event_with("board.written", "board/global", "b");
        let linked = event_with("task.linked", "task/55", "b");
        assert!(filter.matches_all() && filter.matches_event(&claimed));
        filter.add_kinds("task., board.written").unwrap();
        assert!(!filter.matches_all());
        let matching = |filter: &EventFilter| {
            [&claimed, &written, &linked]
                .iter()
                .filter(|event| filter.matches_event(event))
                .count()
        };
        assert_eq!(matching(&filter), 3);
        filter.add_subjects("task/5,board/").unwrap();
        assert!(
            filter.matches_event(&claimed)
                && filter.matches_event(&written)
                && !filter.matches_event(&linked)
        );
        filter.add_actors("b").unwrap();
        assert_eq!(matching(&filter), 1);
        assert!(!filter.matches_event(&event_with("tasks.x", "task/5", "b")));
    }

    #[test]
    fn subject_filter_may_contain_comma() {
        let mut filter = EventFilter::default();
        filter.add_subjects("blackboard/a,b.md").unwrap();
        assert!(filter.matches_event(&event_with("board.written", "blackboard/a,b.md", "x")));
    }

    #[test]
    fn invalid_or_oversized_filter_is_refused() {
        let mut filter = EventFilter::default();
        assert_eq!(
            filter.add_kinds("task").unwrap_err().code,
            RefusalCode::INVALID_INPUT
        );
        assert!(filter.add_actors(&"a,".repeat(65)).is_err());
        assert!(filter.add_actors(&"a".repeat(5_000)).is_err());
        assert!(EventFilter::default().add_kinds("").is_ok());
    }
}
