//! Running commands on the overview, with the end of their output so far.
//!
//! While commands run, they are polled every second, because their output grows without an event. While none
//! runs, new ones are detected on events and by slower polling.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::token::{AccessLevel, OperationArea};
use polis_i18n::msg;
use polis_ops::op::{self, CommandView, ListCommandsParams, ShowCommandParams};

use crate::component::time_ago::render_time_ago;
use crate::component::timeline::{render_agent_link, subject_url};
use crate::error_page::{OrPageError as _, PageError};
use crate::layout::html_fragment;
use crate::request::request_context::RequestContext;

/// Maximum number of commands shown with their output.
const MAX_SHOWN_COMMANDS: usize = 6;
/// Maximum number of commands counted.
const MAX_COUNTED_COMMANDS: u32 = 50;

/// The running commands: the newest with their output, and the total number.
struct RunningCommands {
    shown: Vec<CommandView>,
    total: usize,
    /// Whether there are more than were counted.
    more: bool,
}

pub(super) async fn refresh_running_commands(
    context: RequestContext,
) -> Result<Response, PageError> {
    Ok(html_fragment(render_running_commands(&context).await?))
}

/// Renders the running commands; empty while there are none.
pub(super) async fn render_running_commands(context: &RequestContext) -> Result<Markup, PageError> {
    if !context.may_access(OperationArea::Commands, AccessLevel::Read) {
        return Ok(html! {});
    }
    let running = load_running_commands(context).await?;
    let hidden = running.total.saturating_sub(running.shown.len());
    let trigger = if running.shown.is_empty() {
        "polis:event from:body, every 5s"
    } else {
        "every 1s"
    };
    Ok(html! {
        div #running hx-get="/overview/commands" hx-trigger=(trigger) hx-swap="morph:outerHTML" {
            @if !running.shown.is_empty() {
                h2 { (msg::overview_running_commands(context.lang())) " "
                    span.count { (running.total) @if running.more { "+" } } }
                @for command in &running.shown { (render_running_command(context, command)) }
                @if hidden > 0 {
                    p.muted { (msg::overview_commands_hidden(context.lang(), hidden)) }
                }
            }
        }
    })
}

async fn load_running_commands(context: &RequestContext) -> Result<RunningCommands, PageError> {
    let params = ListCommandsParams {
        running: Some(true),
        limit: Some(MAX_COUNTED_COMMANDS),
        ..ListCommandsParams::default()
    };
    let listed = match op::list_commands(&context.request, &params).await {
        Ok(listed) => listed,
        // A caller without a workspace runs no commands.
        Err(error) if error.code() == polis_core::RefusalCode::WORKSPACE_NOT_ASSIGNED => {
            return Ok(RunningCommands {
                shown: Vec::new(),
                total: 0,
                more: false,
            });
        }
        Err(error) => return Err(PageError::new(context, error)),
    };
    let (all, more) = (listed.commands.len(), listed.next.is_some());
    let mut shown = Vec::with_capacity(MAX_SHOWN_COMMANDS);
    for entry in listed.commands.into_iter().take(MAX_SHOWN_COMMANDS) {
        let command_params = ShowCommandParams { id: entry.id };
        match op::show_command(&context.request, &command_params).await {
            Ok(view) => shown.push(view),
            // It has ended and was deleted since it was listed.
            Err(error) if error.kind() == polis_core::RefusalKind::NotFound => {}
            Err(error) => return Err(error).or_page_error(context),
        }
    }
    Ok(RunningCommands {
        shown,
        total: all,
        more,
    })
}

fn render_running_command(context: &RequestContext, view: &CommandView) -> Markup {
    let entry = &view.entry;
    let url = subject_url(&format!("workspace/{}", entry.workspace));
    html! {
        article.card id={ "command-" (entry.id.replace('/', "-")) } data-command=(entry.id) {
            div.row {
                code.grow.cut { (entry.command) }
                @if entry.running { span.pill.accent { (msg::common_running(context.lang())) } }
                span.small { (render_agent_link(entry.agent.as_str()))
                    @if let Some(url) = url { " · " a href=(url) { (msg::overview_workspace_label(context.lang())) } }
                    " · " (render_time_ago(context, &entry.started_at)) }
            }
            @if view.omitted > 0 {
                p.small.muted { (msg::overview_output_beginning_omitted(context.lang())) }
            }
            pre.out data-tail tabindex="0" aria-label=(msg::command_output(context.lang())) { (view.output) }
        }
    }
}
