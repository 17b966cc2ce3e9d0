//! Overview of the agents tab: the registered agents as a tree, with a filter and the number of tasks that
//! each holds, and the list of runs. Members of runs are listed on the page of their run (`run_page`).

use std::collections::BTreeMap;

use axum::response::Response;
use maud::{Markup, html};
use polis_core::society::run::{Run, RunStatus};
use polis_core::token::{AccessLevel, OperationArea};
use polis_core::{Agent, AgentId, AgentStatus};
use polis_i18n::msg;
use polis_ops::op::{self, ListAgentsParams, ListRunsParams};
use polis_view::org_tree::{OrgTreeRow, org_tree_rows};
use polis_view::{display_width, labels};
use serde::Deserialize;

use super::run_page::{self, MAX_INDENT};
use super::{render_agent_pill, render_run_pill};
use crate::component::time_ago::render_time_ago;
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::{Tab, html_fragment_with_url, tab_page};
use crate::request::extract::QueryParams;
use crate::request::request_context::RequestContext;
use crate::url;

/// Maximum number of agents per page.
const MAX_SHOWN_AGENTS: usize = 200;
/// Maximum number of runs per page.
const MAX_SHOWN_RUNS: usize = 50;

/// Filter of the overview.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct AgentFilterQuery {
    /// Only agents with this text in their name or role.
    q: String,
    /// Only this agent and those below it.
    under: String,
    /// Whether to include retired agents and finished runs; any non-empty text means yes.
    all: String,
}

/// Returns the whole page.
pub(super) async fn show_agents(
    context: RequestContext,
    QueryParams(query): QueryParams<AgentFilterQuery>,
) -> Result<Response, PageError> {
    let lang = context.lang();
    let body = html! {
        form.toolbar #filter role="search" method="get" action="/agents" hx-get="/agents/tree" hx-target="#agents" hx-swap="morph:outerHTML"
            hx-trigger="input delay:200ms, submit" hx-sync="#agents:replace" {
            div.grow {
                label for="q" { (msg::common_search(lang)) }
                input #q type="search" name="q" value=(query.q) data-filter placeholder=(msg::agent_search_placeholder(lang));
            }
            label.check {
                input type="checkbox" name="all" value="1" checked[!query.all.is_empty()];
                " " (msg::agent_include_retired(lang))
            }
            button { (msg::common_filter(lang)) }
        }
        (render_agents_overview(&context, &query).await?)
    };
    let live = "agent,society,task~";
    Ok(tab_page(
        &context,
        Tab::Agents,
        msg::common_tab_agents(lang),
        live,
        &body,
    ))
}

/// Returns the overview fragment, for live updates and filtering.
pub(super) async fn refresh_agents(
    context: RequestContext,
    QueryParams(query): QueryParams<AgentFilterQuery>,
) -> Result<Response, PageError> {
    let fields = [
        ("q", query.q.trim()),
        ("under", &query.under),
        ("all", &query.all),
    ];
    let address = url::url_with_query("/agents", &fields);
    Ok(html_fragment_with_url(
        &address,
        render_agents_overview(&context, &query).await?,
    ))
}

async fn render_agents_overview(
    context: &RequestContext,
    query: &AgentFilterQuery,
) -> Result<Markup, PageError> {
    let found = op::list_agents(&context.request, &ListAgentsParams::default()).await;
    let mut agents = found.or_page_error(context)?.agents;
    let all = !query.all.is_empty();
    let loads = load_task_loads(context).await?;
    let runs = if context.may_access(OperationArea::Society, AccessLevel::Read) {
        load_runs(context, all).await?
    } else {
        Vec::new()
    };
    let is_empty = agents.is_empty() && runs.is_empty();
    // Members of runs are listed with their run.
    agents.retain(|agent| agent.run.is_none() && (all || agent.status == AgentStatus::Active));
    Ok(html! {
        // The filter values are read from the form when the request is sent, so that text typed in the
        // meantime is included.
        div #agents hx-get="/agents/tree" hx-trigger="polis:agent from:body, polis:society from:body, polis:task~ from:body"
            hx-swap="morph:outerHTML" hx-include="#filter, #agents > input" hx-sync="this:queue last" hx-disinherit="hx-include hx-sync" {
            @if !query.under.is_empty() { input type="hidden" name="under" value=(query.under); }
            @if is_empty { (render_no_agents(context)) }
            @else {
                @if !agents.is_empty() { (render_registry(context, query, &agents, &loads)) }
                (render_run_list(context, &runs))
            }
        }
    })
}

async fn load_runs(context: &RequestContext, all: bool) -> Result<Vec<Run>, PageError> {
    let request = ListRunsParams {
        all,
        ..ListRunsParams::default()
    };
    let found = op::list_runs(&context.request, &request).await;
    let mut runs = found.or_page_error(context)?.runs;
    // Unfinished runs first, then newest first.
    runs.sort_by(|a, b| {
        let has_ended = |run: &Run| matches!(run.status, RunStatus::Done | RunStatus::Stopped);
        (has_ended(a), b.created_at.as_str()).cmp(&(has_ended(b), a.created_at.as_str()))
    });
    Ok(runs)
}

/// Returns the rows to show with their depth: the matches of a search as a flat list, otherwise the tree.
fn filtered_rows(agents: &[Agent], query: &AgentFilterQuery) -> Vec<OrgTreeRow> {
    let search = query.q.trim().to_lowercase();
    if !search.is_empty() {
        let found = agents.iter().enumerate().filter(|(_, agent)| {
            let texts = [agent.id.as_str(), &agent.name, &agent.role];
            texts
                .iter()
                .any(|text| text.to_lowercase().contains(&search))
        });
        let row = |(at, _)| OrgTreeRow {
            index: at,
            depth: 0,
            omitted: 0,
        };
        return found.map(row).take(MAX_SHOWN_AGENTS).collect();
    }
    let nodes = agents.iter().map(|agent| {
        let supervisor = agent.supervisor.as_ref().map(AgentId::as_str);
        (agent.id.as_str(), supervisor)
    });
    org_tree_rows(nodes, Some(query.under.trim()), MAX_SHOWN_AGENTS)
}

fn render_registry(
    context: &RequestContext,
    query: &AgentFilterQuery,
    agents: &[Agent],
    loads: &TaskLoads,
) -> Markup {
    let lang = context.lang();
    let rows = filtered_rows(agents, query);
    html! {
        section.card {
            h2 { (msg::agent_registered_title(lang)) " " span.count { (agents.len()) } }
            @if !query.under.is_empty() { p { a href="/agents" { (msg::common_show_all(lang)) } } }
            div.scroll { table.table.org {
                thead { tr {
                    th scope="col" { (msg::common_agent(lang)) } th scope="col" { (msg::common_role(lang)) }
                    th scope="col" { (msg::agent_layer(lang)) } th scope="col" { (msg::common_status(lang)) }
                    th.num scope="col" { (msg::agent_tasks_held(lang)) }
                } }
                tbody { @for row in &rows { @if let Some(agent) = agents.get(row.index) {
                    tr data-row tabindex="0" {
                        td { span class={ "depth-" (row.depth.min(MAX_INDENT)) } {
                            a href={ "/agents/" (agent.id) } { (agent.id) }
                            @if agent.name != agent.id.as_str() { " " span.muted { (agent.name) } }
                            @if row.omitted > 0 { " " a.pill href={ "/agents?under=" (agent.id) } { "+" (row.omitted) " " (msg::agent_below_column(lang)) } }
                        } }
                        td { (labels::role_label(&agent.role, lang)) }
                        td { (labels::layer_label(agent.layer, lang)) }
                        td { (render_agent_pill(context, agent.status)) }
                        td.num { (loads.render_load(agent.id.as_str())) }
                    }
                } } }
            } }
            @if rows.len() >= MAX_SHOWN_AGENTS && rows.len() < agents.len() {
                p.muted { (msg::agent_list_incomplete(lang)) }
            }
        }
    }
}

/// Number of tasks held by each agent; `None` for a session that may not read tasks.
pub(super) struct TaskLoads(Option<BTreeMap<String, u64>>);

/// Loads the number of tasks that each agent holds.
pub(super) async fn load_task_loads(context: &RequestContext) -> Result<TaskLoads, PageError> {
    Ok(TaskLoads(
        if context.may_access(OperationArea::Tasks, AccessLevel::Read) {
            Some(
                op::count_tasks_by_owner(&context.request)
                    .await
                    .or_page_error(context)?,
            )
        } else {
            None
        },
    ))
}

impl TaskLoads {
    /// Renders the number of tasks that an agent holds, as a link to them.
    pub(super) fn render_load(&self, owner: &str) -> Markup {
        let Some(loads) = &self.0 else {
            return html! { span.muted { "—" } };
        };
        match loads.get(owner) {
            Some(count) => {
                html! { a href=(url::url_with_query("/tasks", &[("owner", owner)])) { (count) } }
            }
            None => html! { span.muted { "0" } },
        }
    }
}

fn render_run_list(context: &RequestContext, runs: &[Run]) -> Markup {
    let lang = context.lang();
    html! {
        section.card {
            h2 { (msg::common_runs(lang)) " " span.count { (runs.len()) } }
            @if runs.is_empty() {
                p.muted { (msg::run_none_active(lang)) " " code { "polis run \"…\"" } }
            } @else {
                ul.list { @for run in runs.iter().take(MAX_SHOWN_RUNS) { li data-row tabindex="0" {
                    div.row {
                        a href={ "/agents/runs/" (run.id) } { b { (run.id) } } (render_run_pill(context, run.status))
                        @if let Some(duration) = labels::run_duration_label(run, lang) { span.muted.small { (duration) } }
                        span.muted.small { (run_page::format_agent_count(run, lang)) " · " (render_time_ago(context, &run.created_at)) }
                    }
                    div.muted { (display_width::truncate_to_width(&run.requirement, 160)) }
                } } }
            }
        }
    }
}

/// Renders the empty state: how to register the first agent and to start a run.
fn render_no_agents(context: &RequestContext) -> Markup {
    html! {
        div.empty {
            h2 { (msg::agent_none_title(context.lang())) }
            p { (msg::agent_none_explanation(context.lang())) }
            pre { code {
                "polis agent add lead --role team-lead\n"
                "polis agent add ada --role backend-leader --supervisor lead\n"
                "polis run \"" (msg::run_example_requirement(context.lang())) "\""
            } }
        }
    }
}
