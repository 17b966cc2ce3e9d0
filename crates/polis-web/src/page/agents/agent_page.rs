//! Page of a registered agent (status, tasks held, messages), and page of a member of a run (also spending and
//! conversation), with the fragments that live updates load.
//!
//! The agent page redirects to the member page for a member of a run. A name that is not registered has a page
//! while it holds tasks. Actions are in `agent_actions`.

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, html};
use polis_core::society::member::MemberStatus;
use polis_core::task::TaskSummary;
use polis_core::token::{AccessLevel, OperationArea};
use polis_core::{Agent, AgentId, AgentStatus, RefusalCode, RunId, TaskStatus};
use polis_i18n::msg;
use polis_ops::op::{self, GetOrgParams, OrgMember, TaskListParams};
use polis_view::labels;

use super::conversation::{self, ConversationQuery};
use super::messages::{self, MessagePartner};
use super::{MANAGE_AREAS, member_url, render_agent_pill, render_member_pill, run_page};
use crate::component::time_ago::render_time_ago;
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::{Tab, html_fragment, tab_page};
use crate::live_updates;
use crate::page::tasks::render_priority_pill;
use crate::request::extract::{PathParams, QueryParams};
use crate::request::request_context::RequestContext;

/// Maximum number of tasks listed.
const MAX_HELD_TASKS: u32 = 20;

/// Returns the page of a registered agent. A member of a run is redirected to its own page, with its
/// conversation.
pub(super) async fn show_agent(
    context: RequestContext,
    PathParams(id): PathParams<AgentId>,
) -> Result<Response, PageError> {
    let tasks = load_held_tasks(&context, &id).await?;
    let found = match op::show_agent(&context.request, &id).await {
        Ok(agent) => Some(agent),
        // An unregistered name may still hold tasks.
        Err(error)
            if error.code() == RefusalCode::AGENT_NOT_FOUND
                && (!tasks.is_empty() || id.is_user()) =>
        {
            None
        }
        Err(error) => return Err(PageError::new(&context, error)),
    };
    if let Some(run) = found.as_ref().and_then(|agent| agent.run.as_ref()) {
        return Ok(Redirect::to(&member_url(run, &id)).into_response());
    }
    let messages_section = if id.is_user() {
        html! {}
    } else {
        messages::render_messages_section(&context, &MessagePartner::agent(id.clone()), None)
            .await?
    };
    let live = if messages_section.0.is_empty() {
        "agent,task~"
    } else {
        "agent,task~,message"
    };
    let status = render_agent_status(&context, &id, found.as_ref(), &tasks).await?;
    let body = html! { (status) (messages_section) };
    Ok(tab_page(&context, Tab::Agents, id.as_str(), live, &body))
}

/// Returns the status fragment of a registered agent, for live updates.
pub(super) async fn refresh_agent(
    context: RequestContext,
    PathParams(id): PathParams<AgentId>,
) -> Result<Response, PageError> {
    let tasks = load_held_tasks(&context, &id).await?;
    let found = match op::show_agent(&context.request, &id).await {
        Err(error) if error.code() == RefusalCode::AGENT_NOT_FOUND => None,
        found => Some(found.or_page_error(&context)?),
    };
    let status = render_agent_status(&context, &id, found.as_ref(), &tasks).await?;
    Ok(html_fragment(status))
}

/// Renders an agent's data and the tasks it holds.
async fn render_agent_status(
    context: &RequestContext,
    id: &AgentId,
    found: Option<&Agent>,
    tasks: &[TaskSummary],
) -> Result<Markup, PageError> {
    // Actions that would be refused are not offered.
    let manages = context.may_write(&[OperationArea::Agents])
        && op::may_manage_agents(&context.request)
            .await
            .or_page_error(context)?;
    let trigger = [
        live_updates::htmx_trigger("agent"),
        live_updates::htmx_trigger("task~"),
    ]
    .join(", ");
    Ok(html! {
        div #status hx-get={ "/agents/" (id) "/status" } hx-trigger=(trigger) hx-swap="morph:outerHTML" {
            @match found {
                Some(agent) => (render_agent_facts(context, agent, manages)),
                None => p.muted { (msg::agent_not_registered(context.lang())) },
            }
            (render_held_tasks(context, id, tasks))
        }
    })
}

fn render_agent_facts(context: &RequestContext, agent: &Agent, manages: bool) -> Markup {
    let lang = context.lang();
    html! {
        div.row.head {
            (render_agent_pill(context, agent.status)) span.pill { (labels::role_label(&agent.role, lang)) } span.pill { (labels::layer_label(agent.layer, lang)) }
            @if agent.name != agent.id.as_str() { span { (agent.name) } }
            @if let Some(above) = &agent.supervisor { span.muted { (msg::agent_reports_to_prefix(lang)) a href={ "/agents/" (above) } { (above) } } }
            span.muted { (msg::agent_registered_prefix(lang)) (render_time_ago(context, &agent.created_at)) }
            span.grow {}
            @if agent.status == AgentStatus::Active && manages { a.button.danger href={ "/agents/" (agent.id) "/retire" } { (msg::agent_retire(lang)) } }
        }
    }
}

/// Returns the unfinished tasks that an agent holds, if the session may read tasks.
async fn load_held_tasks(
    context: &RequestContext,
    id: &AgentId,
) -> Result<Vec<TaskSummary>, PageError> {
    let mut found = Vec::new();
    if !context.may_access(OperationArea::Tasks, AccessLevel::Read) {
        return Ok(found);
    }
    for status in [TaskStatus::InProgress, TaskStatus::Pending] {
        let request = TaskListParams {
            owner: Some(id.to_string()),
            status: Some(status),
            newest: true,
            limit: Some(MAX_HELD_TASKS),
            ..TaskListParams::default()
        };
        let page = op::list_tasks(&context.request, &request).await;
        found.extend(page.or_page_error(context)?.tasks);
    }
    Ok(found)
}

fn render_held_tasks(context: &RequestContext, id: &AgentId, tasks: &[TaskSummary]) -> Markup {
    let lang = context.lang();
    html! {
        section.card {
            h2 { (msg::agent_tasks_held(lang)) }
            @if tasks.is_empty() { p.muted { (msg::common_none(lang)) } }
            @else {
                ul.list { @for task in tasks { li data-row tabindex="0" {
                    span class={ "pill status-" (task.status.as_str()) } { (labels::task_status_label(task.status, lang)) } " "
                    @if task.stale { span.pill.status-stale { (msg::task_stale_mark(lang)) } " " }
                    (render_priority_pill(context, task.priority))
                    a href={ "/tasks/" (task.id) } { "#" (task.id) " " (task.subject) }
                } } }
                p { a href={ "/tasks?owner=" (id) } { (msg::agent_view_tasks(lang)) } }
            }
        }
    }
}

/// Returns the page of a member of a run: status, conversation and messages.
pub(super) async fn show_member(
    context: RequestContext,
    PathParams((run, id)): PathParams<(RunId, AgentId)>,
    QueryParams(from): QueryParams<ConversationQuery>,
) -> Result<Response, PageError> {
    let one = find_member(&context, &run, &id).await?;
    let messages_section = messages::render_messages_section(
        &context,
        &MessagePartner::member(run.clone(), id.clone()),
        None,
    )
    .await?;
    let live = if from.shows_newest() || !messages_section.0.is_empty() {
        "society,task~,message"
    } else {
        "society,task~"
    };
    let body = html! {
        p { a href={ "/agents/runs/" (run) } { (msg::run_prefix(context.lang())) (run) } }
        (render_member_status(&context, &run, &one))
        div.split {
            (conversation::render_conversation_section(&context, &run, &id, &from, one.status).await?)
            div {
                (render_member_spending(&context, &one, None).await?)
                (messages_section)
            }
        }
    };
    Ok(tab_page(&context, Tab::Agents, id.as_str(), live, &body))
}

/// Returns the fragments with a member's status, spending and tasks: one read of the run is enough for all of
/// them.
pub(super) async fn refresh_member(
    context: RequestContext,
    PathParams((run, id)): PathParams<(RunId, AgentId)>,
) -> Result<Response, PageError> {
    let one = find_member(&context, &run, &id).await?;
    Ok(html_fragment(html! {
        (render_member_status(&context, &run, &one))
        (render_member_spending(&context, &one, Some("morph")).await?)
    }))
}

/// Renders a member's spending and tasks. If it accompanies another fragment, the last parameter is the
/// out-of-band swap mode (`hx-swap-oob`).
async fn render_member_spending(
    context: &RequestContext,
    one: &OrgMember,
    out_of_band: Option<&str>,
) -> Result<Markup, PageError> {
    let id = &one.agent_id;
    let spent = one.spent_below.unwrap_or(one.spent);
    let title = msg::agent_spending_with_subordinates(context.lang());
    Ok(html! {
        div #means hx-swap-oob=[out_of_band] {
            (run_page::render_budget(context, &spent, &one.limits, title))
            @if !id.is_root() { (render_held_tasks(context, id, &load_held_tasks(context, id).await?)) }
        }
    })
}

/// Returns a member of a run, with what it and the members below it have spent. Fails if the run has no such
/// member.
pub(super) async fn find_member(
    context: &RequestContext,
    run: &RunId,
    id: &AgentId,
) -> Result<OrgMember, PageError> {
    let request = GetOrgParams {
        run_id: Some(run.clone()),
        all: true,
    };
    let org = op::get_org(&context.request, &request).await;
    let mut members = org.or_page_error(context)?.members.into_iter();
    match members.find(|one| one.agent_id == *id) {
        Some(one) => Ok(one),
        None => Err(PageError::new(context, op::member_not_found(id).into())),
    }
}

fn render_member_status(context: &RequestContext, run: &RunId, one: &OrgMember) -> Markup {
    let lang = context.lang();
    let at = member_url(run, &one.agent_id);
    // A model's spending is not an event, so the page polls while the member is working.
    let mut trigger = [
        live_updates::htmx_trigger("society"),
        live_updates::htmx_trigger("task~"),
    ]
    .join(", ");
    if one.status == MemberStatus::Working {
        trigger += ", every 3s";
    }
    let is_paused = matches!(one.status, MemberStatus::Paused | MemberStatus::Parked);
    html! {
        div #status hx-get={ (at) "/status" } hx-trigger=(trigger) hx-swap="morph:outerHTML" {
            div.row.head {
                (render_member_pill(context, one.status)) span.pill { (labels::role_label(&one.role_name, lang)) }
                @if let Some(above) = &one.parent_agent_id { span.muted { (msg::agent_hired_by_prefix(lang)) a href=(member_url(run, above)) { (above) } } }
                @if let Some(doing) = &one.running_tool { span.mono.muted { (doing) } }
                span.grow {}
                @if one.status != MemberStatus::Dismissed && context.may_write(&MANAGE_AREAS) {
                    div.actions {
                        form method="post" action={ (at) "/pause" } {
                            input type="hidden" name="csrf" value=(context.csrf);
                            @if is_paused { button.main name="action" value="resume" { (msg::agent_resume(lang)) } }
                            @else { button name="action" value="pause" { (msg::agent_pause(lang)) } }
                            label.check { input type="checkbox" name="subtree" value="1"; " " (msg::agent_including_subordinates(lang)) }
                        }
                        @if one.parent_agent_id.is_some() { a.button.danger href={ (at) "/dismiss" } { (msg::agent_dismiss(lang)) } }
                    }
                }
            }
            @if let Some(why) = one.reason_text(lang) { p.notice.warn { (why) } }
            @if !one.objective.is_empty() { p { (one.objective) } }
        }
    }
}
