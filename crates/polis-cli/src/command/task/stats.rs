//! `polis task stats`: prints statistics of the task board.

use clap::{Args, ValueEnum};
use polis_core::Timestamp;
use polis_core::task::stats::Figures;
use polis_ops::op::{self, StatsBy, StatsQuery};

use super::super::duration;
use crate::context::Context;
use crate::error::{Failure, invalid};
use crate::output::{Output, Table};

/// The success figures, from the commit log: exact, over all or by period.
#[derive(Debug, Args)]
pub(crate) struct Stats {
    /// Only from here on: a time such as 2026-02-15T00:00:00Z, or how long ago, such as 7d
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only before this
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Also by period
    #[arg(long)]
    by: Option<By>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum By {
    Hour,
    Day,
    Week,
}

impl Stats {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let now = context.polis.clock.now_millis();
        let day = |text: &str| Timestamp::parse(&format!("{text}T00:00:00Z"));
        let parsed = |text: &str| Timestamp::parse(text).or_else(|| day(text));
        let moment = |text: &str| match parsed(text).and_then(|t| t.millis()) {
            Some(at) => Ok(Timestamp::from_millis(at)),
            None => duration(text)
                .map(|ago| Timestamp::from_millis(now.saturating_sub_unsigned(ago)))
                .map_err(|_| {
                    invalid(
                        format!("{text:?} is no time."),
                        "write 2026-02-15T00:00:00Z, or 7d for a week ago",
                    )
                }),
        };
        let query = StatsQuery {
            since: self.since.as_deref().map(moment).transpose()?,
            until: self.until.as_deref().map(moment).transpose()?,
            by: self.by.map(|by| match by {
                By::Hour => StatsBy::Hour,
                By::Day => StatsBy::Day,
                By::Week => StatsBy::Week,
            }),
        };
        let stats = context.run(op::task_stats(&context.polis, &query))?;
        out.answer(&stats, |s| {
            let mut text = figures(&s.figures);
            if let Some(periods) = &s.periods {
                let mut table = Table::new(&[
                    "FROM",
                    "CREATED",
                    "COMPLETED",
                    "MATCH",
                    "CROSS",
                    "CONFLICT",
                    "INVALID",
                ]);
                for p in periods {
                    let f = &p.figures;
                    table.row([
                        p.from.to_string(),
                        f.created.to_string(),
                        f.completed.to_string(),
                        percent(f.role_match_rate),
                        percent(f.cross_role_rate),
                        percent(f.conflict_rate),
                        f.invalid_transitions.to_string(),
                    ]);
                }
                text.push_str(&format!("\n{}", table.render(out)));
            }
            text
        })
    }
}

fn percent(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}%"))
}

fn figures(f: &Figures) -> String {
    let mut text = format!(
        "Role match            {:>8}   (target > 95%)  {} of {} assigned tasks\n\
         Version conflicts     {:>8}   (target < 5%)   {} of {} updates\n\
         Cross-role claims     {:>8}   (target < 5%)   {} of {} assigned tasks\n\
         Invalid transitions   {:>8}   (target 0)\n\
         Created {}, completed {}, deleted {}\n",
        percent(f.role_match_rate),
        f.matched,
        f.assigned,
        percent(f.conflict_rate),
        f.version_conflicts,
        f.updates + f.refused,
        percent(f.cross_role_rate),
        f.cross_role,
        f.assigned,
        f.invalid_transitions,
        f.created,
        f.completed,
        f.deleted,
    );
    if let Some(mean) = f.average_duration_ms {
        text.push_str(&format!(
            "Average time to complete: {:.1} s\n",
            mean / 1_000.0
        ));
    }
    for (name, mean) in &f.average_duration_ms_by_type {
        text.push_str(&format!("  {name}: {:.1} s\n", mean / 1_000.0));
    }
    text
}
