//! Operation behind the `TaskStats` tool: computes the task statistics (role matches, version conflicts,
//! cross-role claims, invalid transitions, durations) from the event log, in total and optionally by hour,
//! day or week.
//!
//! Reads the whole log; [`TaskStatsCache`](crate::op::TaskStatsCache) keeps the figures for callers that need
//! them repeatedly.

use std::collections::BTreeMap;

use polis_core::Timestamp;
use polis_core::task::stats::{StatisticsCounter, StatisticsPeriod, TaskStatistics};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::port::EventLogQuery;
use crate::request::Request;

const PAGE_SIZE: u32 = 1_000;

/// Length of a period.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum StatsPeriod {
    /// An hour.
    Hour,
    /// A day (UTC).
    Day,
    /// A week, from Monday (UTC).
    Week,
}

impl StatsPeriod {
    fn duration_ms(self) -> i64 {
        match self {
            Self::Hour => 3_600_000,
            Self::Day => 86_400_000,
            Self::Week => 7 * 86_400_000,
        }
    }

    /// Returns the start of the period that contains `at`; weeks start on Monday.
    pub(crate) fn period_start(self, at: i64) -> i64 {
        // 1970-01-01 was a Thursday.
        let first = if self == Self::Week {
            4 * 86_400_000
        } else {
            0
        };
        (at - first).div_euclid(self.duration_ms()) * self.duration_ms() + first
    }
}

/// Parameters of `TaskStats`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct TaskStatsParams {
    /// Start time, inclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub since: Option<Timestamp>,
    /// End time, exclusive.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(extend("format" = "date-time"))]
    pub until: Option<Timestamp>,
    /// Also return figures for each period of this length.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub by: Option<StatsPeriod>,
}

/// Task statistics in total and by period.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct TaskStats {
    /// Total figures.
    #[serde(flatten)]
    pub figures: TaskStatistics,
    /// Figures by period, oldest first; omitted if not requested.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub periods: Option<Vec<StatisticsPeriod>>,
}

/// Computes the figures from the event log. Fails only if the store does.
pub async fn task_stats(request: &Request, query: &TaskStatsParams) -> Result<TaskStats, OpError> {
    let millis = |timestamp: &Option<Timestamp>| timestamp.as_ref().and_then(Timestamp::millis);
    let (since, until) = (millis(&query.since), millis(&query.until));
    let mut total = StatisticsCounter::default();
    let mut periods: BTreeMap<i64, StatisticsCounter> = BTreeMap::new();
    let mut page = EventLogQuery {
        after: 0,
        limit: PAGE_SIZE,
        ..EventLogQuery::default()
    };
    loop {
        let events = request.app.store.events(&page).await?;
        let Some(last) = events.last() else { break };
        page.after = last.seq;
        for event in &events {
            let at = event.at.unix_millis();
            if since.is_some_and(|since| at < since) || until.is_some_and(|until| at >= until) {
                continue;
            }
            total.add_event(event);
            if let Some(period) = query.by {
                periods
                    .entry(period.period_start(at))
                    .or_default()
                    .add_event(event);
            }
        }
    }
    let periods = query.by.map(|_| period_figures(&periods));
    Ok(TaskStats {
        figures: total.statistics(),
        periods,
    })
}

/// Returns the figures of periods, oldest first.
pub(crate) fn period_figures(tallies: &BTreeMap<i64, StatisticsCounter>) -> Vec<StatisticsPeriod> {
    let period = |(from, tally): (&i64, &StatisticsCounter)| StatisticsPeriod {
        from: Timestamp::from_millis(*from),
        figures: tally.statistics(),
    };
    tallies.iter().map(period).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn week_period_starts_on_monday() {
        let at = |text: &str| Timestamp::parse(text).and_then(|t| t.millis()).unwrap();
        let monday = at("2026-11-09T00:00:00Z");
        for day in ["2026-11-09T00:00:00Z", "2026-11-15T23:59:59.999Z"] {
            assert_eq!(StatsPeriod::Week.period_start(at(day)), monday);
        }
        assert_eq!(
            StatsPeriod::Day.period_start(at("2026-11-15T18:00:00Z")),
            at("2026-11-15T00:00:00Z")
        );
        assert_eq!(
            StatsPeriod::Hour.period_start(at("1969-12-31T23:30:00Z")),
            at("1969-12-31T23:00:00Z")
        );
    }
}
