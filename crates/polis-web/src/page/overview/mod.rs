//! Overview tab: the items that need the person's attention, running commands, current work, task statistics
//! and the latest events.
//!
//! `attention_cards` (with the form actions in `attention_actions`), `current_work` (agents and the tasks
//! they work on) and the latest events come from one operation, and are refreshed together on every event.
//! `running_commands` is polled while commands run, and `team_health` (task statistics, drawn by `sparkline`)
//! is refreshed on events of tasks.

mod attention_actions;
mod attention_cards;
mod current_work;
mod running_commands;
mod sparkline;
mod team_health;

use std::sync::Arc;

use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, html};
use polis_core::Event;
use polis_core::token::{AccessLevel, OperationArea};
use polis_i18n::msg;
use polis_ops::op::{self, OverviewParams, OverviewSnapshot};

use crate::component::timeline;
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::tab;
use crate::layout::{Tab, html_fragment, tab_page};
use crate::request::request_context::RequestContext;
use crate::route_table::{RouteAccess, WebRoute};
use crate::state::WebState;

/// Number of latest events shown.
const MAX_LATEST_EVENTS: usize = 8;

/// The areas that the overview shows.
const READ_OVERVIEW: RouteAccess = RouteAccess::Scoped(&tab::OVERVIEW_SCOPES);
const READ_TASKS: RouteAccess = RouteAccess::Scoped(&[(OperationArea::Tasks, AccessLevel::Read)]);
const READ_COMMANDS: RouteAccess =
    RouteAccess::Scoped(&[(OperationArea::Commands, AccessLevel::Read)]);
const READ_RUNS: RouteAccess = RouteAccess::Scoped(&[(OperationArea::Society, AccessLevel::Read)]);
const WRITE_TASKS: RouteAccess = RouteAccess::Scoped(&[(OperationArea::Tasks, AccessLevel::Write)]);
const WRITE_MESSAGES: RouteAccess =
    RouteAccess::Scoped(&[(OperationArea::Messages, AccessLevel::Write)]);
const WRITE_RUNS: RouteAccess =
    RouteAccess::Scoped(&[(OperationArea::Society, AccessLevel::Write)]);

pub(crate) fn overview_routes() -> Vec<WebRoute> {
    vec![
        // A session that may not see the overview is redirected to the first tab that it may see.
        WebRoute::get("/", RouteAccess::AnySession, show_overview),
        WebRoute::get("/overview/refresh", READ_OVERVIEW, refresh_overview),
        WebRoute::get(
            "/overview/commands",
            READ_COMMANDS,
            running_commands::refresh_running_commands,
        ),
        WebRoute::get("/overview/stats", READ_TASKS, team_health::refresh_stats),
        WebRoute::get(
            "/overview/approval",
            READ_RUNS,
            attention_cards::show_approval,
        ),
        WebRoute::post(
            "/overview/approvals",
            WRITE_RUNS,
            attention_actions::decide_approval,
        ),
        WebRoute::post(
            "/overview/resume",
            WRITE_RUNS,
            attention_actions::resume_member,
        ),
        WebRoute::post(
            "/overview/reply",
            WRITE_MESSAGES,
            attention_actions::reply_to_message,
        ),
        WebRoute::post(
            "/overview/dismiss",
            WRITE_MESSAGES,
            attention_actions::dismiss_message,
        ),
        WebRoute::post(
            "/overview/release",
            WRITE_TASKS,
            attention_actions::release_stale_task,
        ),
        WebRoute::post(
            "/overview/approve",
            WRITE_TASKS,
            attention_actions::approve_task,
        ),
    ]
}

async fn show_overview(
    State(state): State<Arc<WebState>>,
    context: RequestContext,
) -> Result<Response, PageError> {
    // A session with limited scopes is redirected to the first tab that it may see.
    let first = Tab::ALL
        .into_iter()
        .find(|one| tab::may_see_tab(*one, &context));
    if let Some(first) = first.filter(|tab| *tab != Tab::Overview) {
        return Ok(Redirect::to(tab::tab_url(first)).into_response());
    }
    let now = load_overview(&context).await?;
    let figures = team_health::render_daily_stats(&state, &context).await?;
    let commands = running_commands::render_running_commands(&context).await?;
    let title = msg::common_tab_overview(context.lang());
    let body = html! {
        (attention_cards::render_attention_section(&context, &now.attention))
        (commands)
        (render_current_work(&context, &now))
        (figures)
        (render_latest_events(&context, &now.events, None))
    };
    Ok(tab_page(
        &context,
        Tab::Overview,
        title,
        "event,task",
        &body,
    ))
}

/// Returns current work, items that need attention and latest events in one response, because they come from
/// one operation.
async fn refresh_overview(context: RequestContext) -> Result<Response, PageError> {
    let now = load_overview(&context).await?;
    Ok(html_fragment(html! {
        (render_current_work(&context, &now))
        (attention_cards::render_attention_swap(&context, &now.attention))
        (render_latest_events(&context, &now.events, Some("morph")))
    }))
}

async fn load_overview(context: &RequestContext) -> Result<OverviewSnapshot, PageError> {
    // The overview is also part of the responses to its actions, whose routes declare only the action's scope.
    for (area, level) in tab::OVERVIEW_SCOPES {
        context.check_access(area, level)?;
    }
    let result = op::load_overview(&context.request, &OverviewParams {}).await;
    let mut now = result.or_page_error(context)?;
    // Removes what the session may not see; `attention_cards` omits the actions that it may not perform.
    if !context.may_access(OperationArea::Society, AccessLevel::Read) {
        now.attention.approvals.clear();
        now.attention.blocked_members.clear();
    }
    if !context.may_access(OperationArea::Messages, AccessLevel::Read) {
        now.attention.questions.clear();
    }
    Ok(now)
}

/// Renders the agents and the tasks in progress.
fn render_current_work(context: &RequestContext, now: &OverviewSnapshot) -> Markup {
    html! {
        div #moving hx-get="/overview/refresh" hx-trigger="polis:event from:body, every 60s" hx-swap="morph:outerHTML" {
            (current_work::render_counts(context, &now.counts))
            div.split {
                (current_work::render_active_tasks(context, now))
                (current_work::render_agents(context, now))
            }
        }
    }
}

/// Renders the latest events. If they accompany another fragment, the last parameter is the out-of-band swap
/// mode (without a part after a colon, which htmx would interpret as a selector there).
fn render_latest_events(
    context: &RequestContext,
    events: &[Event],
    out_of_band: Option<&str>,
) -> Markup {
    html! {
        section.card #last aria-labelledby="last-title" hx-swap-oob=[out_of_band] {
            h2 #last-title { (msg::overview_latest_events(context.lang())) a.small href="/events" { (msg::overview_view_all(context.lang())) } }
            @if events.is_empty() {
                p.muted { (msg::event_none(context.lang())) }
            }
            ol.timeline { @for event in events.iter().take(MAX_LATEST_EVENTS) { (timeline::render_event_row(context, event)) } }
        }
    }
}
