//! Current work on the overview page: renders the agents with what each is doing, the tasks in progress, and
//! the numbers of tasks, agents and events.

use maud::{Markup, html};
use polis_core::society::member::MemberStatus;
use polis_i18n::msg;
use polis_ops::op::{AgentActivity, OverviewCounts, OverviewSnapshot};
use polis_view::labels;

use crate::component::time_ago::render_time_ago;
use crate::component::timeline::{render_agent_link, subject_url};
use crate::request::request_context::RequestContext;

/// Maximum number of tasks and of busy agents shown; the others are behind a link.
const MAX_SHOWN_ROWS: usize = 10;
/// Maximum number of idle agents named.
const MAX_SHOWN_IDLE_AGENTS: usize = 12;

/// Renders the overall counts.
pub(super) fn render_counts(context: &RequestContext, counts: &OverviewCounts) -> Markup {
    let items = [
        (
            msg::overview_count_in_progress(context.lang()),
            counts.in_progress,
            "/tasks",
        ),
        (
            msg::overview_count_pending(context.lang()),
            counts.pending,
            "/tasks",
        ),
        (
            msg::overview_count_completed(context.lang()),
            counts.completed,
            "/tasks",
        ),
        (
            msg::overview_count_registered_agents(context.lang(), counts.agents),
            counts.agents,
            "/agents",
        ),
        (
            msg::overview_count_events(context.lang(), counts.events),
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

/// Renders the tasks in progress.
pub(super) fn render_active_tasks(context: &RequestContext, now: &OverviewSnapshot) -> Markup {
    html! {
        section.card aria-labelledby="tasks-title" {
            h2 #tasks-title { (msg::overview_tasks_in_progress(context.lang())) span.count { (now.counts.in_progress) } }
            @if now.tasks.is_empty() {
                div.empty {
                    p { (msg::overview_no_task_in_progress(context.lang())) }
                    p { a.button.main href="/tasks/new" { (msg::overview_create_task(context.lang())) } }
                }
            }
            ul.list {
                @for task in now.tasks.iter().take(MAX_SHOWN_ROWS) {
                    li.row data-row {
                        div.grow {
                            a href={ "/tasks/" (task.id) } { "#" (task.id) " " (task.subject) }
                            @if let Some(kind) = task.task_type { " " span.pill { (labels::task_type_label(kind, context.lang())) } }
                            @if task.stale { " " span.pill.warn { (msg::overview_lease_expired(context.lang())) } }
                        }
                        @if task.owner.is_empty() { span.muted { (msg::overview_unassigned(context.lang())) } }
                        @else { (render_agent_link(&task.owner)) }
                        @if let Some(at) = &task.updated_at { (render_time_ago(context, at)) }
                    }
                }
            }
            @if now.tasks.len() > MAX_SHOWN_ROWS { p { a href="/tasks" { (msg::overview_view_all(context.lang())) } } }
        }
    }
}

/// Renders the agents: busy ones with what they do, then the names of idle ones.
pub(super) fn render_agents(context: &RequestContext, now: &OverviewSnapshot) -> Markup {
    let (idle, busy): (Vec<&AgentActivity>, Vec<&AgentActivity>) = now
        .agents
        .iter()
        .partition(|agent| agent.status == MemberStatus::Idle);
    let hidden = now
        .agents_total
        .saturating_sub(u64::try_from(busy.len()).unwrap_or(0));
    let hidden =
        hidden.saturating_sub(u64::try_from(idle.len().min(MAX_SHOWN_IDLE_AGENTS)).unwrap_or(0));
    html! {
        section.card aria-labelledby="agents-title" {
            h2 #agents-title { (msg::common_tab_agents(context.lang())) span.count { (now.agents_total) }
                // Every open run has a root, which is not counted in the registry.
                @let roots = now.agents_total.saturating_sub(now.counts.agents);
                @if roots > 0 {
                    span.count { (msg::overview_registered_and_roots(context.lang(), now.counts.agents, roots)) }
                } }
            @if now.agents.is_empty() {
                div.empty {
                    p { (msg::overview_no_agents(context.lang())) }
                    pre { code { "polis agent add ada --role architect\npolis run \"…\"" } }
                }
            }
            ul.list {
                @for agent in busy.iter().take(MAX_SHOWN_ROWS) { (render_busy_agent(context, agent)) }
            }
            @if busy.len() > MAX_SHOWN_ROWS {
                p.small { a href="/agents" { "+" (busy.len() - MAX_SHOWN_ROWS) " " (msg::overview_agents_working(context.lang())) } }
            }
            @if !idle.is_empty() {
                p.row.small {
                    span.muted { (msg::overview_agents_idle(context.lang())) }
                    @for agent in idle.iter().take(MAX_SHOWN_IDLE_AGENTS) { (render_agent_name(agent)) }
                    @if hidden > 0 { a href="/agents" { "+" (hidden) } }
                }
            }
        }
    }
}

fn render_busy_agent(context: &RequestContext, agent: &AgentActivity) -> Markup {
    let lang = context.lang();
    html! {
        li data-row {
            div.row {
                span.grow { (render_agent_name(agent)) " " span.muted.small { (labels::role_label(&agent.role, lang)) } }
                span class={ "pill status-" (agent.status.as_str()) } { (labels::member_status_label(agent.status, lang)) }
            }
            @if let Some(tool) = &agent.running_tool { div.small { (msg::overview_calling_prefix(context.lang())) code { (tool) } } }
            @if let Some(why) = agent.reason_text(lang) { div.small.muted.cut { (why) } }
            @if let Some(task) = agent.task {
                div.small { a href={ "/tasks/" (task) } { (msg::overview_task_label(context.lang())) " #" (task) }
                    @if let Some(since) = &agent.since { " · " (render_time_ago(context, since)) } }
            }
        }
    }
}

/// Renders an agent's name with a link to its page; `root` has one in every run.
fn render_agent_name(agent: &AgentActivity) -> Markup {
    match &agent.run {
        Some(run) => {
            let page = subject_url(&format!("run/{run}")).unwrap_or_default();
            html! { a href={ (page) "/members/" (agent.id) } { (agent.name) } }
        }
        None => html! { a href={ "/agents/" (agent.id) } { (agent.name) } },
    }
}
