//! Event filter of a reader: by kind, subject and actor.
//!
//! A filter expresses what the reader asked for. What the reader is allowed to see (visibility) is checked
//! separately.

use polis_core::webhook::matches;
use polis_core::{Code, Event, Refusal};

/// Maximum number of entries per list.
const MOST: usize = 64;
/// Maximum length of a list parameter in bytes.
const LONGEST: usize = 4_096;

/// Event filter. An empty list matches every event; an event must match all lists.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Filter {
    kinds: Vec<String>,
    subjects: Vec<String>,
    actors: Vec<String>,
}

impl Filter {
    /// Returns whether the filter matches every event.
    pub(crate) fn wants_all(&self) -> bool {
        self.kinds.is_empty() && self.subjects.is_empty() && self.actors.is_empty()
    }

    /// Returns whether the filter matches this event.
    pub(crate) fn wants(&self, event: &Event) -> bool {
        let any = |list: &[String], hit: &dyn Fn(&str) -> bool| {
            list.is_empty() || list.iter().any(|wanted| hit(wanted))
        };
        any(&self.kinds, &|wanted| matches(wanted, &event.kind))
            && any(&self.subjects, &|wanted| about(wanted, &event.subject))
            && any(&self.actors, &|wanted| wanted == event.actor)
    }

    /// Adds kinds, separated by commas: `task.claimed`, or the prefix `task.` for all task events.
    pub(crate) fn add_kinds(&mut self, list: &str) -> Result<(), Refusal> {
        for kind in entries(list) {
            if !kind.contains('.') {
                return Err(invalid(
                    format!("{} is not a kind of event.", polis_core::id::quoted(kind)),
                    "name kinds as `polis log` shows them, such as task.completed, or task. for all of them",
                ));
            }
            push(&mut self.kinds, kind)?;
        }
        within(list)
    }

    /// Adds subjects, separated by commas: `task/5`, or the prefix `task/` for all tasks.
    pub(crate) fn add_subjects(&mut self, list: &str) -> Result<(), Refusal> {
        // A file name may contain a comma, so the unsplit list is added as a subject too.
        if list.contains(',') {
            push(&mut self.subjects, list)?;
        }
        for subject in entries(list) {
            push(&mut self.subjects, subject)?;
        }
        within(list)
    }

    /// Adds actors, separated by commas.
    pub(crate) fn add_actors(&mut self, list: &str) -> Result<(), Refusal> {
        for actor in entries(list) {
            push(&mut self.actors, actor)?;
        }
        within(list)
    }
}

fn about(wanted: &str, subject: &str) -> bool {
    wanted == subject || (wanted.ends_with('/') && subject.starts_with(wanted))
}

fn entries(list: &str) -> impl Iterator<Item = &str> {
    list.split(',')
        .map(str::trim)
        .filter(|entry| !entry.is_empty())
}

fn push(list: &mut Vec<String>, entry: &str) -> Result<(), Refusal> {
    if list.len() >= MOST {
        return Err(invalid(
            format!("A filter may name at most {MOST} of a sort."),
            "name fewer, or a whole group such as task.",
        ));
    }
    list.push(entry.to_owned());
    Ok(())
}

fn within(list: &str) -> Result<(), Refusal> {
    if list.len() <= LONGEST {
        return Ok(());
    }
    Err(invalid(
        format!("A filter may have at most {LONGEST} bytes."),
        "name fewer, or a whole group such as task.",
    ))
}

fn invalid(message: String, hint: &str) -> Refusal {
    Refusal::new(Code::InvalidInput, message, hint)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::events::sample;

    fn event(kind: &str, subject: &str, actor: &str) -> Event {
        Event {
            kind: kind.to_owned(),
            subject: subject.to_owned(),
            actor: actor.to_owned(),
            ..sample(1)
        }
    }

    #[test]
    fn each_list_narrows_what_is_left() {
        let mut filter = Filter::default();
        let claimed = event("task.claimed", "task/5", "a");
        let written = event("board.written", "board/global", "b");
        let linked = event("task.linked", "task/55", "b");
        assert!(filter.wants_all() && filter.wants(&claimed));
        filter.add_kinds("task., board.written").unwrap();
        assert!(!filter.wants_all());
        let wanted = |filter: &Filter| {
            [&claimed, &written, &linked]
                .iter()
                .filter(|event| filter.wants(event))
                .count()
        };
        assert_eq!(wanted(&filter), 3);
        filter.add_subjects("task/5,board/").unwrap();
        assert!(filter.wants(&claimed) && filter.wants(&written) && !filter.wants(&linked));
        filter.add_actors("b").unwrap();
        assert_eq!(wanted(&filter), 1);
        assert!(!filter.wants(&event("tasks.x", "task/5", "b")));
    }

    #[test]
    fn a_comma_may_be_part_of_a_name() {
        let mut filter = Filter::default();
        filter.add_subjects("blackboard/a,b.md").unwrap();
        assert!(filter.wants(&event("board.written", "blackboard/a,b.md", "x")));
    }

    #[test]
    fn what_is_no_filter_is_refused() {
        let mut filter = Filter::default();
        assert_eq!(
            filter.add_kinds("task").unwrap_err().code,
            Code::InvalidInput
        );
        assert!(filter.add_actors(&"a,".repeat(65)).is_err());
        assert!(filter.add_actors(&"a".repeat(5_000)).is_err());
        assert!(Filter::default().add_kinds("").is_ok());
    }
}
