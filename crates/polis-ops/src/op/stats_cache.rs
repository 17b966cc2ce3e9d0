//! Incremental cache of the task statistics: the event log is folded once, and later calls fold only new events.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use polis_core::Event;
use polis_core::task::stats::Tally;

use super::task_stats::{StatsBy, TaskStats, periods};
use crate::error::OpError;
use crate::polis::Polis;
use crate::port::EventQuery;

const PAGE: u32 = 1_000;
/// Maximum number of periods cached per length; older ones are dropped.
const MOST_PERIODS: usize = 1_000;

/// Cached fold of the event log, for callers that request the statistics repeatedly, such as a dashboard.
#[derive(Debug, Default)]
pub struct StatsKeeper(Mutex<Folded>);

#[derive(Debug, Default)]
struct Folded {
    through: u64,
    total: Tally,
    hours: BTreeMap<i64, Tally>,
    days: BTreeMap<i64, Tally>,
    weeks: BTreeMap<i64, Tally>,
}

impl Folded {
    fn of(&mut self, by: StatsBy) -> &mut BTreeMap<i64, Tally> {
        match by {
            StatsBy::Hour => &mut self.hours,
            StatsBy::Day => &mut self.days,
            StatsBy::Week => &mut self.weeks,
        }
    }

    fn add(&mut self, event: &Event) {
        let at = event.at.millis().unwrap_or(0);
        self.total.add(event);
        for by in [StatsBy::Hour, StatsBy::Day, StatsBy::Week] {
            let periods = self.of(by);
            periods.entry(by.start_of(at)).or_default().add(event);
            if periods.len() > MOST_PERIODS {
                periods.pop_first();
            }
        }
        self.through = event.seq;
    }
}

impl StatsKeeper {
    fn folded(&self) -> MutexGuard<'_, Folded> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the total figures, and the figures by period if requested: the newest 1,000 periods with any activity.
    pub async fn figures(&self, polis: &Polis, by: Option<StatsBy>) -> Result<TaskStats, OpError> {
        loop {
            let after = self.folded().through;
            let query = EventQuery {
                after,
                limit: PAGE,
                ..EventQuery::default()
            };
            let events = polis.store.events(&query).await?;
            let mut folded = self.folded();
            // A concurrent call may have added them in the meantime.
            let new = events.iter().filter(|event| event.seq > after);
            if folded.through == after {
                new.for_each(|event| folded.add(event));
            }
            if events.len() < usize::try_from(PAGE).unwrap_or(usize::MAX) {
                let total = folded.total.figures();
                let periods = by.map(|by| periods(folded.of(by)));
                return Ok(TaskStats {
                    figures: total,
                    periods,
                });
            }
        }
    }
}
