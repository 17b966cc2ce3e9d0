//! What is asked of the log, in the page's address.

use polis_ops::op::LogRead;
use serde::Deserialize;

use crate::url;

/// How many events a page has.
const PAGE: u32 = 100;

/// What is asked, as it stands in the address. Empty fields ask for nothing.
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
    /// Where the slider ends: there it means the head, wherever that is by now.
    #[serde(default)]
    head: String,
}

/// Which part of the log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Its newest end.
    Head,
    /// What came before this place.
    Before(u64),
    /// What came after this one.
    After(u64),
}

impl Asked {
    /// Which part of the log.
    pub(super) fn place(&self) -> Place {
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let end = number(&self.head);
        match (number(&self.before), number(&self.after)) {
            (Some(before), _) if end.is_some_and(|end| before >= end) => Place::Head,
            // Nothing is before the first: there the log begins.
            (Some(..=1), _) => Place::After(0),
            (Some(before), _) => Place::Before(before),
            (_, Some(after)) => Place::After(after),
            _ => Place::Head,
        }
    }

    /// Whether nothing is filtered.
    pub(super) fn is_plain(&self) -> bool {
        [&self.kind, &self.who, &self.about, &self.text]
            .iter()
            .all(|field| field.trim().is_empty())
    }

    /// What the operation is asked.
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

    /// The address of the same at another place.
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

/// What somebody means by a thing: a task may be written `#5` or `5`.
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
