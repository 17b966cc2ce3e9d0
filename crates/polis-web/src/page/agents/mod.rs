//! Agents tab: the tree of the registry, the runs of the society, the page of an agent with its conversation
//! and messages, and the actions on agents and runs.
//!
//! `agent_overview` lists agents and runs, `run_page` shows a run with its members, and `agent_page` shows an
//! agent, with `conversation` and `messages` as its parts. `agent_actions` contains the form actions, with a
//! confirmation page for each irreversible one.

use maud::{Markup, html};
use polis_core::society::member::MemberStatus;
use polis_core::society::run::RunStatus;
use polis_core::token::{AccessLevel, OperationArea};
use polis_core::{AgentId, AgentStatus, RunId};
use polis_view::labels;

use crate::request::request_context::RequestContext;
use crate::route_table::{RouteAccess, WebRoute};

mod agent_actions;
mod agent_overview;
mod agent_page;
mod conversation;
mod messages;
mod run_page;

const READ_AGENTS: RouteAccess = RouteAccess::Scoped(&[(OperationArea::Agents, AccessLevel::Read)]);
const READ_RUNS: RouteAccess = RouteAccess::Scoped(&[
    (OperationArea::Agents, AccessLevel::Read),
    (OperationArea::Society, AccessLevel::Read),
]);
const READ_MESSAGES: RouteAccess = RouteAccess::Scoped(&[
    (OperationArea::Agents, AccessLevel::Read),
    (OperationArea::Messages, AccessLevel::Read),
]);
const WRITE_AGENTS: RouteAccess =
    RouteAccess::Scoped(&[(OperationArea::Agents, AccessLevel::Write)]);
/// For the confirmation pages of actions on runs.
const WRITE_AGENTS_READ_RUNS: RouteAccess = RouteAccess::Scoped(&[
    (OperationArea::Agents, AccessLevel::Write),
    (OperationArea::Society, AccessLevel::Read),
]);
const WRITE_RUNS: RouteAccess = RouteAccess::Scoped(&[
    (OperationArea::Agents, AccessLevel::Write),
    (OperationArea::Society, AccessLevel::Write),
]);
const WRITE_MESSAGES: RouteAccess = RouteAccess::Scoped(&[
    (OperationArea::Agents, AccessLevel::Write),
    (OperationArea::Messages, AccessLevel::Write),
]);

pub(crate) fn agent_routes() -> Vec<WebRoute> {
    let mut routes = run_routes();
    routes.extend([
        WebRoute::get("/agents", READ_AGENTS, agent_overview::show_agents),
        WebRoute::get("/agents/tree", READ_AGENTS, agent_overview::refresh_agents),
        WebRoute::get(
            "/agents/messages/{number}",
            READ_MESSAGES,
            messages::show_message,
        ),
        WebRoute::get("/agents/{id}", READ_AGENTS, agent_page::show_agent),
        WebRoute::get(
            "/agents/{id}/status",
            READ_AGENTS,
            agent_page::refresh_agent,
        ),
        WebRoute::get(
            "/agents/{id}/mail",
            READ_MESSAGES,
            messages::show_agent_messages,
        ),
        WebRoute::post(
            "/agents/{id}/message",
            WRITE_MESSAGES,
            messages::send_to_agent,
        ),
        WebRoute::get(
            "/agents/{id}/retire",
            WRITE_AGENTS,
            agent_actions::confirm_retire_agent,
        ),
        WebRoute::post(
            "/agents/{id}/retire",
            WRITE_AGENTS,
            agent_actions::retire_agent,
        ),
    ]);
    routes
}

fn run_routes() -> Vec<WebRoute> {
    vec![
        WebRoute::get("/agents/runs/{run}", READ_RUNS, run_page::show_run),
        WebRoute::get(
            "/agents/runs/{run}/members",
            READ_RUNS,
            run_page::refresh_members,
        ),
        WebRoute::post(
            "/agents/runs/{run}/pause",
            WRITE_RUNS,
            agent_actions::pause_or_resume_run,
        ),
        WebRoute::get(
            "/agents/runs/{run}/stop",
            WRITE_AGENTS_READ_RUNS,
            agent_actions::confirm_stop_run,
        ),
        WebRoute::post(
            "/agents/runs/{run}/stop",
            WRITE_RUNS,
            agent_actions::stop_run,
        ),
        WebRoute::get(
            "/agents/runs/{run}/members/{id}",
            READ_RUNS,
            agent_page::show_member,
        ),
        WebRoute::get(
            "/agents/runs/{run}/members/{id}/status",
            READ_RUNS,
            agent_page::refresh_member,
        ),
        WebRoute::get(
            "/agents/runs/{run}/members/{id}/chat",
            READ_RUNS,
            conversation::refresh_conversation,
        ),
        WebRoute::get(
            "/agents/runs/{run}/members/{id}/mail",
            READ_MESSAGES,
            messages::show_member_messages,
        ),
        WebRoute::post(
            "/agents/runs/{run}/members/{id}/message",
            WRITE_MESSAGES,
            messages::send_to_member,
        ),
        WebRoute::post(
            "/agents/runs/{run}/members/{id}/pause",
            WRITE_RUNS,
            agent_actions::pause_or_resume_member,
        ),
        WebRoute::get(
            "/agents/runs/{run}/members/{id}/dismiss",
            WRITE_AGENTS_READ_RUNS,
            agent_actions::confirm_dismiss_member,
        ),
        WebRoute::post(
            "/agents/runs/{run}/members/{id}/dismiss",
            WRITE_RUNS,
            agent_actions::dismiss_member,
        ),
    ]
}

/// Areas in which a session needs write access to pause, stop or dismiss a member or a run.
const MANAGE_AREAS: [OperationArea; 2] = [OperationArea::Agents, OperationArea::Society];

/// Returns the URL of a member of a run.
fn member_url(run: &RunId, id: &AgentId) -> String {
    format!("/agents/runs/{run}/members/{id}")
}

/// Renders the status of a member of a run.
fn render_member_pill(context: &RequestContext, status: MemberStatus) -> Markup {
    html! { span class={ "pill status-" (status.as_str()) } { (labels::member_status_label(status, context.lang())) } }
}

/// Renders the status of a registered agent.
fn render_agent_pill(context: &RequestContext, status: AgentStatus) -> Markup {
    let class = match status {
        AgentStatus::Active => "pill",
        AgentStatus::Retired => "pill status-retired",
    };
    html! { span class=(class) { (labels::agent_status_label(status, context.lang())) } }
}

/// Renders the status of a run.
fn render_run_pill(context: &RequestContext, status: RunStatus) -> Markup {
    html! { span class={ "pill status-" (status.as_str()) } { (labels::run_status_label(status, context.lang())) } }
}
