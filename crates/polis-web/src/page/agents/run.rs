//! Page of a run of the society: its members as a tree, what they have spent, and its remaining budget.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::society::budget::{Amount, Limits, Resource};
use polis_core::society::member::MemberStatus;
use polis_core::society::run::{Run, RunStatus};
use polis_core::token::{Access, Area};
use polis_core::{AgentId, RunId};
use polis_ops::op::{self, GetOrg, OfRun, Org, OrgMember};
use polis_view::{Lang, labels, number_format, org_tree};

use super::tree::{self, Loads};
use super::{DEEDS, member_at, member_pill, run_pill};
use crate::error_page::{OrRefuse as _, Refused};
use crate::extract::Path;
use crate::layout::{Tab, page, part};
use crate::request_context::Visit;
use crate::time_ago::ago;

/// Maximum number of members per page.
const MOST: usize = 200;
/// Maximum indentation of rows.
pub(super) const DEEPEST: usize = 8;

/// Returns the run with this id, if the session may read runs.
pub(super) async fn named(visit: &Visit, id: &RunId) -> Result<Run, Refused> {
    visit.check(Area::Society, Access::Read)?;
    let named = OfRun {
        task_id: id.clone(),
    };
    let run = op::show_run(&visit.polis, &visit.me, &named).await;
    run.or_refuse(visit)
}

/// Returns the whole page.
pub(super) async fn show(visit: Visit, Path(id): Path<RunId>) -> Result<Response, Refused> {
    let run = named(&visit, &id).await?;
    let body = html! {
        p { a href="/agents" { (visit.say("All agents", "全部智能体")) } }
        div.card { p.plain { (run.requirement) }
            p.muted.small { (visit.say("asked for by ", "发起者：")) (run.created_by) " " (ago(&visit, &run.created_at))
                @if let Some(team) = &run.team { " · " (visit.say("team ", "团队 ")) (team) } } }
        (members(&visit, &run).await?)
    };
    let title = visit.say(format!("Run {id}"), format!("运行 {id}"));
    let live = "society,task~";
    Ok(page(&visit, Tab::Agents, &title, live, &body))
}

/// Returns the members fragment, for live updates.
pub(super) async fn refresh(visit: Visit, Path(id): Path<RunId>) -> Result<Response, Refused> {
    let run = named(&visit, &id).await?;
    Ok(part(members(&visit, &run).await?))
}

/// Renders the status of a run, its actions, its budget and its members.
pub(super) async fn members(visit: &Visit, run: &Run) -> Result<Markup, Refused> {
    let request = GetOrg {
        task_id: Some(run.id.clone()),
        all: true,
    };
    let org = op::get_org(&visit.polis, &visit.me, &request).await;
    let org = org.or_refuse(visit)?;
    let loads = tree::loads(visit).await?;
    let lang = visit.lang();
    let top = org.members.first();
    Ok(html! {
        section #members hx-get={ "/agents/runs/" (run.id) "/members" } hx-trigger=(again(&org)) hx-swap="morph:outerHTML" {
            div.row.head {
                (run_pill(visit, org.status))
                @if let Some(duration) = labels::run_duration(run, lang) { span.muted { (duration) } }
                span.muted { (head_count(run, lang)) " · " (run.hired) " " (lang.say("hired in all", "次雇用")) }
                span.grow {}
                @if org.status != RunStatus::Stopped && visit.may_change(&DEEDS) { (actions(visit, run)) }
            }
            @if let Some(top) = top {
                (budget(visit, &top.spent_below.unwrap_or(top.spent), &top.limits, lang.say("The whole run", "整个运行")))
            }
            section.card {
                h2 { (lang.say("Members", "成员")) " " span.count { (org.members.len()) } }
                div.scroll { table.table.org {
                    thead { tr {
                        th scope="col" { (lang.say("Agent", "智能体")) } th scope="col" { (lang.say("Role", "角色")) }
                        th scope="col" { (lang.say("Status", "状态")) } th.num scope="col" { (lang.say("Tasks held", "持有任务")) }
                        th.num scope="col" { (lang.say("Turns", "轮次")) } th.num scope="col" { (lang.say("Tokens", "令牌数")) }
                        th.num scope="col" { (lang.say("Cost", "费用")) }
                    } }
                    tbody { @for (row, one) in placed(&org) { (line(visit, run, &row, one, &loads)) } }
                } }
            }
        }
    })
}

/// Renders the number of agents of a run.
pub(super) fn head_count(run: &Run, lang: Lang) -> String {
    let en = match run.agents {
        1 => "1 agent".to_owned(),
        many => format!("{many} agents"),
    };
    lang.say(en, format!("{} 个智能体", run.agents))
}

/// Returns the refresh trigger of the members. A model's output is not an event, so the page polls while a member is
/// working.
fn again(org: &Org) -> &'static str {
    let works = org
        .members
        .iter()
        .any(|one| one.status == MemberStatus::Working);
    match works && org.status == RunStatus::Active {
        true => "polis:society from:body, polis:task~ from:body, every 3s",
        false => "polis:society from:body, polis:task~ from:body",
    }
}

fn placed(org: &Org) -> Vec<(org_tree::Row, &OrgMember)> {
    let members = &org.members;
    let people = members.iter().map(|one| {
        let above = one.parent_agent_id.as_ref().map(AgentId::as_str);
        (one.agent_id.as_str(), above)
    });
    let rows = org_tree::rows(people, None, MOST).into_iter();
    rows.filter_map(|row| Some((row, members.get(row.at)?)))
        .collect()
}

fn line(visit: &Visit, run: &Run, row: &org_tree::Row, one: &OrgMember, loads: &Loads) -> Markup {
    html! {
        tr data-row tabindex="0" class=[(one.status == MemberStatus::Gone).then_some("gone")] {
            td { span class={ "depth-" (row.depth.min(DEEPEST)) } {
                a href=(member_at(&run.id, &one.agent_id)) { (one.agent_id) }
                @if row.left_out > 0 { " " span.pill { "+" (row.left_out) } }
            }
                @if !one.objective.is_empty() { div class={ "small muted depth-" (row.depth.min(DEEPEST)) } { (polis_view::width::cut(&one.objective, 90)) } } }
            td { (labels::role(&one.role_name, visit.lang())) }
            td { (member_pill(visit, one.status))
                @if let Some(doing) = &one.doing { div.small.mono.muted { (doing) } }
                @if let Some(why) = &one.why { div.small.muted { (why) } } }
            td.num { @if one.agent_id.is_root() { span.muted { "—" } } @else { (loads.of(one.agent_id.as_str())) } }
            td.num { (one.turns) }
            td.num { (number_format::count(one.spent.tokens)) }
            td.num { @if one.spent.micros > 0 { (number_format::money(one.spent.micros)) } @else { span.muted { "—" } } }
        }
    }
}

fn actions(visit: &Visit, run: &Run) -> Markup {
    let to = format!("/agents/runs/{}/hold", run.id);
    let (paused, lang) = (run.status == RunStatus::Paused, visit.lang());
    html! {
        div.actions {
            form method="post" action=(to) hx-post=(to) hx-target="#members" hx-swap="morph:outerHTML" {
                input type="hidden" name="csrf" value=(visit.csrf);
                @if paused { button.main name="deed" value="resume" { (lang.say("Resume", "继续")) } }
                @else if run.status != RunStatus::Done { button name="deed" value="pause" { (lang.say("Pause", "暂停")) } }
            }
            a.button.danger href={ "/agents/runs/" (run.id) "/stop" } { (lang.say("End the run", "结束运行")) }
        }
    }
}

/// Renders the used part of a budget. Unlimited resources show only the amount.
pub(super) fn budget(visit: &Visit, spent: &Amount, limits: &Limits, title: &str) -> Markup {
    let lang = visit.lang();
    html! {
        section.card {
            h2 { (title) }
            dl.budget { @for what in Resource::ALL {
                dt { (resource(what, lang)) }
                dd {
                    (told(what, spent.of(what)))
                    @if let Some(limit) = limits.of(what) {
                        " / " (told(what, limit)) " "
                        meter min="0" max=(limit.max(1)) high=(limit / 10 * 9) optimum="0" value=(spent.of(what).min(limit))
                            aria-label=(resource(what, lang)) { (told(what, spent.of(what))) }
                    }
                }
            } }
        }
    }
}

fn resource(what: Resource, lang: Lang) -> &'static str {
    match what {
        Resource::Tokens => lang.say("Tokens", "令牌数"),
        Resource::Micros => lang.say("Cost", "费用"),
        Resource::Turns => lang.say("Turns", "轮次"),
        Resource::Commands => lang.say("Commands", "命令"),
    }
}

fn told(what: Resource, number: u64) -> String {
    match what {
        Resource::Micros => number_format::money(number),
        Resource::Tokens | Resource::Turns | Resource::Commands => number_format::count(number),
    }
}
