//! Command log of a workspace: finished and running commands with their output, with live updates while they run.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::AgentId;
use polis_core::token::{Access, Area};
use polis_ops::op::{self, CommandEntry, CommandView, ListCommands, ShowCommand};
use polis_view::command::{self, Ending};
use polis_view::{number_format, time};
use serde::Deserialize;

use super::workspace_url;
use crate::error_page::{OrRefuse as _, Refused};
use crate::extract::{Path, Query};
use crate::layout::{Tab, page, part};
use crate::request_context::Visit;
use crate::time_ago::ago;

/// Number of commands per page.
const AT_ONCE: u32 = 30;

#[derive(Debug, Default, Deserialize)]
pub(super) struct Asked {
    before: Option<String>,
    #[serde(default)]
    id: String,
}

/// Returns the command log fragment, or a page of older commands.
pub(super) async fn refresh(
    visit: Visit,
    Path(id): Path<AgentId>,
    Query(asked): Query<Asked>,
) -> Result<Response, Refused> {
    visit.check(Area::Commands, Access::Read)?;
    let Some(before) = asked.before else {
        return Ok(part(log(&visit, &id).await?));
    };
    let list = read(&visit, &id, Some(before)).await?;
    Ok(part(rows(&visit, &id, &list)))
}

async fn read(
    visit: &Visit,
    id: &AgentId,
    before: Option<String>,
) -> Result<op::CommandList, Refused> {
    let request = ListCommands {
        workspace: Some(id.clone()),
        before,
        limit: Some(AT_ONCE),
        ..ListCommands::default()
    };
    let list = op::list_commands(&visit.polis, &visit.me, &request).await;
    list.or_refuse(visit)
}

/// Renders the newest commands of a workspace, if the session may read commands.
pub(super) async fn log(visit: &Visit, id: &AgentId) -> Result<Markup, Refused> {
    if !visit.allows(Area::Commands, Access::Read) {
        return Ok(html! {});
    }
    let list = read(visit, id, None).await?;
    let running = list.commands.iter().any(|one| one.running);
    // The output of a running command is stored about twice a second without an event, so it is polled.
    let on = match running {
        true => "polis:command from:body, every 2s",
        false => "polis:command from:body",
    };
    let again = workspace_url::commands(id.as_str(), None);
    Ok(html! {
        section #commands.card hx-get=(again) hx-trigger=(on) hx-swap="morph:outerHTML" {
            h2 { (visit.say("Commands", "命令")) }
            @if list.commands.is_empty() {
                p.muted { (visit.say("No command has run here yet.", "这里还没有运行过命令。")) }
            } @else { ul.list.commands { (rows(visit, id, &list)) } }
        }
    })
}

fn rows(visit: &Visit, id: &AgentId, list: &op::CommandList) -> Markup {
    html! {
        @for one in &list.commands { (row(visit, id, one)) }
        @if let Some(next) = &list.next {
            li hx-get=(workspace_url::commands(id.as_str(), Some(next)))
                hx-trigger="intersect once" hx-swap="outerHTML" {
                span.muted { (visit.say("earlier commands …", "更早的命令……")) }
            }
        }
    }
}

fn row(visit: &Visit, id: &AgentId, one: &CommandEntry) -> Markup {
    html! {
        li data-row data-command=(one.id) id={ "c-" (one.id) } {
            div.row {
                (ending(visit, one))
                a.mono.cut.grow href=(page_of(id, &one.id)) { (one.command) @if one.command_cut { "…" } }
            }
            p.muted.small { (one.agent) " · " (ago(visit, &one.started_at))
                @if let Some(ms) = one.duration_ms { " · " (took(visit, ms)) }
                @if one.output_bytes > 0 { " · " (number_format::bytes(one.output_bytes)) } }
        }
    }
}

fn page_of(id: &AgentId, command: &str) -> String {
    workspace_url::command(id.as_str(), command)
}

fn took(visit: &Visit, millis: u64) -> String {
    time::span(i64::try_from(millis).unwrap_or(i64::MAX), visit.lang())
}

/// Renders the status or result of a command.
fn ending(visit: &Visit, one: &CommandEntry) -> Markup {
    let (ending, text) = command::ending(one, visit.lang());
    let class = match ending {
        Ending::Running => "pill accent",
        Ending::Good => "pill good",
        Ending::Open => "pill warn",
        Ending::Bad => "pill bad",
    };
    html! { span class=(class) { (text) } }
}

/// Returns the page of a command, or its output fragment.
pub(super) async fn show(
    visit: Visit,
    Path(id): Path<AgentId>,
    Query(asked): Query<Asked>,
) -> Result<Response, Refused> {
    visit.check(Area::Commands, Access::Read)?;
    let request = ShowCommand { id: asked.id };
    let view = op::show_command(&visit.polis, &visit.me, &request).await;
    let view = view.or_refuse(&visit)?;
    let output = output(&visit, &id, &view);
    if visit.part {
        return Ok(part(output));
    }
    let body = html! {
        p { a href=(workspace_url::of(id.as_str())) { "← " (id) } }
        (output)
    };
    let title = visit.say("Command", "命令");
    let live = if view.entry.running { "command" } else { "" };
    Ok(page(&visit, Tab::Workspaces, title, live, &body))
}

fn output(visit: &Visit, id: &AgentId, view: &CommandView) -> Markup {
    let one = &view.entry;
    let again = one.running.then(|| page_of(id, &one.id));
    let on = one.running.then_some("polis:command from:body, every 1s");
    let swap = one.running.then_some("morph:outerHTML");
    html! {
        section #command.card hx-get=[again] hx-trigger=[on] hx-swap=[swap] {
            pre tabindex="0" { code { (one.command) @if one.command_cut { "…" } } }
            p { (ending(visit, one)) " " span.muted {
                (one.agent) " · " (ago(visit, &one.started_at))
                @if let Some(ms) = one.duration_ms { " · " (took(visit, ms)) }
                " · " (number_format::bytes(one.output_bytes)) } }
            @if view.omitted > 0 {
                p.muted { (visit.say(
                    format!("The first {} are left out.", number_format::bytes(view.omitted)),
                    format!("前 {} 未显示。", number_format::bytes(view.omitted)),
                )) }
            }
            @if view.output.is_empty() { p.muted { (visit.say("It wrote nothing.", "没有输出。")) } }
            @else { pre.out.whole data-tail tabindex="0" { (view.output) } }
        }
    }
}
