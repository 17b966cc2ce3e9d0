//! `polis task stats`: prints the task statistics (role matches, version conflicts, cross-role claims,
//! invalid transitions) that `op::task_stats` computes from the event log.

use clap::{Args, ValueEnum};
use polis_core::Timestamp;
use polis_core::task::stats::TaskStatistics;
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{self, StatsPeriod, TaskStatsParams};
use polis_view::display_width::pad_to_width;

use super::super::parse_duration_arg;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, TextTable};
use crate::refusal_tables::CommandRefusal;

/// Print success metrics, computed from the event log, in total or by period.
#[derive(Debug, Args)]
pub(crate) struct TaskStatsArgs {
    /// Only from this time on: a time such as 2026-02-15T00:00:00Z, or how long ago, such as 7d
    #[arg(long, value_name = "WHEN")]
    since: Option<String>,
    /// Only before this time
    #[arg(long, value_name = "WHEN")]
    until: Option<String>,
    /// Also print each period
    #[arg(long)]
    by: Option<StatsPeriodArg>,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum StatsPeriodArg {
    Hour,
    Day,
    Week,
}

impl TaskStatsArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let now = context.app.clock.now_millis();
        let day = |text: &str| Timestamp::parse(&format!("{text}T00:00:00Z"));
        let parsed = |text: &str| Timestamp::parse(text).or_else(|| day(text));
        let moment = |text: &str| match parsed(text).and_then(|t| t.millis()) {
            Some(at) => Ok(Timestamp::from_millis(at)),
            None => parse_duration_arg(text)
                .map(|ago| Timestamp::from_millis(now.saturating_sub_unsigned(ago)))
                .map_err(|_| {
                    CliError::from(CommandRefusal::NotATime {
                        text: format!("{text:?}"),
                    })
                }),
        };
        let query = TaskStatsParams {
            since: self.since.as_deref().map(moment).transpose()?,
            until: self.until.as_deref().map(moment).transpose()?,
            by: self.by.map(|period| match period {
                StatsPeriodArg::Hour => StatsPeriod::Hour,
                StatsPeriodArg::Day => StatsPeriod::Day,
                StatsPeriodArg::Week => StatsPeriod::Week,
            }),
        };
        let stats = context.block_on(op::task_stats(&context.request(), &query))?;
        let lang = out.lang();
        out.print_result(&stats, |s| {
            let mut text = render_figures(&s.figures, lang);
            if let Some(periods) = &s.periods {
                let mut table = TextTable::new(&[
                    msg::cli_task_stats_column_from(lang),
                    msg::cli_task_stats_column_created(lang),
                    msg::cli_task_stats_column_completed(lang),
                    msg::cli_task_stats_column_match(lang),
                    msg::cli_task_stats_column_cross(lang),
                    msg::cli_task_stats_column_conflict(lang),
                    msg::cli_task_stats_column_invalid(lang),
                ]);
                for p in periods {
                    let f = &p.figures;
                    table.push_row([
                        p.from.to_string(),
                        f.created.to_string(),
                        f.completed.to_string(),
                        format_percent(f.role_match_rate),
                        format_percent(f.cross_role_rate),
                        format_percent(f.conflict_rate),
                        f.invalid_transitions.to_string(),
                    ]);
                }
                text.push_str(&format!("\n{}", table.render(out)));
            }
            text
        })
    }
}

fn format_percent(rate: Option<f64>) -> String {
    rate.map_or_else(|| "-".to_owned(), |rate| format!("{rate:.1}%"))
}

fn render_figures(f: &TaskStatistics, lang: UiLanguage) -> String {
    let of_assigned = |count| msg::cli_task_stats_of_assigned(lang, count, f.assigned);
    let of_updates =
        msg::cli_task_stats_of_updates(lang, f.version_conflicts, f.updates + f.refused);
    let lines = [
        (
            msg::overview_health_role_match(lang),
            format_percent(f.role_match_rate),
            "> 95%",
            of_assigned(f.matched),
        ),
        (
            msg::cli_task_stats_version_conflicts(lang),
            format_percent(f.conflict_rate),
            "< 5%",
            of_updates,
        ),
        (
            msg::overview_health_cross_role(lang),
            format_percent(f.cross_role_rate),
            "< 5%",
            of_assigned(f.cross_role),
        ),
        (
            msg::overview_health_invalid_transitions(lang),
            f.invalid_transitions.to_string(),
            "0",
            String::new(),
        ),
    ];
    let mut text = String::new();
    for (label, figure, target, explanation) in lines {
        let label = pad_to_width(label, 22);
        let target = pad_to_width(&msg::cli_task_stats_target(lang, target), 16);
        let line = format!("{label}{figure:>8}   {target}{explanation}");
        text.push_str(line.trim_end());
        text.push('\n');
    }
    text.push_str(&msg::cli_task_stats_counts(
        lang,
        f.created,
        f.completed,
        f.deleted,
    ));
    text.push('\n');
    let seconds = |mean: f64| format!("{:.1}", mean / 1_000.0);
    if let Some(mean) = f.average_duration_ms {
        text.push_str(&msg::cli_task_stats_average_time(lang, seconds(mean)));
        text.push('\n');
    }
    for (name, mean) in &f.average_duration_ms_by_type {
        let line = msg::cli_task_stats_average_time_of_type(lang, name, seconds(*mean));
        text.push_str(&format!("  {line}\n"));
    }
    text
}
