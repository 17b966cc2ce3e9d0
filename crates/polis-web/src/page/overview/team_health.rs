//! Team health: task statistics (role match, conflicts, cross-role claims, invalid transitions, completed and
//! created tasks) as totals, and as charts by day or hour.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use polis_core::task::stats::{StatisticsPeriod, TaskStatistics};
use polis_i18n::msg;
use polis_ops::op::StatsPeriod;
use serde::Deserialize;

use super::sparkline;
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::html_fragment;
use crate::request::extract::QueryParams;
use crate::request::request_context::RequestContext;
use crate::state::WebState;

/// Number of periods in a chart.
const CHART_PERIODS: usize = 30;

#[derive(Debug, Default, Deserialize)]
pub(super) struct StatsPeriodQuery {
    #[serde(default)]
    by: String,
}

pub(super) async fn refresh_stats(
    State(state): State<Arc<WebState>>,
    context: RequestContext,
    QueryParams(query): QueryParams<StatsPeriodQuery>,
) -> Result<Response, PageError> {
    let period = match query.by.as_str() {
        "hour" => StatsPeriod::Hour,
        _ => StatsPeriod::Day,
    };
    Ok(html_fragment(render_stats(&state, &context, period).await?))
}

/// Renders the figures by day.
pub(super) async fn render_daily_stats(
    state: &WebState,
    context: &RequestContext,
) -> Result<Markup, PageError> {
    render_stats(state, context, StatsPeriod::Day).await
}

async fn render_stats(
    state: &WebState,
    context: &RequestContext,
    period: StatsPeriod,
) -> Result<Markup, PageError> {
    let stats = state
        .stats_cache
        .load_stats(&context.request.app, Some(period))
        .await;
    let stats = stats.or_page_error(context)?;
    let periods = stats.periods.unwrap_or_default();
    let recent = periods.get(periods.len().saturating_sub(CHART_PERIODS)..);
    let recent = recent.unwrap_or_default();
    let name = if period == StatsPeriod::Hour {
        "hour"
    } else {
        "day"
    };
    Ok(html! {
        // The selected period is read when the request is sent, so that a selection made in the meantime is
        // included.
        section #stats hx-get="/overview/stats" hx-trigger="polis:task from:body" hx-swap="morph:outerHTML"
            hx-include="#stats > input" hx-sync="this:queue last" hx-disinherit="hx-include hx-sync" {
            input type="hidden" name="by" value=(name);
            div.row {
                h2.grow { (msg::overview_team_health(context.lang())) }
                div.choice role="group" aria-label=(msg::overview_health_period(context.lang())) {
                    @for (one, text) in [("hour", msg::overview_health_hours(context.lang())), ("day", msg::overview_health_days(context.lang()))] {
                        button type="button" aria-pressed=(one == name) hx-get={ "/overview/stats?by=" (one) }
                            hx-target="#stats" hx-swap="morph:outerHTML" hx-sync="#stats:replace" { (text) }
                    }
                }
            }
            div.figures { (render_figures(context, &stats.figures, recent)) }
        }
    })
}

fn render_figures(
    context: &RequestContext,
    total: &TaskStatistics,
    periods: &[StatisticsPeriod],
) -> Markup {
    let rate = |label: &'static str,
                description: &'static str,
                value: Option<f64>,
                extract: fn(&TaskStatistics) -> Option<f64>| {
        let values: Vec<Option<f64>> = periods.iter().map(|p| extract(&p.figures)).collect();
        render_figure(
            label,
            description,
            &format_percent(value),
            &sparkline::render_line_chart(label, &values, 100.0),
        )
    };
    let count = |label: &'static str,
                 description: &'static str,
                 value: u64,
                 extract: fn(&TaskStatistics) -> u64| {
        let values: Vec<u64> = periods.iter().map(|p| extract(&p.figures)).collect();
        render_figure(
            label,
            description,
            &value.to_string(),
            &sparkline::render_bar_chart(label, &values),
        )
    };
    html! {
        (rate(
            msg::overview_health_role_match(context.lang()),
            msg::overview_health_role_match_explanation(context.lang()),
            total.role_match_rate, |f| f.role_match_rate,
        ))
        (rate(
            msg::overview_health_conflicts(context.lang()),
            msg::overview_health_conflicts_explanation(context.lang()),
            total.conflict_rate, |f| f.conflict_rate,
        ))
        (rate(
            msg::overview_health_cross_role(context.lang()),
            msg::overview_health_cross_role_explanation(context.lang()),
            total.cross_role_rate, |f| f.cross_role_rate,
        ))
        (count(
            msg::overview_health_invalid_transitions(context.lang()),
            msg::overview_health_invalid_transitions_explanation(context.lang()),
            total.invalid_transitions, |f| f.invalid_transitions,
        ))
        (count(
            msg::task_status_completed(context.lang()),
            msg::overview_health_completed_explanation(context.lang()),
            total.completed, |f| f.completed,
        ))
        (count(
            msg::overview_health_created(context.lang()),
            msg::overview_health_created_explanation(context.lang()),
            total.created, |f| f.created,
        ))
    }
}

fn render_figure(label: &str, description: &str, value: &str, chart: &Markup) -> Markup {
    html! {
        div.figure {
            span { (label) }
            b { (value) }
            span.muted.small { (description) }
            (chart)
        }
    }
}

fn format_percent(rate: Option<f64>) -> String {
    rate.map_or_else(|| "–".to_owned(), |rate| format!("{rate:.1}%"))
}
