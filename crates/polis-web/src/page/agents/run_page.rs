//! Page of a run: its requirement, status and actions, the used part of its budget, and its members as a tree
//! with what each has spent. The form actions are handled in `agent_actions`.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::society::budget::{BudgetAmount, BudgetLimits, BudgetResource};
use polis_core::society::member::MemberStatus;
use polis_core::society::run::{Run, RunStatus};
use polis_core::{AgentId, RunId};
use polis_i18n::msg;
use polis_ops::op::{self, GetOrgParams, OrgChart, OrgMember, RunIdParams};
use polis_view::{UiLanguage, labels, number_format, org_tree};

use super::agent_overview::{self, TaskLoads};
use super::{MANAGE_AREAS, member_url, render_member_pill, render_run_pill};
use crate::component::time_ago::render_time_ago;
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::{Tab, html_fragment, tab_page};
use crate::request::extract::PathParams;
use crate::request::request_context::RequestContext;

/// Maximum number of members per page.
const MAX_MEMBERS: usize = 200;
/// Maximum indentation of rows.
pub(super) const MAX_INDENT: usize = 8;

/// Returns the run with this id. Fails if it does not exist.
pub(super) async fn load_run(context: &RequestContext, id: &RunId) -> Result<Run, PageError> {
    let params = RunIdParams { run_id: id.clone() };
    let run = op::show_run(&context.request, &params).await;
    run.or_page_error(context)
}

/// Returns the whole page.
pub(super) async fn show_run(
    context: RequestContext,
    PathParams(id): PathParams<RunId>,
) -> Result<Response, PageError> {
    let run = load_run(&context, &id).await?;
    let body = html! {
        p { a href="/agents" { (msg::run_all_agents(context.lang())) } }
        div.card { p.plain { (run.requirement) }
            p.muted.small { (msg::run_requested_by_prefix(context.lang())) (run.created_by) " " (render_time_ago(&context, &run.created_at))
                @if let Some(team) = &run.team { " · " (msg::run_team_template_prefix(context.lang())) (team) } } }
        (render_members_section(&context, &run).await?)
    };
    let title = msg::run_title(context.lang(), id);
    let live = "society,task~";
    Ok(tab_page(&context, Tab::Agents, &title, live, &body))
}

/// Returns the members fragment, for live updates.
pub(super) async fn refresh_members(
    context: RequestContext,
    PathParams(id): PathParams<RunId>,
) -> Result<Response, PageError> {
    let run = load_run(&context, &id).await?;
    Ok(html_fragment(render_members_section(&context, &run).await?))
}

/// Renders the status of a run, its actions, its budget and its members.
pub(super) async fn render_members_section(
    context: &RequestContext,
    run: &Run,
) -> Result<Markup, PageError> {
    let request = GetOrgParams {
        run_id: Some(run.id.clone()),
        all: true,
    };
    let org = op::get_org(&context.request, &request).await;
    let org = org.or_page_error(context)?;
    let loads = agent_overview::load_task_loads(context).await?;
    let lang = context.lang();
    let top = org.members.first();
    Ok(html! {
        section #members hx-get={ "/agents/runs/" (run.id) "/members" } hx-trigger=(refresh_trigger(&org)) hx-swap="morph:outerHTML" {
            div.row.head {
                (render_run_pill(context, org.status))
                @if let Some(duration) = labels::run_duration_label(run, lang) { span.muted { (duration) } }
                span.muted { (format_agent_count(run, lang)) " · " (run.hired) " " (msg::run_hired_in_total(lang)) }
                span.grow {}
                @if org.status != RunStatus::Stopped && context.may_write(&MANAGE_AREAS) { (render_run_actions(context, run)) }
            }
            @if let Some(top) = top {
                (render_budget(context, &top.spent_below.unwrap_or(top.spent), &top.limits, msg::run_entire(lang)))
            }
            section.card {
                h2 { (msg::run_members(lang)) " " span.count { (org.members.len()) } }
                div.scroll { table.table.org {
                    thead { tr {
                        th scope="col" { (msg::common_agent(lang)) } th scope="col" { (msg::common_role(lang)) }
                        th scope="col" { (msg::common_status(lang)) } th.num scope="col" { (msg::agent_tasks_held(lang)) }
                        th.num scope="col" { (msg::run_turns_column(lang)) } th.num scope="col" { (msg::run_tokens_column(lang)) }
                        th.num scope="col" { (msg::run_cost_column(lang)) }
                    } }
                    tbody { @for (row, one) in member_rows(&org) { (render_member_row(context, run, &row, one, &loads)) } }
                } }
            }
        }
    })
}

/// Renders the number of agents of a run.
pub(super) fn format_agent_count(run: &Run, lang: UiLanguage) -> String {
    msg::run_agent_count(lang, run.agents)
}

/// Returns the refresh trigger of the members. A model's output is not an event, so the page polls while a
/// member is working.
fn refresh_trigger(org: &OrgChart) -> &'static str {
    let works = org
        .members
        .iter()
        .any(|one| one.status == MemberStatus::Working);
    if works && org.status == RunStatus::Active {
        "polis:society from:body, polis:task~ from:body, every 3s"
    } else {
        "polis:society from:body, polis:task~ from:body"
    }
}

fn member_rows(org: &OrgChart) -> Vec<(org_tree::OrgTreeRow, &OrgMember)> {
    let members = &org.members;
    let nodes = members.iter().map(|one| {
        let parent = one.parent_agent_id.as_ref().map(AgentId::as_str);
        (one.agent_id.as_str(), parent)
    });
    let rows = org_tree::org_tree_rows(nodes, None, MAX_MEMBERS).into_iter();
    rows.filter_map(|row| Some((row, members.get(row.index)?)))
        .collect()
}

fn render_member_row(
    context: &RequestContext,
    run: &Run,
    row: &org_tree::OrgTreeRow,
    one: &OrgMember,
    loads: &TaskLoads,
) -> Markup {
    html! {
        tr data-row tabindex="0" class=[(one.status == MemberStatus::Dismissed).then_some("gone")] {
            td { span class={ "depth-" (row.depth.min(MAX_INDENT)) } {
                a href=(member_url(&run.id, &one.agent_id)) { (one.agent_id) }
                @if row.omitted > 0 { " " span.pill { "+" (row.omitted) } }
            }
                @if !one.objective.is_empty() { div class={ "small muted depth-" (row.depth.min(MAX_INDENT)) } { (polis_view::display_width::truncate_to_width(&one.objective, 90)) } } }
            td { (labels::role_label(&one.role_name, context.lang())) }
            td { (render_member_pill(context, one.status))
                @if let Some(doing) = &one.running_tool { div.small.mono.muted { (doing) } }
                @if let Some(why) = one.reason_text(context.lang()) { div.small.muted { (why) } } }
            td.num { @if one.agent_id.is_root() { span.muted { "—" } } @else { (loads.render_load(one.agent_id.as_str())) } }
            td.num { (one.turns) }
            td.num { (number_format::format_count(one.spent.tokens)) }
            td.num { @if one.spent.micros > 0 { (number_format::format_money(one.spent.micros)) } @else { span.muted { "—" } } }
        }
    }
}

fn render_run_actions(context: &RequestContext, run: &Run) -> Markup {
    let to = format!("/agents/runs/{}/pause", run.id);
    let (paused, lang) = (run.status == RunStatus::Paused, context.lang());
    html! {
        div.actions {
            form method="post" action=(to) hx-post=(to) hx-target="#members" hx-swap="morph:outerHTML" {
                input type="hidden" name="csrf" value=(context.csrf);
                @if paused { button.main name="action" value="resume" { (msg::agent_resume(lang)) } }
                @else if run.status != RunStatus::Done { button name="action" value="pause" { (msg::agent_pause(lang)) } }
            }
            a.button.danger href={ "/agents/runs/" (run.id) "/stop" } { (msg::run_stop(lang)) }
        }
    }
}

/// Renders the used part of a budget. Unlimited resources show only the amount.
pub(super) fn render_budget(
    context: &RequestContext,
    spent: &BudgetAmount,
    limits: &BudgetLimits,
    title: &str,
) -> Markup {
    let lang = context.lang();
    html! {
        section.card {
            h2 { (title) }
            dl.budget { @for resource in BudgetResource::ALL {
                dt { (resource_label(resource, lang)) }
                dd {
                    (format_amount(resource, spent.get(resource)))
                    @if let Some(limit) = limits.get(resource) {
                        " / " (format_amount(resource, limit)) " "
                        meter min="0" max=(limit.max(1)) high=(limit / 10 * 9) optimum="0" value=(spent.get(resource).min(limit))
                            aria-label=(resource_label(resource, lang)) { (format_amount(resource, spent.get(resource))) }
                    }
                }
            } }
        }
    }
}

fn resource_label(resource: BudgetResource, lang: UiLanguage) -> &'static str {
    match resource {
        BudgetResource::Tokens => msg::run_tokens_column(lang),
        BudgetResource::Micros => msg::run_cost_column(lang),
        BudgetResource::Turns => msg::run_turns_column(lang),
        BudgetResource::Commands => msg::command_list_title(lang),
    }
}

fn format_amount(resource: BudgetResource, number: u64) -> String {
    match resource {
        BudgetResource::Micros => number_format::format_money(number),
        BudgetResource::Tokens | BudgetResource::Turns | BudgetResource::Commands => {
            number_format::format_count(number)
        }
    }
}
