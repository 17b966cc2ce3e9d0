//! Agents tab: the tree of the registry, the runs of the society, the page of an agent with its conversation and
//! messages, and the actions on agents and runs.
//!
//! `tree` is the overview, `run` a run with its members, `show` the page of an agent with `chat` and `mail` as its
//! parts, and `act` contains the form actions, with a confirmation page for each irreversible one.

use std::sync::Arc;

use axum::Router;
use axum::routing::{get, post};
use maud::{Markup, html};
use polis_core::society::member::MemberStatus;
use polis_core::society::run::RunStatus;
use polis_core::token::Area;
use polis_core::{AgentId, AgentStatus, RunId};
use polis_view::labels;

use crate::request_context::Visit;
use crate::state::House;

mod conversation;
mod messages;
mod run;
mod run_actions;
mod show;
mod tree;

pub(crate) fn routes() -> Router<Arc<House>> {
    Router::new()
        .route("/agents", get(tree::show))
        .route("/agents/tree", get(tree::refresh))
        .route("/agents/runs/{run}", get(run::show))
        .route("/agents/runs/{run}/members", get(run::refresh))
        .route("/agents/runs/{run}/hold", post(run_actions::hold_run))
        .route(
            "/agents/runs/{run}/stop",
            get(run_actions::ask_stop).post(run_actions::stop),
        )
        .route("/agents/runs/{run}/of/{id}", get(show::member))
        .route(
            "/agents/runs/{run}/of/{id}/standing",
            get(show::refresh_member),
        )
        .route(
            "/agents/runs/{run}/of/{id}/chat",
            get(conversation::refresh),
        )
        .route("/agents/runs/{run}/of/{id}/mail", get(messages::of_member))
        .route(
            "/agents/runs/{run}/of/{id}/say",
            post(messages::say_to_member),
        )
        .route(
            "/agents/runs/{run}/of/{id}/hold",
            post(run_actions::hold_member),
        )
        .route(
            "/agents/runs/{run}/of/{id}/terminate",
            get(run_actions::ask_terminate).post(run_actions::terminate),
        )
        .route("/agents/letters/{number}", get(messages::alone))
        .route("/agents/{id}", get(show::agent))
        .route("/agents/{id}/standing", get(show::refresh))
        .route("/agents/{id}/mail", get(messages::of_agent))
        .route("/agents/{id}/say", post(messages::say_to_agent))
        .route(
            "/agents/{id}/retire",
            get(run_actions::ask_retire).post(run_actions::retire),
        )
}

/// Areas in which a session needs write access to pause, stop or dismiss a member or a run.
const DEEDS: [Area; 2] = [Area::Agents, Area::Society];

/// Returns the URL of a member of a run.
fn member_at(run: &RunId, id: &AgentId) -> String {
    format!("/agents/runs/{run}/of/{id}")
}

/// Renders the status of a member of a run.
fn member_pill(visit: &Visit, status: MemberStatus) -> Markup {
    html! { span class={ "pill status-" (status.as_str()) } { (labels::member(status, visit.lang())) } }
}

/// Renders the status of a registered agent.
fn agent_pill(visit: &Visit, status: AgentStatus) -> Markup {
    let class = match status {
        AgentStatus::Active => "pill",
        AgentStatus::Retired => "pill status-retired",
    };
    html! { span class=(class) { (labels::agent_status(status, visit.lang())) } }
}

/// Renders the status of a run.
fn run_pill(visit: &Visit, status: RunStatus) -> Markup {
    html! { span class={ "pill status-" (status.as_str()) } { (labels::run(status, visit.lang())) } }
}
