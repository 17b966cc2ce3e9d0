//! Page of a registered agent, or of a member of a run.

use axum::response::{IntoResponse as _, Redirect, Response};
use maud::{Markup, html};
use polis_core::society::member::MemberStatus;
use polis_core::task::TaskSummary;
use polis_core::token::{Access, Area};
use polis_core::{Agent, AgentId, AgentStatus, Code, RunId, TaskStatus};
use polis_ops::op::{self, GetOrg, OrgMember, TaskList};
use polis_view::labels;

use super::conversation::{self, From};
use super::messages::{self, With};
use super::{DEEDS, agent_pill, member_at, member_pill, run};
use crate::error_page::{OrRefuse as _, Refused};
use crate::extract::{Path, Query};
use crate::layout::{Tab, page, part};
use crate::live;
use crate::request_context::Visit;
use crate::time_ago::ago;

/// Maximum number of tasks listed.
const TASKS: u32 = 20;

/// Returns the page of a registered agent. A member of a run is redirected to its own page, with its conversation.
pub(super) async fn agent(visit: Visit, Path(id): Path<AgentId>) -> Result<Response, Refused> {
    let held = held(&visit, &id).await?;
    let found = match op::show_agent(&visit.polis, &id).await {
        Ok(agent) => Some(agent),
        // An unregistered name may still hold tasks.
        Err(error) if error.code() == Code::AgentNotFound && (!held.is_empty() || id.is_user()) => {
            None
        }
        Err(error) => return Err(Refused::of(&visit, error)),
    };
    if let Some(run) = found.as_ref().and_then(|agent| agent.run.as_ref()) {
        return Ok(Redirect::to(&member_at(run, &id)).into_response());
    }
    let letters = match id.is_user() {
        true => html! {},
        false => messages::section(&visit, &With::agent(id.clone()), None).await?,
    };
    let live = match letters.0.is_empty() {
        true => "agent,task~",
        false => "agent,task~,message",
    };
    let standing = agent_standing(&visit, &id, found.as_ref(), &held).await?;
    let body = html! { (standing) (letters) };
    Ok(page(&visit, Tab::Agents, id.as_str(), live, &body))
}

/// Returns the status fragment of a registered agent, for live updates.
pub(super) async fn refresh(visit: Visit, Path(id): Path<AgentId>) -> Result<Response, Refused> {
    let held = held(&visit, &id).await?;
    let found = match op::show_agent(&visit.polis, &id).await {
        Err(error) if error.code() == Code::AgentNotFound => None,
        found => Some(found.or_refuse(&visit)?),
    };
    let standing = agent_standing(&visit, &id, found.as_ref(), &held).await?;
    Ok(part(standing))
}

/// Renders an agent's data and the tasks it holds.
async fn agent_standing(
    visit: &Visit,
    id: &AgentId,
    found: Option<&Agent>,
    held: &[TaskSummary],
) -> Result<Markup, Refused> {
    // Actions that would be refused are not offered.
    let manages = visit.may_change(&[Area::Agents])
        && op::may_manage_agents(&visit.polis, &visit.me)
            .await
            .or_refuse(visit)?;
    let again = [live::on("agent"), live::on("task~")].join(", ");
    Ok(html! {
        div #standing hx-get={ "/agents/" (id) "/standing" } hx-trigger=(again) hx-swap="morph:outerHTML" {
            @match found {
                Some(agent) => (facts(visit, agent, manages)),
                None => p.muted { (visit.say("Not registered: the name alone is known.", "未注册：仅有名称。")) },
            }
            (tasks(visit, id, held))
        }
    })
}

fn facts(visit: &Visit, agent: &Agent, manages: bool) -> Markup {
    let lang = visit.lang();
    html! {
        div.row.head {
            (agent_pill(visit, agent.status)) span.pill { (labels::role(&agent.role, lang)) } span.pill { (labels::layer(agent.layer, lang)) }
            @if agent.name != agent.id.as_str() { span { (agent.name) } }
            @if let Some(above) = &agent.supervisor { span.muted { (lang.say("under ", "上级：")) a href={ "/agents/" (above) } { (above) } } }
            span.muted { (lang.say("since ", "自 ")) (ago(visit, &agent.created_at)) }
            span.grow {}
            @if agent.status == AgentStatus::Active && manages { a.button.danger href={ "/agents/" (agent.id) "/retire" } { (lang.say("Retire", "退休")) } }
        }
    }
}

/// Returns the unfinished tasks that an agent holds, if the session may read tasks.
async fn held(visit: &Visit, id: &AgentId) -> Result<Vec<TaskSummary>, Refused> {
    let mut found = Vec::new();
    if !visit.allows(Area::Tasks, Access::Read) {
        return Ok(found);
    }
    for status in [TaskStatus::InProgress, TaskStatus::Pending] {
        let request = TaskList {
            owner: Some(id.to_string()),
            status: Some(status),
            newest: true,
            limit: Some(TASKS),
            ..TaskList::default()
        };
        let page = op::list_tasks(&visit.polis, &request).await;
        found.extend(page.or_refuse(visit)?.tasks);
    }
    Ok(found)
}

fn tasks(visit: &Visit, id: &AgentId, held: &[TaskSummary]) -> Markup {
    let lang = visit.lang();
    html! {
        section.card {
            h2 { (lang.say("Tasks held", "持有任务")) }
            @if held.is_empty() { p.muted { (lang.say("none", "无")) } }
            @else {
                ul.list { @for task in held { li data-row tabindex="0" {
                    span class={ "pill status-" (task.status.as_str()) } { (labels::status(task.status, lang)) } " "
                    @if task.stale { span.pill.status-stale { (lang.say("stale", "已失联")) } " " }
                    a href={ "/tasks/" (task.id) } { "#" (task.id) " " (task.subject) }
                } } }
                p { a href={ "/tasks?owner=" (id) } { (lang.say("On the board", "在任务板上查看")) } }
            }
        }
    }
}

/// Returns the page of a member of a run: status, conversation and messages.
pub(super) async fn member(
    visit: Visit,
    Path((run, id)): Path<(RunId, AgentId)>,
    Query(from): Query<From>,
) -> Result<Response, Refused> {
    visit.check(Area::Society, Access::Read)?;
    let one = find(&visit, &run, &id).await?;
    let letters = messages::section(&visit, &With::member(run.clone(), id.clone()), None).await?;
    let live = match from.is_newest() || !letters.0.is_empty() {
        true => "society,task~,message",
        false => "society,task~",
    };
    let body = html! {
        p { a href={ "/agents/runs/" (run) } { (visit.say("Run ", "运行 ")) (run) } }
        (standing(&visit, &run, &one))
        div.split {
            (conversation::section(&visit, &run, &id, &from, one.status).await?)
            div {
                (means(&visit, &one, None).await?)
                (letters)
            }
        }
    };
    Ok(page(&visit, Tab::Agents, id.as_str(), live, &body))
}

/// Returns the fragments with a member's status, spending and tasks: one read of the run is enough for all of them.
pub(super) async fn refresh_member(
    visit: Visit,
    Path((run, id)): Path<(RunId, AgentId)>,
) -> Result<Response, Refused> {
    visit.check(Area::Society, Access::Read)?;
    let one = find(&visit, &run, &id).await?;
    Ok(part(html! {
        (standing(&visit, &run, &one))
        (means(&visit, &one, Some("morph")).await?)
    }))
}

/// Renders a member's spending and tasks; `beside` is the out-of-band swap mode (`hx-swap-oob`) if it accompanies
/// another fragment.
async fn means(visit: &Visit, one: &OrgMember, beside: Option<&str>) -> Result<Markup, Refused> {
    let id = &one.agent_id;
    let spent = one.spent_below.unwrap_or(one.spent);
    let title = visit.say("Spent by it and everybody below", "其及下属的花费");
    Ok(html! {
        div #means hx-swap-oob=[beside] {
            (run::budget(visit, &spent, &one.limits, title))
            @if !id.is_root() { (tasks(visit, id, &held(visit, id).await?)) }
        }
    })
}

/// Returns a member of a run.
pub(super) async fn find(visit: &Visit, run: &RunId, id: &AgentId) -> Result<OrgMember, Refused> {
    let request = GetOrg {
        task_id: Some(run.clone()),
        all: true,
    };
    let org = op::get_org(&visit.polis, &visit.me, &request).await;
    let mut members = org.or_refuse(visit)?.members.into_iter();
    match members.find(|one| one.agent_id == *id) {
        Some(one) => Ok(one),
        None => Err(Refused::of(visit, op::no_member(id).into())),
    }
}

fn standing(visit: &Visit, run: &RunId, one: &OrgMember) -> Markup {
    let lang = visit.lang();
    let at = member_at(run, &one.agent_id);
    // A model's spending is not an event, so the page polls while the member is working.
    let mut again = [live::on("society"), live::on("task~")].join(", ");
    if one.status == MemberStatus::Working {
        again += ", every 3s";
    }
    let held = matches!(one.status, MemberStatus::Paused | MemberStatus::Parked);
    html! {
        div #standing hx-get={ (at) "/standing" } hx-trigger=(again) hx-swap="morph:outerHTML" {
            div.row.head {
                (member_pill(visit, one.status)) span.pill { (labels::role(&one.role_name, lang)) }
                @if let Some(above) = &one.parent_agent_id { span.muted { (lang.say("hired by ", "雇用者：")) a href=(member_at(run, above)) { (above) } } }
                @if let Some(doing) = &one.doing { span.mono.muted { (doing) } }
                span.grow {}
                @if one.status != MemberStatus::Gone && visit.may_change(&DEEDS) {
                    div.actions {
                        form method="post" action={ (at) "/hold" } {
                            input type="hidden" name="csrf" value=(visit.csrf);
                            @if held { button.main name="deed" value="resume" { (lang.say("Resume", "继续")) } }
                            @else { button name="deed" value="pause" { (lang.say("Pause", "暂停")) } }
                            label.check { input type="checkbox" name="subtree" value="1"; " " (lang.say("and all below", "包括下属")) }
                        }
                        @if one.parent_agent_id.is_some() { a.button.danger href={ (at) "/terminate" } { (lang.say("Terminate", "终止")) } }
                    }
                }
            }
            @if let Some(why) = &one.why { p.notice.warn { (why) } }
            @if !one.objective.is_empty() { p { (one.objective) } }
        }
    }
}
