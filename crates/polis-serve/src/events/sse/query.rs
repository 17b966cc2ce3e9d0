//! Query parameters and `Last-Event-ID` of `GET /v1/events`.
//!
//! Parses the request into start position, limit and event filter, and refuses unknown or malformed
//! parameters.

use http::request::Parts;
use percent_encoding::percent_decode_str;
use polis_core::id::quoted;
use polis_core::{Code, Refusal};

use crate::events::filter::Filter;

/// Header with which a client resumes a stream.
const LAST_EVENT_ID: &str = "last-event-id";

/// Parsed parameters of a request.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Query {
    /// Sequence number to start after; `None` starts with the next new event.
    pub(super) since: Option<u64>,
    /// Maximum number of events, after which the stream ends.
    pub(super) limit: Option<u64>,
    /// Which events are wanted.
    pub(super) filter: Filter,
}

impl Query {
    /// Parses a request. `Last-Event-ID` overrides `since`: a client that resumes keeps the URL it started
    /// with, and the header is newer.
    pub(super) fn of(request: &Parts) -> Result<Self, Refusal> {
        let mut query = Self::default();
        for pair in request.uri.query().unwrap_or_default().split('&') {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let (name, value) = (decoded(name)?, decoded(value)?);
            match name.as_str() {
                "" => {}
                "since" => query.since = Some(number("since", &value)?),
                "limit" => query.limit = Some(limit(&value)?),
                "kind" => query.filter.add_kinds(&value)?,
                "subject" => query.filter.add_subjects(&value)?,
                "actor" => query.filter.add_actors(&value)?,
                other => return Err(unknown(other)),
            }
        }
        if let Some(header) = request.headers.get(LAST_EVENT_ID) {
            let text = header.to_str().unwrap_or("?").trim();
            if !text.is_empty() {
                query.since = Some(number("Last-Event-ID", text)?);
            }
        }
        Ok(query)
    }

    /// Returns the sequence number to start after. Fails with `InvalidInput` if it is beyond `head`, the end
    /// of the log.
    pub(super) fn begin(&self, head: u64) -> Result<u64, Refusal> {
        match self.since {
            None => Ok(head),
            Some(since) if since <= head => Ok(since),
            Some(since) => Err(Refusal::new(
                Code::InvalidInput,
                format!("There is no event {since}: the log ends at {head}."),
                "begin without Last-Event-ID and since, or with 0 for everything",
            )),
        }
    }
}

fn decoded(text: &str) -> Result<String, Refusal> {
    let spaced = text.replace('+', " ");
    let decoded = percent_decode_str(&spaced).decode_utf8();
    decoded.map(String::from).map_err(|_| {
        Refusal::new(
            Code::InvalidInput,
            "The address has a parameter that is not UTF-8.",
            "encode it as UTF-8, then percent-encode it",
        )
    })
}

fn number(what: &str, text: &str) -> Result<u64, Refusal> {
    let digits = !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit());
    let number = text.parse().ok().filter(|_| digits);
    number.ok_or_else(|| {
        Refusal::new(
            Code::InvalidInput,
            format!(
                "{what} is {}, which is not a place in the log.",
                quoted(text)
            ),
            "give the seq of the last event you have seen, or 0 for everything",
        )
    })
}

fn limit(text: &str) -> Result<u64, Refusal> {
    let number = text.parse().ok().filter(|n| *n > 0);
    number.ok_or_else(|| {
        Refusal::new(
            Code::InvalidInput,
            format!(
                "limit is {}, which is not a number of events.",
                quoted(text)
            ),
            "give a whole number from 1",
        )
    })
}

fn unknown(name: &str) -> Refusal {
    Refusal::new(
        Code::InvalidInput,
        format!("{} is not a parameter of /v1/events.", quoted(name)),
        "use since, limit, kind, subject or actor",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(uri: &str, last: Option<&str>) -> Result<Query, Refusal> {
        let mut request = http::Request::builder().uri(uri);
        if let Some(last) = last {
            request = request.header("Last-Event-ID", last);
        }
        Query::of(&request.body(()).unwrap().into_parts().0)
    }

    #[test]
    fn the_header_counts_more_than_the_address() {
        let since = |uri, last| ask(uri, last).unwrap().since;
        assert_eq!(since("/v1/events", None), None);
        assert_eq!(since("/v1/events?since=3", None), Some(3));
        assert_eq!(since("/v1/events?since=3", Some("5")), Some(5));
        assert_eq!(since("/v1/events?since=3", Some("")), Some(3));
        assert_eq!(since("/v1/events?", Some(" 7 ")), Some(7));
    }

    #[test]
    fn lists_are_read_however_they_are_encoded() {
        let given = ask(
            "/v1/events?kind=task.%2Cboard.written&subject=task/5&actor=a",
            None,
        );
        let plain = ask(
            "/v1/events?kind=task.,board.written&subject=task%2F5&actor=a",
            None,
        );
        let apart = ask(
            "/v1/events?kind=task.&kind=board.written&subject=task/5&actor=a",
            None,
        );
        assert_eq!(given.as_ref().unwrap(), plain.as_ref().unwrap());
        assert_eq!(given.unwrap(), apart.unwrap());
        assert!(plain.is_ok_and(|query| !query.filter.wants_all()));
    }

    #[test]
    fn what_is_no_request_is_refused() {
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
            let refusal = ask(uri, last).unwrap_err();
            assert_eq!(refusal.code, Code::InvalidInput, "{uri} {last:?}");
        }
    }

    #[test]
    fn nobody_begins_beyond_the_end() {
        let since = |since| Query {
            since,
            ..Query::default()
        };
        assert_eq!(since(None).begin(9), Ok(9));
        assert_eq!(since(Some(9)).begin(9), Ok(9));
        assert_eq!(since(Some(0)).begin(9), Ok(0));
        assert_eq!(
            since(Some(10)).begin(9).unwrap_err().code,
            Code::InvalidInput
        );
    }
}
