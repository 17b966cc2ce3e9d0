//! Agents and their current work, the tasks in progress, and the overall counts.

use maud::{Markup, html};
use polis_core::society::member::MemberStatus;
use polis_ops::op::{AgentNow, Now, Overview};
use polis_view::labels;

use crate::request_context::Visit;
use crate::time_ago::ago;
use crate::timeline::{href, somebody};

/// Maximum number of tasks and of busy agents shown; the others are behind a link.
const SHOWN: usize = 10;
/// Maximum number of idle agents named.
const IDLE_SHOWN: usize = 12;

/// Renders the overall counts.
pub(super) fn counts(visit: &Visit, counts: &Overview) -> Markup {
    let items = [
        (
            visit.say("in progress", "进行中"),
            counts.in_progress,
            "/tasks",
        ),
        (visit.say("pending", "待处理"), counts.pending, "/tasks"),
        (visit.say("completed", "已完成"), counts.completed, "/tasks"),
        (
            visit.say(
                one(counts.agents, "registered agent", "registered agents"),
                "已注册智能体",
            ),
            counts.agents,
            "/agents",
        ),
        (
            visit.say(one(counts.events, "event", "events"), "事件"),
            counts.events,
            "/events",
        ),
    ];
    html! {
        p.row #counts {
            @for (name, number, to) in items {
                a.pill href=(to) { b { (number) } " " (name) }
            }
        }
    }
}

/// Returns the singular or the plural.
fn one(count: u64, single: &'static str, many: &'static str) -> &'static str {
    if count == 1 { single } else { many }
}

/// Renders the tasks in progress.
pub(super) fn tasks(visit: &Visit, now: &Now) -> Markup {
    html! {
        section.card aria-labelledby="tasks-title" {
            h2 #tasks-title { (visit.say("In progress", "进行中的任务")) span.count { (now.counts.in_progress) } }
            @if now.tasks.is_empty() {
                div.empty {
                    p { (visit.say("Nobody works on a task right now.", "现在没有进行中的任务。")) }
                    p { a.button.main href="/tasks/new" { (visit.say("Create a task", "创建任务")) } }
                }
            }
            ul.list {
                @for task in now.tasks.iter().take(SHOWN) {
                    li.row data-row {
                        div.grow {
                            a href={ "/tasks/" (task.id) } { "#" (task.id) " " (task.subject) }
                            @if let Some(kind) = task.task_type { " " span.pill { (labels::task_type(kind, visit.lang())) } }
                            @if task.stale { " " span.pill.warn { (visit.say("lease ran out", "租约已过期")) } }
                        }
                        @if task.owner.is_empty() { span.muted { (visit.say("nobody", "无人")) } }
                        @else { (somebody(&task.owner)) }
                        @if let Some(at) = &task.updated_at { (ago(visit, at)) }
                    }
                }
            }
            @if now.tasks.len() > SHOWN { p { a href="/tasks" { (visit.say("All of them", "查看全部")) } } }
        }
    }
}

/// Renders the agents, busy ones first.
pub(super) fn agents(visit: &Visit, now: &Now) -> Markup {
    let (idle, busy): (Vec<&AgentNow>, Vec<&AgentNow>) = now
        .agents
        .iter()
        .partition(|agent| agent.status == MemberStatus::Idle);
    let hidden = now
        .agents_total
        .saturating_sub(u64::try_from(busy.len()).unwrap_or(0));
    let hidden = hidden.saturating_sub(u64::try_from(idle.len().min(IDLE_SHOWN)).unwrap_or(0));
    html! {
        section.card aria-labelledby="agents-title" {
            h2 #agents-title { (visit.say("Agents", "智能体")) span.count { (now.agents_total) }
                // Every open run has a root, which is not counted in the registry.
                @let roots = now.agents_total.saturating_sub(now.counts.agents);
                @if roots > 0 {
                    span.count { (visit.say(
                        format!("{} registered, {roots} {} of runs", now.counts.agents, one(roots, "root", "roots")),
                        format!("已注册 {} 个，运行的 root {roots} 个", now.counts.agents),
                    )) }
                } }
            @if now.agents.is_empty() {
                div.empty {
                    p { (visit.say("No agents yet. Register one, or start a society:", "还没有智能体。注册一个，或启动一个社会：")) }
                    pre { code { "polis agent add ada --role architect\npolis run \"…\"" } }
                }
            }
            ul.list {
                @for agent in busy.iter().take(SHOWN) { (busy_one(visit, agent)) }
            }
            @if busy.len() > SHOWN {
                p.small { a href="/agents" { "+" (busy.len() - SHOWN) " " (visit.say("at work", "工作中")) } }
            }
            @if !idle.is_empty() {
                p.row.small {
                    span.muted { (visit.say("Idle:", "空闲：")) }
                    @for agent in idle.iter().take(IDLE_SHOWN) { (name(agent)) }
                    @if hidden > 0 { a href="/agents" { "+" (hidden) } }
                }
            }
        }
    }
}

fn busy_one(visit: &Visit, agent: &AgentNow) -> Markup {
    let lang = visit.lang();
    html! {
        li data-row {
            div.row {
                span.grow { (name(agent)) " " span.muted.small { (labels::role(&agent.role, lang)) } }
                span class={ "pill status-" (agent.status.as_str()) } { (labels::member(agent.status, lang)) }
            }
            @if let Some(tool) = &agent.doing { div.small { (visit.say("in ", "正在调用 ")) code { (tool) } } }
            @if let Some(why) = &agent.why { div.small.muted.cut { (why) } }
            @if let Some(task) = agent.task {
                div.small { a href={ "/tasks/" (task) } { (visit.say("task", "任务")) " #" (task) }
                    @if let Some(since) = &agent.since { " · " (ago(visit, since)) } }
            }
        }
    }
}

/// Renders an agent's name with a link to its page; `root` has one in every run.
fn name(agent: &AgentNow) -> Markup {
    match &agent.run {
        Some(run) => {
            let page = href(&format!("run/{run}")).unwrap_or_default();
            html! { a href={ (page) "/of/" (agent.id) } { (agent.name) } }
        }
        None => html! { a href={ "/agents/" (agent.id) } { (agent.name) } },
    }
}
