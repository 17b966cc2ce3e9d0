//! Query parameters of the events page: filters and position in the event log.

use polis_ops::op::LogReadParams;
use serde::Deserialize;

use crate::url;

/// Number of events per page.
const EVENTS_PER_PAGE: u32 = 100;

/// Query parameters. Empty fields are ignored.
#[derive(Debug, Clone, Default, PartialEq, Eq, Deserialize)]
pub(super) struct EventPageQuery {
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
    /// Maximum of the slider: at this position it selects the current end of the event log.
    #[serde(default)]
    head: String,
}

/// Position in the event log.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LogPosition {
    /// The end of the log, with the newest events.
    Head,
    /// Events before this sequence number.
    Before(u64),
    /// Events after this sequence number.
    After(u64),
}

impl EventPageQuery {
    /// Returns the requested position.
    pub(super) fn log_position(&self) -> LogPosition {
        let number = |text: &str| text.trim().parse::<u64>().ok();
        let end = number(&self.head);
        match (number(&self.before), number(&self.after)) {
            (Some(before), _) if end.is_some_and(|end| before >= end) => LogPosition::Head,
            // No event precedes the first one, so the page starts at the beginning of the log.
            (Some(..=1), _) => LogPosition::After(0),
            (Some(before), _) => LogPosition::Before(before),
            (_, Some(after)) => LogPosition::After(after),
            _ => LogPosition::Head,
        }
    }

    /// Returns whether no filter is set.
    pub(super) fn has_no_filter(&self) -> bool {
        [&self.kind, &self.who, &self.about, &self.text]
            .iter()
            .all(|field| field.trim().is_empty())
    }

    /// Returns the parameters of the operation; `head` is the sequence number of the newest event.
    pub(super) fn log_read_params(&self, head: u64) -> LogReadParams {
        let non_empty = |text: &str| Some(text.trim().to_owned()).filter(|text| !text.is_empty());
        let (since, before) = match self.log_position() {
            LogPosition::Head => (0, Some(head.saturating_add(1))),
            LogPosition::Before(before) => (0, Some(before)),
            LogPosition::After(after) => (after, None),
        };
        LogReadParams {
            since,
            before,
            limit: Some(EVENTS_PER_PAGE),
            subject: non_empty(&self.about).map(|subject| parse_subject(&subject)),
            kind: non_empty(&self.kind).map(|kind| {
                if kind.contains('.') {
                    kind
                } else {
                    format!("{kind}.")
                }
            }),
            actor: non_empty(&self.who),
            text: non_empty(&self.text),
        }
    }

    /// Returns the URL of the same query at another position.
    pub(super) fn url_at(&self, position: LogPosition) -> String {
        let (before, after) = match position {
            LogPosition::Head => (None, None),
            LogPosition::Before(before) => (Some(before.to_string()), None),
            LogPosition::After(after) => (None, Some(after.to_string())),
        };
        url::url_with_query(
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
fn parse_subject(text: &str) -> String {
    let number = text.strip_prefix('#').unwrap_or(text);
    if number.bytes().all(|byte| byte.is_ascii_digit()) {
        format!("task/{number}")
    } else {
        text.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn query_from(pairs: &[(&str, &str)]) -> EventPageQuery {
        let map: serde_json::Map<String, serde_json::Value> = pairs
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).into()))
            .collect();
        serde_json::from_value(map.into()).unwrap()
    }

    #[test]
    fn slider_at_its_end_selects_the_head() {
        assert_eq!(query_from(&[]).log_position(), LogPosition::Head);
        assert_eq!(
            query_from(&[("before", "7"), ("head", "9")]).log_position(),
            LogPosition::Before(7)
        );
        assert_eq!(
            query_from(&[("before", "9"), ("head", "9")]).log_position(),
            LogPosition::Head
        );
        assert_eq!(
            query_from(&[("before", "1"), ("head", "9")]).log_position(),
            LogPosition::After(0),
            "its beginning is the oldest page"
        );
        assert_eq!(
            query_from(&[("before", "1"), ("head", "1")]).log_position(),
            LogPosition::Head,
            "a log that has not begun has only its head"
        );
        assert_eq!(
            query_from(&[("after", "3")]).log_position(),
            LogPosition::After(3)
        );
        assert_eq!(
            query_from(&[("before", "x")]).log_position(),
            LogPosition::Head
        );
    }

    #[test]
    fn filters_become_log_read_params() {
        let params =
            query_from(&[("kind", "task"), ("about", "#5"), ("who", " ada ")]).log_read_params(8);
        assert_eq!(params.kind.as_deref(), Some("task."));
        assert_eq!(params.subject.as_deref(), Some("task/5"));
        assert_eq!(params.actor.as_deref(), Some("ada"));
        assert_eq!(params.before, Some(9));
        assert_eq!(query_from(&[]).log_read_params(8).text, None);
    }

    #[test]
    fn url_keeps_the_filters() {
        let query = query_from(&[("text", "a&b"), ("kind", "task")]);
        assert_eq!(
            query.url_at(LogPosition::Before(4)),
            "/events?kind=task&text=a%26b&before=4"
        );
        assert_eq!(
            EventPageQuery::default().url_at(LogPosition::Head),
            "/events"
        );
    }
}
