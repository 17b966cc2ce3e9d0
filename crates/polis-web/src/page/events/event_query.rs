//! Query parameters of the events page: filters and position in the log.

use polis_ops::op::LogRead;
use serde::Deserialize;

use crate::url;

/// Number of events per page.
const PAGE: u32 = 100;

/// Query parameters. Empty fields are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    pub(super) kind: String,
    #[serde(default)]
    pub(super) who: String,
    #[serde(default)]
    pub(super) about: String,
    #[serde(default)]
    pub(super) text: String,
    #[serde(default)]
    before: String,
    #[serde(default)]
    after: String,
    /// Maximum of the slider: at this position it selects the current end of the log.
    #[serde(default)]
    head: String,
}

/// Position in the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// The newest events.
    Head,
    /// Events before this sequence number.
    Before(u64),
    /// Events after this sequence number.
    After(u64),
}

impl Asked {
    /// Returns the requested position.
    pub(super) fn place(&self) -> Place {
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let end = number(&self.head);
        match (number(&self.before), number(&self.after)) {
            (Some(before), _) if end.is_some_and(|end| before >= end) => Place::Head,
            // No event precedes the first one, so the page starts at the beginning of the log.
            (Some(..=1), _) => Place::After(0),
            (Some(before), _) => Place::Before(before),
            (_, Some(after)) => Place::After(after),
            _ => Place::Head,
        }
    }

    /// Returns whether no filter is set.
    pub(super) fn is_plain(&self) -> bool {
        [&self.kind, &self.who, &self.about, &self.text]
            .iter()
            .all(|field| field.trim().is_empty())
    }

    /// Returns the parameters of the operation.
    pub(super) fn params(&self, head: u64) -> LogRead {
        let given = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let (since, before) = match self.place() {
            Place::Head => (0, Some(head.saturating_add(1))),
            Place::Before(before) => (0, Some(before)),
            Place::After(after) => (after, None),
        };
        LogRead {
            since,
            before,
            limit: Some(PAGE),
            subject: given(&self.about).map(|about| subject(&about)),
            kind: given(&self.kind).map(|kind| match kind.contains('.') {
                true => kind,
                false => format!("{kind}."),
            }),
            actor: given(&self.who),
            text: given(&self.text),
        }
    }

    /// Returns the URL of the same query at another position.
    pub(super) fn link(&self, place: Place) -> String {
        let (before, after) = match place {
            Place::Head => (None, None),
            Place::Before(before) => (Some(before.to_string()), None),
            Place::After(after) => (None, Some(after.to_string())),
        };
        url::asking(
            "/events",
            &[
                ("kind", self.kind.trim()),
                ("who", self.who.trim()),
                ("about", self.about.trim()),
                ("text", self.text.trim()),
                ("before", before.as_deref().unwrap_or_default()),
                ("after", after.as_deref().unwrap_or_default()),
            ],
        )
    }
}

/// Parses a subject: a task may be written `#5` or `5`.
fn subject(text: &str) -> String {
    let number = text.strip_prefix('#').unwrap_or(text);
    match number.bytes().all(|byte| byte.is_ascii_digit()) {
        true => format!("task/{number}"),
        false => text.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn asked(pairs: &[(&str, &str)]) -> Asked {
        let map: serde_json::Map<String, serde_json::Value> = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).into()))
            .collect();
        serde_json::from_value(map.into()).unwrap()
    }

    #[test]
    fn the_end_of_the_slider_is_the_head() {
        assert_eq!(asked(&[]).place(), Place::Head);
        assert_eq!(
            asked(&[("before", "7"), ("head", "9")]).place(),
            Place::Before(7)
        );
        assert_eq!(
            asked(&[("before", "9"), ("head", "9")]).place(),
            Place::Head
        );
        assert_eq!(
            asked(&[("before", "1"), ("head", "9")]).place(),
            Place::After(0),
            "its beginning is the oldest page"
        );
        assert_eq!(
            asked(&[("before", "1"), ("head", "1")]).place(),
            Place::Head,
            "a log that has not begun has only its head"
        );
        assert_eq!(asked(&[("after", "3")]).place(), Place::After(3));
        assert_eq!(asked(&[("before", "x")]).place(), Place::Head);
    }

    #[test]
    fn filters_are_what_the_log_understands() {
        let params = asked(&[("kind", "task"), ("about", "#5"), ("who", " ada ")]).params(8);
        assert_eq!(params.kind.as_deref(), Some("task."));
        assert_eq!(params.subject.as_deref(), Some("task/5"));
        assert_eq!(params.actor.as_deref(), Some("ada"));
        assert_eq!(params.before, Some(9));
        assert_eq!(asked(&[]).params(8).text, None);
    }

    #[test]
    fn links_keep_the_filters() {
        let asked = asked(&[("text", "a&b"), ("kind", "task")]);
        assert_eq!(
            asked.link(Place::Before(4)),
            "/events?kind=task&text=a%26b&before=4"
        );
        assert_eq!(Asked::default().link(Place::Head), "/events");
    }
}
