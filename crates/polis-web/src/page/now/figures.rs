//! Task statistics (the success figures of document 004, §9): totals, and charts by day or hour.

use std::sync::Arc;

use axum::extract::State;
use axum::response::Response;
use maud::{Markup, html};
use polis_core::task::stats::{Figures, Period};
use polis_core::token::{Access, Area};
use polis_ops::op::StatsBy;
use serde::Deserialize;

use super::chart;
use crate::error_page::{OrRefuse as _, Refused};
use crate::extract::Query;
use crate::layout::part;
use crate::request_context::Visit;
use crate::state::House;

/// Number of periods in a chart.
const SHOWN: usize = 30;

#[derive(Debug, Default, Deserialize)]
pub(super) struct Asked {
    #[serde(default)]
    by: String,
}

pub(super) async fn refresh(
    State(house): State<Arc<House>>,
    visit: Visit,
    Query(asked): Query<Asked>,
) -> Result<Response, Refused> {
    visit.check(Area::Tasks, Access::Read)?;
    let by = match asked.by.as_str() {
        "hour" => StatsBy::Hour,
        _ => StatsBy::Day,
    };
    Ok(part(drawn(&house, &visit, by).await?))
}

/// Renders the figures by day.
pub(super) async fn section(house: &House, visit: &Visit) -> Result<Markup, Refused> {
    drawn(house, visit, StatsBy::Day).await
}

async fn drawn(house: &House, visit: &Visit, by: StatsBy) -> Result<Markup, Refused> {
    let stats = house.stats.figures(&visit.polis, Some(by)).await;
    let stats = stats.or_refuse(visit)?;
    let periods = stats.periods.unwrap_or_default();
    let recent = periods.get(periods.len().saturating_sub(SHOWN)..);
    let recent = recent.unwrap_or_default();
    let name = if by == StatsBy::Hour { "hour" } else { "day" };
    Ok(html! {
        // The selected period is read when the request is sent, so that a selection made in the meantime is included.
        section #figures hx-get="/now/figures" hx-trigger="polis:task from:body" hx-swap="morph:outerHTML"
            hx-include="#figures > input" hx-sync="this:queue last" hx-disinherit="hx-include hx-sync" {
            input type="hidden" name="by" value=(name);
            div.row {
                h2.grow { (visit.say("How well it goes", "成效指标")) }
                div.choice role="group" aria-label=(visit.say("Period", "时间段")) {
                    @for (one, text) in [("hour", visit.say("Hours", "按小时")), ("day", visit.say("Days", "按天"))] {
                        button type="button" aria-pressed=(one == name) hx-get={ "/now/figures?by=" (one) }
                            hx-target="#figures" hx-swap="morph:outerHTML" hx-sync="#figures:replace" { (text) }
                    }
                }
            }
            div.figures { (all(visit, &stats.figures, recent)) }
        }
    })
}

fn all(visit: &Visit, total: &Figures, periods: &[Period]) -> Markup {
    let rate = |label: &'static str,
                about: &'static str,
                value: Option<f64>,
                of: fn(&Figures) -> Option<f64>| {
        let values: Vec<Option<f64>> = periods.iter().map(|p| of(&p.figures)).collect();
        figure(
            label,
            about,
            &percent(value),
            &chart::line(label, &values, 100.0),
        )
    };
    let count = |label: &'static str, about: &'static str, value: u64, of: fn(&Figures) -> u64| {
        let values: Vec<u64> = periods.iter().map(|p| of(&p.figures)).collect();
        figure(
            label,
            about,
            &value.to_string(),
            &chart::bars(label, &values),
        )
    };
    html! {
        (rate(
            visit.say("Role match", "角色匹配率"),
            visit.say("assigned to the required role", "分配给所需角色的任务"),
            total.role_match_rate, |f| f.role_match_rate,
        ))
        (rate(
            visit.say("Conflicts", "冲突率"),
            visit.say("updates refused for a newer version", "因版本冲突被拒绝的更新"),
            total.conflict_rate, |f| f.conflict_rate,
        ))
        (rate(
            visit.say("Cross-role claims", "跨角色认领率"),
            visit.say("assigned to another role", "分配给其他角色的任务"),
            total.cross_role_rate, |f| f.cross_role_rate,
        ))
        (count(
            visit.say("Invalid transitions", "非法状态流转"),
            visit.say("steps the rules do not have", "规则不允许的步骤"),
            total.invalid_transitions, |f| f.invalid_transitions,
        ))
        (count(
            visit.say("Completed", "已完成"),
            visit.say("tasks brought to their end", "做完的任务"),
            total.completed, |f| f.completed,
        ))
        (count(
            visit.say("Created", "已创建"),
            visit.say("tasks taken on", "新建的任务"),
            total.created, |f| f.created,
        ))
    }
}

fn figure(label: &str, about: &str, value: &str, chart: &Markup) -> Markup {
    html! {
        div.figure {
            span { (label) }
            b { (value) }
            span.muted.small { (about) }
            (chart)
        }
    }
}

fn percent(rate: Option<f64>) -> String {
    rate.map_or_else(|| "–".to_owned(), |rate| format!("{rate:.1}%"))
}
