//! Parser for requests to `GET /v1/events`: query parameters and the `Last-Event-ID` header.
//!
//! Returns the start position, the limit (the stream ends after this many events) and the event filter.
//! `Last-Event-ID` takes precedence over the parameter `since`. Unknown or malformed parameters are refused,
//! and so is a start position beyond the end of the log.

use http::request::Parts;
use percent_encoding::percent_decode_str;
use polis_core::Refusal;
use polis_core::id::quote_untrusted;

use crate::events::event_filter::EventFilter;
use crate::refusal_tables::EventRefusal;

/// Header with which a client resumes a stream.
const LAST_EVENT_ID: &str = "last-event-id";

/// Parsed parameters of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct StreamQuery {
    /// Sequence number to start after; `None` starts with the next new event.
    pub(super) since: Option<u64>,
    /// Maximum number of events, after which the stream ends.
    pub(super) limit: Option<u64>,
    /// Filter by kind, subject and actor.
    pub(super) filter: EventFilter,
}

impl StreamQuery {
    /// Parses a request. `Last-Event-ID` overrides `since`: a client that resumes keeps the URL it started
    /// with, and the header is newer.
    pub(super) fn from_request(request: &Parts) -> Result<Self, Refusal> {
        let mut query = Self::default();
        for pair in request.uri.query().unwrap_or_default().split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decode_component(name)?, decode_component(value)?);
            match name.as_str() {
                "" => {}
                "since" => query.since = Some(parse_position("since", &value)?),
                "limit" => query.limit = Some(parse_limit(&value)?),
                "kind" => query.filter.add_kinds(&value)?,
                "subject" => query.filter.add_subjects(&value)?,
                "actor" => query.filter.add_actors(&value)?,
                other => return Err(unknown_param(other)),
            }
        }
        if let Some(header) = request.headers.get(LAST_EVENT_ID) {
            let text = header.to_str().unwrap_or("?").trim();
            if !text.is_empty() {
                query.since = Some(parse_position("Last-Event-ID", text)?);
            }
        }
        Ok(query)
    }

    /// Returns the sequence number to start after. Fails with `InvalidInput` if it is beyond `head`, the end
    /// of the log.
    pub(super) fn start_position(&self, head: u64) -> Result<u64, Refusal> {
        match self.since {
            None => Ok(head),
            Some(since) if since <= head => Ok(since),
            Some(since) => Err(Refusal::from(EventRefusal::NotYetLogged { since, head })),
        }
    }
}

fn decode_component(text: &str) -> Result<String, Refusal> {
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8();
    decoded
        .map(String::from)
        .map_err(|_| Refusal::from(EventRefusal::QueryNotUtf8))
}

fn parse_position(name: &str, text: &str) -> Result<u64, Refusal> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    number.ok_or_else(|| {
        Refusal::from(EventRefusal::NotAPosition {
            name: name.to_string(),
            value: quote_untrusted(text),
        })
    })
}

fn parse_limit(text: &str) -> Result<u64, Refusal> {
    let number = text.parse().ok().filter(|n| *n > 0);
    number.ok_or_else(|| {
        Refusal::from(EventRefusal::NotALimit {
            value: quote_untrusted(text),
        })
    })
}

fn unknown_param(name: &str) -> Refusal {
    Refusal::from(EventRefusal::UnknownParameter {
        name: quote_untrusted(name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use polis_core::RefusalCode;

    fn parse_request(uri: &str, last: Option<&str>) -> Result<StreamQuery, Refusal> {
        let mut request = http::Request::builder().uri(uri);
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last);
        }
        StreamQuery::from_request(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn last_event_id_overrides_since() {
        let since = |uri, last| parse_request(uri, last).unwrap().since;
        assert_eq!(since("/v1/events", None), None);
        assert_eq!(since("/v1/events?since=3", None), Some(3));
        assert_eq!(since("/v1/events?since=3", Some("5")), Some(5));
        assert_eq!(since("/v1/events?since=3", Some("")), Some(3));
        assert_eq!(since("/v1/events?", Some(" 7 ")), Some(7));
    }

    #[test]
    fn filter_lists_are_parsed_in_any_encoding() {
        let given = parse_request(
            "/v1/events?kind=task.%2Cboard.written&subject=task/5&actor=a",
            None,
        );
        let plain = parse_request(
            "/v1/events?kind=task.,board.written&subject=task%2F5&actor=a",
            None,
        );
        let apart = parse_request(
            "/v1/events?kind=task.&kind=board.written&subject=task/5&actor=a",
            None,
        );
        assert_eq!(given.as_ref().unwrap(), plain.as_ref().unwrap());
        assert_eq!(given.unwrap(), apart.unwrap());
        assert!(plain.is_ok_and(|query| !query.filter.matches_all()));
    }

    #[test]
    fn malformed_stream_query_is_refused() {
        let bad = [
            ("/v1/events?since=-1", None),
            ("/v1/events?since=", None),
            ("/v1/events?since=%2B1", None),
            ("/v1/events?since=99999999999999999999", None),
            ("/v1/events?limit=0", None),
            ("/v1/events?limit=x", None),
            ("/v1/events?kind=task", None),
            ("/v1/events?kinds=task.", None),
            ("/v1/events?actor=%ff", None),
            ("/v1/events", Some("x")),
            ("/v1/events", Some("-1")),
            ("/v1/events", Some("1,2")),
        ];
        for (uri, last) in bad {
            let refusal = parse_request(uri, last).unwrap_err();
            assert_eq!(refusal.code, RefusalCode::INVALID_INPUT, "{uri} {last:?}");
        }
    }

    #[test]
    fn start_position_beyond_log_end_is_refused() {
        let since = |since| StreamQuery {
            since,
            ..StreamQuery::default()
        };
        assert_eq!(since(None).start_position(9), Ok(9));
        assert_eq!(since(Some(9)).start_position(9), Ok(9));
        assert_eq!(since(Some(0)).start_position(9), Ok(0));
        assert_eq!(
            since(Some(10)).start_position(9).unwrap_err().code,
            RefusalCode::INVALID_INPUT
        );
    }
}
