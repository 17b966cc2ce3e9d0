//! Timestamps as ISO 8601 text, and parsing of durations.
//!
//! A timestamp from outside keeps its original text, so that an exported task file equals the imported one;
//! our own are always UTC with milliseconds. The clock itself is a port of `polis-ops`.

use std::fmt;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A point in time as ISO 8601 text.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(try_from = "String", into = "String")]
pub struct Timestamp(String);

impl TryFrom<String> for Timestamp {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text).ok_or_else(|| "not an ISO 8601 time".to_owned())
    }
}

impl From<Timestamp> for String {
    fn from(time: Timestamp) -> Self {
        time.0
    }
}

impl Timestamp {
    /// Creates a timestamp from milliseconds since 1970.
    pub fn from_millis(millis: i64) -> Self {
        let timestamp =
            jiff::Timestamp::from_millisecond(millis).unwrap_or(jiff::Timestamp::UNIX_EPOCH);
        Self(format!("{timestamp:.3}"))
    }

    /// Parses a timestamp and keeps its text. Returns `None` if it is not ISO 8601.
    pub fn parse(text: &str) -> Option<Self> {
        text.parse::<jiff::Timestamp>()
            .ok()
            .map(|_| Self(text.to_owned()))
    }

    /// Wraps text read back from a store, without validation.
    pub fn from_stored(text: String) -> Self {
        Self(text)
    }

    /// Returns milliseconds since 1970, or `None` if the text is not a valid time.
    pub fn millis(&self) -> Option<i64> {
        self.0
            .parse::<jiff::Timestamp>()
            .ok()
            .map(jiff::Timestamp::as_millisecond)
    }

    /// Returns milliseconds since 1970. A text that is no time counts as 1970: it can come only from a store
    /// that another program wrote to, because every other constructor validates.
    pub fn unix_millis(&self) -> i64 {
        self.millis().unwrap_or(0)
    }

    /// Returns the text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

crate::problem_table! {
    /// Problems of a text that should be a duration.
    pub enum DurationProblem {
        NotADuration = "duration-invalid" { text: String };
        OutOfRange = "duration-out-of-range" { text: String };
    }
}

/// Parses a duration such as `30m`, `1h30m`, `90s` or `2d` to milliseconds. Fails unless it is between 1 ms and
/// 366 days.
pub fn parse_duration(text: &str) -> Result<i64, DurationProblem> {
    let quoted = || format!("{text:?}");
    let wrong = || DurationProblem::NotADuration { text: quoted() };
    // A day is 24 hours here. jiff excludes days from absolute durations, but people write them.
    let (days, rest) = match text.split_once('d') {
        Some((days, rest)) => (
            days.trim().parse::<i64>().map_err(|_| wrong())?,
            rest.trim(),
        ),
        None => (0, text.trim()),
    };
    let rest = if rest.is_empty() && text.contains('d') {
        0
    } else {
        let parsed: jiff::SignedDuration = rest.parse().map_err(|_| wrong())?;
        i64::try_from(parsed.as_millis()).map_err(|_| wrong())?
    };
    let millis = days
        .checked_mul(86_400_000)
        .and_then(|d| d.checked_add(rest))
        .ok_or_else(wrong)?;
    if !(1..=366 * 86_400_000).contains(&millis) {
        return Err(DurationProblem::OutOfRange { text: quoted() });
    }
    Ok(millis)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn own_timestamps_are_utc_with_milliseconds() {
        assert_eq!(
            Timestamp::from_millis(0).as_str(),
            "1970-01-01T00:00:00.000Z"
        );
        assert_eq!(
            Timestamp::from_millis(1_771_113_600_007).as_str(),
            "2026-02-15T00:00:00.007Z"
        );
    }

    #[test]
    fn parsed_timestamp_keeps_its_text() {
        let theirs = Timestamp::parse("2026-02-15T08:00:00+08:00").unwrap();
        assert_eq!(theirs.as_str(), "2026-02-15T08:00:00+08:00");
        assert_eq!(theirs.millis(), Some(1_771_113_600_000));
        assert!(Timestamp::parse("yesterday").is_none());
    }

    #[test]
    fn durations_with_units_are_parsed() {
        assert_eq!(parse_duration("30m"), Ok(1_800_000));
        assert_eq!(parse_duration("1h30m"), Ok(5_400_000));
        assert_eq!(parse_duration("7d"), Ok(604_800_000));
        assert_eq!(parse_duration("1d12h"), Ok(129_600_000));
        for bad in ["", "0s", "-5m", "soon", "5", "999999999999d", "d", "367d"] {
            assert!(parse_duration(bad).is_err(), "{bad}");
        }
    }
}
