//! Agents: the tree of the registry, the runs of the society, an agent's page with its conversation and
//! letters, and what a person can do with either.
//!
//! `tree` is the overview, `run` a run with its members, `show` somebody's page with `chat` and `mail` as its
//! parts, `act` the deeds, each of which that cannot be undone asks once more.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use maud::{Markup, html};
use polis_core::society::member::MemberStatus;
use polis_core::society::run::RunStatus;
use polis_core::token::Area;
use polis_core::{AgentId, AgentStatus, RunId};
use polis_view::words;

use crate::house::House;
use crate::visit::Visit;

mod act;
mod chat;
mod mail;
mod run;
mod show;
mod tree;

pub(crate) fn routes() -> Router<Arc<House>> {
    Router::new()
        .route("/agents", get(tree::show))
        .route("/agents/tree", get(tree::refresh))
        .route("/agents/runs/{run}", get(run::show))
        .route("/agents/runs/{run}/members", get(run::refresh))
        .route("/agents/runs/{run}/hold", post(act::hold_run))
        .route(
            "/agents/runs/{run}/stop",
            get(act::ask_stop).post(act::stop),
        )
        .route("/agents/runs/{run}/of/{id}", get(show::member))
        .route(
            "/agents/runs/{run}/of/{id}/standing",
            get(show::refresh_member),
        )
        .route("/agents/runs/{run}/of/{id}/chat", get(chat::refresh))
        .route("/agents/runs/{run}/of/{id}/mail", get(mail::of_member))
        .route("/agents/runs/{run}/of/{id}/say", post(mail::say_to_member))
        .route("/agents/runs/{run}/of/{id}/hold", post(act::hold_member))
        .route(
            "/agents/runs/{run}/of/{id}/terminate",
            get(act::ask_terminate).post(act::terminate),
        )
        .route("/agents/letters/{number}", get(mail::alone))
        .route("/agents/{id}", get(show::agent))
        .route("/agents/{id}/standing", get(show::refresh))
        .route("/agents/{id}/mail", get(mail::of_agent))
        .route("/agents/{id}/say", post(mail::say_to_agent))
        .route(
            "/agents/{id}/retire",
            get(act::ask_retire).post(act::retire),
        )
}

/// What a session has to be good for to hold up, end or dismiss somebody of a run.
const DEEDS: [Area; 2] = [Area::Agents, Area::Society];

/// The address of a member of a run.
fn member_at(run: &RunId, id: &AgentId) -> String {
    format!("/agents/runs/{run}/of/{id}")
}

/// How a member of a run stands.
fn member_pill(visit: &Visit, status: MemberStatus) -> Markup {
    html! { span class={ "pill status-" (status.as_str()) } { (words::member(status, visit.lang())) } }
}

/// Whether a registered agent may act.
fn agent_pill(visit: &Visit, status: AgentStatus) -> Markup {
    let class = match status {
        AgentStatus::Active => "pill",
        AgentStatus::Retired => "pill status-retired",
    };
    html! { span class=(class) { (words::agent_status(status, visit.lang())) } }
}

/// Whether a run goes on.
fn run_pill(visit: &Visit, status: RunStatus) -> Markup {
    html! { span class={ "pill status-" (status.as_str()) } { (words::run(status, visit.lang())) } }
}
