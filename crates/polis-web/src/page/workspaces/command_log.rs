//! Command log of a workspace: the list of finished and running commands, and the page of one command with
//! its output.
//!
//! Events update the list, and the page while its command runs. Both are also polled then, because output is
//! stored without an event.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::AgentId;
use polis_core::number::saturating_cast;
use polis_core::token::{AccessLevel, OperationArea};
use polis_i18n::msg;
use polis_ops::op::{self, CommandEntry, CommandView, ListCommandsParams, ShowCommandParams};
use polis_view::command_result::{self, CommandResultClass};
use polis_view::{number_format, relative_time};
use serde::Deserialize;

use super::workspace_url;
use crate::component::time_ago::render_time_ago;
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::{Tab, html_fragment, tab_page};
use crate::request::extract::{PathParams, QueryParams};
use crate::request::request_context::RequestContext;

/// Number of commands per page.
const COMMANDS_PER_PAGE: u32 = 30;

#[derive(Debug, Default, Deserialize)]
pub(super) struct CommandLogQuery {
    before: Option<String>,
    #[serde(default)]
    id: String,
}

/// Returns the command log fragment, or a page of older commands.
pub(super) async fn refresh_command_log(
    context: RequestContext,
    PathParams(id): PathParams<AgentId>,
    QueryParams(query): QueryParams<CommandLogQuery>,
) -> Result<Response, PageError> {
    let Some(before) = query.before else {
        return Ok(html_fragment(render_command_log(&context, &id).await?));
    };
    let list = load_commands(&context, &id, Some(before)).await?;
    Ok(html_fragment(render_command_rows(&context, &id, &list)))
}

async fn load_commands(
    context: &RequestContext,
    id: &AgentId,
    before: Option<String>,
) -> Result<op::CommandList, PageError> {
    let request = ListCommandsParams {
        workspace: Some(id.clone()),
        before,
        limit: Some(COMMANDS_PER_PAGE),
        ..ListCommandsParams::default()
    };
    let list = op::list_commands(&context.request, &request).await;
    list.or_page_error(context)
}

/// Renders the newest commands of a workspace, if the session may read commands.
pub(super) async fn render_command_log(
    context: &RequestContext,
    id: &AgentId,
) -> Result<Markup, PageError> {
    if !context.may_access(OperationArea::Commands, AccessLevel::Read) {
        return Ok(html! {});
    }
    let list = load_commands(context, id, None).await?;
    let running = list.commands.iter().any(|one| one.running);
    // The output of a running command is stored about twice a second without an event, so it is polled.
    let trigger = if running {
        "polis:command from:body, every 2s"
    } else {
        "polis:command from:body"
    };
    let refresh_url = workspace_url::command_log_url(id.as_str(), None);
    Ok(html! {
        section #commands.card hx-get=(refresh_url) hx-trigger=(trigger) hx-swap="morph:outerHTML" {
            h2 { (msg::command_list_title(context.lang())) }
            @if list.commands.is_empty() {
                p.muted { (msg::command_none_run(context.lang())) }
            } @else { ul.list.commands { (render_command_rows(context, id, &list)) } }
        }
    })
}

fn render_command_rows(context: &RequestContext, id: &AgentId, list: &op::CommandList) -> Markup {
    html! {
        @for one in &list.commands { (render_command_row(context, id, one)) }
        @if let Some(next) = &list.next {
            li hx-get=(workspace_url::command_log_url(id.as_str(), Some(next)))
                hx-trigger="intersect once" hx-swap="outerHTML" {
                span.muted { (msg::command_earlier(context.lang())) }
            }
        }
    }
}

fn render_command_row(context: &RequestContext, id: &AgentId, one: &CommandEntry) -> Markup {
    html! {
        li data-row data-command=(one.id) id={ "c-" (one.id) } {
            div.row {
                (render_command_status(context, one))
                a.mono.cut.grow href=(command_page_url(id, &one.id)) { (one.command) @if one.command_truncated { "…" } }
            }
            p.muted.small { (one.agent) " · " (render_time_ago(context, &one.started_at))
                @if let Some(outcome) = &one.outcome { " · " (format_duration(context, outcome.duration_ms)) }
                @if one.output_bytes > 0 { " · " (number_format::format_bytes(one.output_bytes)) } }
        }
    }
}

fn command_page_url(id: &AgentId, command: &str) -> String {
    workspace_url::command_url(id.as_str(), command)
}

fn format_duration(context: &RequestContext, millis: u64) -> String {
    relative_time::format_duration(saturating_cast::<i64>(millis), context.lang())
}

/// Renders the status or result of a command.
fn render_command_status(context: &RequestContext, one: &CommandEntry) -> Markup {
    let (ending, text) = command_result::describe_command_result(one, context.lang());
    let class = match ending {
        CommandResultClass::Running => "pill accent",
        CommandResultClass::Succeeded => "pill good",
        CommandResultClass::Inconclusive => "pill warn",
        CommandResultClass::Failed => "pill bad",
    };
    html! { span class=(class) { (text) } }
}

/// Returns the page of a command, or its output fragment.
pub(super) async fn show_command(
    context: RequestContext,
    PathParams(id): PathParams<AgentId>,
    QueryParams(query): QueryParams<CommandLogQuery>,
) -> Result<Response, PageError> {
    let request = ShowCommandParams { id: query.id };
    let view = op::show_command(&context.request, &request).await;
    let view = view.or_page_error(&context)?;
    let output = render_command_output(&context, &id, &view);
    if context.is_fragment {
        return Ok(html_fragment(output));
    }
    let body = html! {
        p { a href=(workspace_url::workspace_url(id.as_str())) { "← " (id) } }
        (output)
    };
    let title = msg::command_command_column(context.lang());
    let live = if view.entry.running { "command" } else { "" };
    Ok(tab_page(&context, Tab::Workspaces, title, live, &body))
}

fn render_command_output(context: &RequestContext, id: &AgentId, view: &CommandView) -> Markup {
    let one = &view.entry;
    let refresh_url = one.running.then(|| command_page_url(id, &one.id));
    let trigger = one.running.then_some("polis:command from:body, every 1s");
    let swap = one.running.then_some("morph:outerHTML");
    html! {
        section #command.card hx-get=[refresh_url] hx-trigger=[trigger] hx-swap=[swap] {
            pre tabindex="0" { code { (one.command) @if one.command_truncated { "…" } } }
            p { (render_command_status(context, one)) " " span.muted {
                (one.agent) " · " (render_time_ago(context, &one.started_at))
                @if let Some(outcome) = &one.outcome { " · " (format_duration(context, outcome.duration_ms)) }
                " · " (number_format::format_bytes(one.output_bytes)) } }
            @if view.omitted > 0 {
                p.muted { (msg::command_output_omitted(context.lang(), number_format::format_bytes(view.omitted))) }
            }
            @if view.output.is_empty() { p.muted { (msg::command_no_output(context.lang())) } }
            @else { pre.out.whole data-tail tabindex="0" { (view.output) } }
        }
    }
}
