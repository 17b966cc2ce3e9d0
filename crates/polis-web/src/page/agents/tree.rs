//! Overview of the agents tab: the registered agents as a tree, and the runs.

use std::collections::BTreeMap;

use axum::response::Response;
use maud::{Markup, html};
use polis_core::society::run::{Run, RunStatus};
use polis_core::token::{Access, Area};
use polis_core::{Agent, AgentId, AgentStatus};
use polis_ops::op::{self, ListAgents, ListRuns};
use polis_view::org_tree::{Row, rows};
use polis_view::{labels, width};
use serde::Deserialize;

use super::run::{self, DEEPEST};
use super::{agent_pill, run_pill};
use crate::error_page::{OrRefuse as _, Refused};
use crate::extract::Query;
use crate::layout::{Tab, page, part_at};
use crate::request_context::Visit;
use crate::time_ago::ago;
use crate::url;

/// Maximum number of agents per page.
const MOST: usize = 200;
/// Maximum number of runs per page.
const MOST_RUNS: usize = 50;

/// Filter of the overview.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub(super) struct Wanted {
    /// Only agents with this text in their name or role.
    q: String,
    /// Only this agent and those below it.
    under: String,
    /// Whether to include retired agents and finished runs; any non-empty text means yes.
    all: String,
}

/// Returns the whole page.
pub(super) async fn show(visit: Visit, Query(wanted): Query<Wanted>) -> Result<Response, Refused> {
    let lang = visit.lang();
    let body = html! {
        form.toolbar #filter role="search" method="get" action="/agents" hx-get="/agents/tree" hx-target="#agents" hx-swap="morph:outerHTML"
            hx-trigger="input delay:200ms, submit" hx-sync="#agents:replace" {
            div.grow {
                label for="q" { (lang.say("Search", "搜索")) }
                input #q type="search" name="q" value=(wanted.q) data-filter placeholder=(lang.say("name or role", "名称或角色"));
            }
            label.check {
                input type="checkbox" name="all" value="1" checked[!wanted.all.is_empty()];
                " " (lang.say("retired and over, too", "包括已退休和已结束的"))
            }
            button { (lang.say("Filter", "筛选")) }
        }
        (overview(&visit, &wanted).await?)
    };
    let live = "agent,society,task~";
    Ok(page(
        &visit,
        Tab::Agents,
        lang.say("Agents", "智能体"),
        live,
        &body,
    ))
}

/// Returns the overview fragment, for live updates and filtering.
pub(super) async fn refresh(
    visit: Visit,
    Query(wanted): Query<Wanted>,
) -> Result<Response, Refused> {
    let fields = [
        ("q", wanted.q.trim()),
        ("under", &wanted.under),
        ("all", &wanted.all),
    ];
    let address = url::asking("/agents", &fields);
    Ok(part_at(&address, overview(&visit, &wanted).await?))
}

async fn overview(visit: &Visit, wanted: &Wanted) -> Result<Markup, Refused> {
    let found = op::list_agents(&visit.polis, &ListAgents::default()).await;
    let mut agents = found.or_refuse(visit)?.agents;
    let all = !wanted.all.is_empty();
    let loads = loads(visit).await?;
    let runs = match visit.allows(Area::Society, Access::Read) {
        true => runs(visit, all).await?,
        false => Vec::new(),
    };
    let nobody = agents.is_empty() && runs.is_empty();
    // Members of runs are listed with their run.
    agents.retain(|agent| agent.run.is_none() && (all || agent.status == AgentStatus::Active));
    Ok(html! {
        // The filter values are read from the form when the request is sent, so that text typed in the meantime is
        // included.
        div #agents hx-get="/agents/tree" hx-trigger="polis:agent from:body, polis:society from:body, polis:task~ from:body"
            hx-swap="morph:outerHTML" hx-include="#filter, #agents > input" hx-sync="this:queue last" hx-disinherit="hx-include hx-sync" {
            @if !wanted.under.is_empty() { input type="hidden" name="under" value=(wanted.under); }
            @if nobody { (first_agent(visit)) }
            @else {
                @if !agents.is_empty() { (registry(visit, wanted, &agents, &loads)) }
                (run_list(visit, &runs))
            }
        }
    })
}

async fn runs(visit: &Visit, all: bool) -> Result<Vec<Run>, Refused> {
    let request = ListRuns {
        all,
        ..ListRuns::default()
    };
    let found = op::list_runs(&visit.polis, &visit.me, &request).await;
    let mut runs = found.or_refuse(visit)?.runs;
    // Unfinished runs first, then newest first.
    runs.sort_by(|a, b| {
        let over = |run: &Run| matches!(run.status, RunStatus::Done | RunStatus::Stopped);
        (over(a), b.created_at.as_str()).cmp(&(over(b), a.created_at.as_str()))
    });
    Ok(runs)
}

/// Returns the rows to show with their depth.
fn placed(agents: &[Agent], wanted: &Wanted) -> Vec<Row> {
    let search = wanted.q.trim().to_lowercase();
    if !search.is_empty() {
        let found = agents.iter().enumerate().filter(|(_, agent)| {
            let texts = [agent.id.as_str(), &agent.name, &agent.role];
            texts
                .iter()
                .any(|text| text.to_lowercase().contains(&search))
        });
        let row = |(at, _)| Row {
            at,
            depth: 0,
            left_out: 0,
        };
        return found.map(row).take(MOST).collect();
    }
    let people = agents.iter().map(|agent| {
        let above = agent.supervisor.as_ref().map(AgentId::as_str);
        (agent.id.as_str(), above)
    });
    rows(people, Some(wanted.under.trim()), MOST)
}

fn registry(visit: &Visit, wanted: &Wanted, agents: &[Agent], loads: &Loads) -> Markup {
    let lang = visit.lang();
    let shown = placed(agents, wanted);
    html! {
        section.card {
            h2 { (lang.say("Registered", "已注册")) " " span.count { (agents.len()) } }
            @if !wanted.under.is_empty() { p { a href="/agents" { (lang.say("Show everybody", "显示全部")) } } }
            div.scroll { table.table.org {
                thead { tr {
                    th scope="col" { (lang.say("Agent", "智能体")) } th scope="col" { (lang.say("Role", "角色")) }
                    th scope="col" { (lang.say("Layer", "层级")) } th scope="col" { (lang.say("Status", "状态")) }
                    th.num scope="col" { (lang.say("Tasks held", "持有任务")) }
                } }
                tbody { @for row in &shown { @if let Some(agent) = agents.get(row.at) {
                    tr data-row tabindex="0" {
                        td { span class={ "depth-" (row.depth.min(DEEPEST)) } {
                            a href={ "/agents/" (agent.id) } { (agent.id) }
                            @if agent.name != agent.id.as_str() { " " span.muted { (agent.name) } }
                            @if row.left_out > 0 { " " a.pill href={ "/agents?under=" (agent.id) } { "+" (row.left_out) " " (lang.say("below", "下属")) } }
                        } }
                        td { (labels::role(&agent.role, lang)) }
                        td { (labels::layer(agent.layer, lang)) }
                        td { (agent_pill(visit, agent.status)) }
                        td.num { (loads.of(agent.id.as_str())) }
                    }
                } } }
            } }
            @if shown.len() >= MOST && shown.len() < agents.len() {
                p.muted { (lang.say("Not everybody is shown; search for others.", "未显示全部，请搜索其他智能体。")) }
            }
        }
    }
}

/// Number of tasks held by each agent; `None` for a session that may not read tasks.
pub(super) struct Loads(Option<BTreeMap<String, u64>>);

/// Loads the task counts.
pub(super) async fn loads(visit: &Visit) -> Result<Loads, Refused> {
    Ok(Loads(match visit.allows(Area::Tasks, Access::Read) {
        true => Some(op::task_loads(&visit.polis).await.or_refuse(visit)?),
        false => None,
    }))
}

impl Loads {
    /// Renders the number of tasks that an agent holds, as a link to them.
    pub(super) fn of(&self, owner: &str) -> Markup {
        let Some(loads) = &self.0 else {
            return html! { span.muted { "—" } };
        };
        match loads.get(owner) {
            Some(held) => {
                html! { a href=(url::asking("/tasks", &[("owner", owner)])) { (held) } }
            }
            None => html! { span.muted { "0" } },
        }
    }
}

fn run_list(visit: &Visit, runs: &[Run]) -> Markup {
    let lang = visit.lang();
    html! {
        section.card {
            h2 { (lang.say("Runs of the society", "社会运行")) " " span.count { (runs.len()) } }
            @if runs.is_empty() {
                p.muted { (lang.say("No run is going on. Start one in a terminal:", "当前没有运行。在终端中启动：")) " " code { "polis run \"…\"" } }
            } @else {
                ul.list { @for run in runs.iter().take(MOST_RUNS) { li data-row tabindex="0" {
                    div.row {
                        a href={ "/agents/runs/" (run.id) } { b { (run.id) } } (run_pill(visit, run.status))
                        @if let Some(duration) = labels::run_duration(run, lang) { span.muted.small { (duration) } }
                        span.muted.small { (run::head_count(run, lang)) " · " (ago(visit, &run.created_at)) }
                    }
                    div.muted { (width::cut(&run.requirement, 160)) }
                } } }
            }
        }
    }
}

/// Renders the empty state: how to register the first agent and to start a run.
fn first_agent(visit: &Visit) -> Markup {
    html! {
        div.empty {
            h2 { (visit.say("Nobody yet", "还没有智能体")) }
            p { (visit.say(
                "Agents claim tasks, write boards and run commands. Register one, or let a society hire its own:",
                "智能体认领任务、撰写白板、运行命令。可注册智能体，或让社会自行雇用：",
            )) }
            pre { code {
                "polis agent add lead --role team-lead\n"
                "polis agent add ada --role backend-leader --supervisor lead\n"
                "polis run \"" (visit.say("Build a small web shop", "构建一个小型网店")) "\""
            } }
        }
    }
}
