//! Overview tab: current work, the items that need a person's attention, and statistics.
//!
//! Each part is refreshed by itself on the events that concern it: `people` (agents and the tasks they work on),
//! `commands`, `waiting` (with the form actions in `act`), `figures`, and the latest events.

mod approval_actions;
mod chart;
mod commands;
mod figures;
mod people;
mod waiting;

use std::sync::Arc;

use axum::Router;
use axum::extract::State;
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::{get, post};
use maud::{Markup, html};
use polis_core::Event;
use polis_core::token::{Access, Area};
use polis_ops::op::{self, LookAround, Now};

use crate::error_page::{OrRefuse as _, Refused};
use crate::layout::{Tab, page, part};
use crate::request_context::Visit;
use crate::state::House;
use crate::tab;
use crate::timeline;

/// Number of latest events shown.
const EVENTS: usize = 8;

pub(crate) fn routes() -> Router<Arc<House>> {
    Router::new()
        .route("/", get(show))
        .route("/now/look", get(refresh))
        .route("/now/commands", get(commands::refresh))
        .route("/now/figures", get(figures::refresh))
        .route("/now/approvals", post(approval_actions::decide))
        .route("/now/approval", get(waiting::approval))
        .route("/now/resume", post(approval_actions::resume))
        .route("/now/answer", post(approval_actions::answer))
        .route("/now/aside", post(approval_actions::aside))
        .route("/now/release", post(approval_actions::release))
        .route("/now/approve", post(approval_actions::approve))
}

async fn show(State(house): State<Arc<House>>, visit: Visit) -> Result<Response, Refused> {
    // A session with limited scopes is redirected to the first tab that it may see.
    let first = Tab::ALL
        .into_iter()
        .find(|one| tab::is_open_to(*one, &visit));
    if let Some(first) = first.filter(|tab| *tab != Tab::Now) {
        return Ok(Redirect::to(tab::path(first)).into_response());
    }
    let now = look(&visit).await?;
    let figures = figures::section(&house, &visit).await?;
    let commands = commands::section(&visit).await?;
    let title = visit.say("Now", "此刻");
    let body = html! {
        (waiting::section(&visit, &now.waiting))
        (commands)
        (moving(&visit, &now))
        (figures)
        (last(&visit, &now.events, None))
    };
    Ok(page(&visit, Tab::Now, title, "event,task", &body))
}

/// Returns current work, pending items and latest events in one response, because they come from one operation.
async fn refresh(visit: Visit) -> Result<Response, Refused> {
    let now = look(&visit).await?;
    Ok(part(html! {
        (moving(&visit, &now))
        (waiting::beside(&visit, &now.waiting))
        (last(&visit, &now.events, Some("morph")))
    }))
}

async fn look(visit: &Visit) -> Result<Now, Refused> {
    for area in tab::NOW {
        visit.check(area, Access::Read)?;
    }
    let looked = op::look_around(&visit.polis, &visit.me, &LookAround {}).await;
    let mut now = looked.or_refuse(visit)?;
    // Removes what the session may not see; actions that it may not perform are not offered by `waiting`.
    if !visit.allows(Area::Society, Access::Read) {
        now.waiting.approvals.clear();
        now.waiting.held.clear();
    }
    if !visit.allows(Area::Messages, Access::Read) {
        now.waiting.questions.clear();
    }
    Ok(now)
}

/// Renders the agents and the tasks in progress.
fn moving(visit: &Visit, now: &Now) -> Markup {
    html! {
        div #moving hx-get="/now/look" hx-trigger="polis:event from:body, every 60s" hx-swap="morph:outerHTML" {
            (people::counts(visit, &now.counts))
            div.split {
                (people::tasks(visit, now))
                (people::agents(visit, now))
            }
        }
    }
}

/// Renders the latest events; `beside` is the out-of-band swap mode if it accompanies another fragment (without a part
/// after a colon, which htmx would interpret as a selector there).
fn last(visit: &Visit, events: &[Event], beside: Option<&str>) -> Markup {
    html! {
        section.card #last aria-labelledby="last-title" hx-swap-oob=[beside] {
            h2 #last-title { (visit.say("Last events", "最近事件")) a.small href="/events" { (visit.say("all", "全部")) } }
            @if events.is_empty() {
                p.muted { (visit.say("Nothing has happened yet.", "还没有发生任何事。")) }
            }
            ol.timeline { @for event in events.iter().take(EVENTS) { (timeline::line(visit, event)) } }
        }
    }
}
