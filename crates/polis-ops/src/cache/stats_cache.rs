//! Cache of the task statistics for the web page and the terminal UI: the event log is folded once per process,
//! and later calls fold only new events. At most 1,000 periods of each length are kept.
//!
//! The `TaskStats` tool does not use it; it reads the whole log (`task_stats`).

use std::collections::BTreeMap;

use parking_lot::Mutex;
use polis_core::Event;
use polis_core::number::saturating_cast;
use polis_core::task::stats::StatisticsCounter;

use crate::app::App;
use crate::error::OpError;
use crate::op::task::task_stats::{StatsPeriod, TaskStats, period_figures};
use crate::port::EventLogQuery;

const PAGE_SIZE: u32 = 1_000;
/// Maximum number of periods cached per length; older ones are dropped.
const MAX_PERIODS: usize = 1_000;

/// Cached fold of the event log, for callers that request the statistics repeatedly, such as the overview.
#[derive(Debug, Default)]
pub struct TaskStatsCache(Mutex<StatsFold>);

#[derive(Debug, Default)]
struct StatsFold {
    last_seq: u64,
    total: StatisticsCounter,
    hours: BTreeMap<i64, StatisticsCounter>,
    days: BTreeMap<i64, StatisticsCounter>,
    weeks: BTreeMap<i64, StatisticsCounter>,
}

impl StatsFold {
    fn periods_mut(&mut self, period: StatsPeriod) -> &mut BTreeMap<i64, StatisticsCounter> {
        match period {
            StatsPeriod::Hour => &mut self.hours,
            StatsPeriod::Day => &mut self.days,
            StatsPeriod::Week => &mut self.weeks,
        }
    }

    fn add_event(&mut self, event: &Event) {
        let at = event.at.unix_millis();
        self.total.add_event(event);
        for period in [StatsPeriod::Hour, StatsPeriod::Day, StatsPeriod::Week] {
            let periods = self.periods_mut(period);
            periods
                .entry(period.period_start(at))
                .or_default()
                .add_event(event);
            if periods.len() > MAX_PERIODS {
                periods.pop_first();
            }
        }
        self.last_seq = event.seq;
    }
}

impl TaskStatsCache {
    /// Returns the total figures, and the figures by period if requested: the newest 1,000 periods with any
    /// activity. Fails only if the store does.
    pub async fn load_stats(
        &self,
        app: &App,
        period: Option<StatsPeriod>,
    ) -> Result<TaskStats, OpError> {
        loop {
            let after = self.0.lock().last_seq;
            let query = EventLogQuery {
                after,
                limit: PAGE_SIZE,
                ..EventLogQuery::default()
            };
            let events = app.store.events(&query).await?;
            let mut fold = self.0.lock();
            // A concurrent call may have added them in the meantime.
            let new = events.iter().filter(|event| event.seq > after);
            if fold.last_seq == after {
                new.for_each(|event| fold.add_event(event));
            }
            if events.len() < saturating_cast::<usize>(PAGE_SIZE) {
                let total = fold.total.statistics();
                let periods = period.map(|period| period_figures(fold.periods_mut(period)));
                return Ok(TaskStats {
                    figures: total,
                    periods,
                });
            }
        }
    }
}
