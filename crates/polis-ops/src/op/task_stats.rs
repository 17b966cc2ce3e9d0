//! Operation that computes the task statistics (success figures) from the event log, optionally by hour, day or week.

use std::collections::BTreeMap;

use polis_core::Timestamp;
use polis_core::task::stats::{Figures, Period, Tally};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::polis::Polis;
use crate::port::EventQuery;

const PAGE: u32 = 1_000;

/// How long a period is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StatsBy {
    /// An hour.
    Hour,
    /// A day (UTC).
    Day,
    /// A week, from Monday (UTC).
    Week,
}

impl StatsBy {
    fn millis(self) -> i64 {
        match self {
            Self::Hour => 3_600_000,
            Self::Day => 86_400_000,
            Self::Week => 7 * 86_400_000,
        }
    }

    /// Returns the start of the period that contains `at`; weeks start on Monday.
    pub(super) fn start_of(self, at: i64) -> i64 {
        // 1970-01-01 was a Thursday.
        let first = if self == Self::Week {
            4 * 86_400_000
        } else {
            0
        };
        (at - first).div_euclid(self.millis()) * self.millis() + first
    }
}

/// Which figures.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct StatsQuery {
    /// From this moment on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub since: Option<Timestamp>,
    /// Before this moment.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub until: Option<Timestamp>,
    /// Also by period.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<StatsBy>,
}

/// The figures, over all and by period.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TaskStats {
    /// Over all.
    #[serde(flatten)]
    pub figures: Figures,
    /// By period, oldest first; left out if not asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub periods: Option<Vec<Period>>,
}

/// Computes the figures from the event log.
pub async fn task_stats(polis: &Polis, query: &StatsQuery) -> Result<TaskStats, OpError> {
    let moment = |of: &Option<Timestamp>| of.as_ref().and_then(Timestamp::millis);
    let (since, until) = (moment(&query.since), moment(&query.until));
    let mut total = Tally::default();
    let mut periods: BTreeMap<i64, Tally> = BTreeMap::new();
    let mut page = EventQuery {
        after: 0,
        limit: PAGE,
        ..EventQuery::default()
    };
    loop {
        let events = polis.store.events(&page).await?;
        let Some(last) = events.last() else { break };
        page.after = last.seq;
        for event in &events {
            let at = event.at.millis().unwrap_or(0);
            if since.is_some_and(|since| at < since) || until.is_some_and(|until| at >= until) {
                continue;
            }
            total.add(event);
            if let Some(by) = query.by {
                periods.entry(by.start_of(at)).or_default().add(event);
            }
        }
    }
    let periods = query.by.map(|_| self::periods(&periods));
    Ok(TaskStats {
        figures: total.figures(),
        periods,
    })
}

/// Returns the figures of periods, oldest first.
pub(super) fn periods(tallies: &BTreeMap<i64, Tally>) -> Vec<Period> {
    let period = |(from, tally): (&i64, &Tally)| Period {
        from: Timestamp::from_millis(*from),
        figures: tally.figures(),
    };
    tallies.iter().map(period).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weeks_begin_on_monday() {
        let at = |text: &str| Timestamp::parse(text).and_then(|t| t.millis()).unwrap();
        let monday = at("2026-11-09T00:00:00Z");
        for day in ["2026-11-09T00:00:00Z", "2026-11-15T23:59:59.999Z"] {
            assert_eq!(StatsBy::Week.start_of(at(day)), monday);
        }
        assert_eq!(
            StatsBy::Day.start_of(at("2026-11-15T18:00:00Z")),
            at("2026-11-15T00:00:00Z")
        );
        assert_eq!(
            StatsBy::Hour.start_of(at("1969-12-31T23:30:00Z")),
            at("1969-12-31T23:00:00Z")
        );
    }
}
