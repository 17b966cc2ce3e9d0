//! Running commands with the end of their output so far.
//!
//! While a command runs, its output is polled every second, because it grows without an event. New commands are
//! detected on events and by slower polling.

use axum::response::Response;
use maud::{Markup, html};
use polis_core::token::{Access, Area};
use polis_ops::op::{self, CommandView, ListCommands, ShowCommand};

use crate::error_page::{OrRefuse as _, Refused};
use crate::layout::part;
use crate::request_context::Visit;
use crate::time_ago::ago;
use crate::timeline::{href, somebody};

/// Maximum number of commands shown with their output.
const SHOWN: usize = 6;
/// Maximum number of commands counted.
const COUNTED: u32 = 50;

/// The running commands: the newest with their output, and the total number.
struct Running {
    shown: Vec<CommandView>,
    all: usize,
    /// Whether there are more than were counted.
    more: bool,
}

pub(super) async fn refresh(visit: Visit) -> Result<Response, Refused> {
    visit.check(Area::Commands, Access::Read)?;
    Ok(part(section(&visit).await?))
}

/// Renders the running commands; empty while there are none.
pub(super) async fn section(visit: &Visit) -> Result<Markup, Refused> {
    if !visit.allows(Area::Commands, Access::Read) {
        return Ok(html! {});
    }
    let running = running(visit).await?;
    let hidden = running.all.saturating_sub(running.shown.len());
    let trigger = if running.shown.is_empty() {
        "polis:event from:body, every 5s"
    } else {
        "every 1s"
    };
    Ok(html! {
        div #running hx-get="/now/commands" hx-trigger=(trigger) hx-swap="morph:outerHTML" {
            @if !running.shown.is_empty() {
                h2 { (visit.say("Running commands", "正在运行的命令")) " "
                    span.count { (running.all) @if running.more { "+" } } }
                @for command in &running.shown { (one(visit, command)) }
                @if hidden > 0 {
                    p.muted { (visit.say(
                        format!("{hidden} more run; they are in the command logs of their workspaces."),
                        format!("另有 {hidden} 个正在运行，见各工作区的命令日志。"),
                    )) }
                }
            }
        }
    })
}

async fn running(visit: &Visit) -> Result<Running, Refused> {
    let params = ListCommands {
        running: Some(true),
        limit: Some(COUNTED),
        ..ListCommands::default()
    };
    let listed = match op::list_commands(&visit.polis, &visit.me, &params).await {
        Ok(listed) => listed,
        // A caller without a workspace runs no commands.
        Err(error) if error.code() == polis_core::Code::WorkspaceNotAssigned => {
            return Ok(Running {
                shown: Vec::new(),
                all: 0,
                more: false,
            });
        }
        Err(error) => return Err(Refused::of(visit, error)),
    };
    let (all, more) = (listed.commands.len(), listed.next.is_some());
    let mut shown = Vec::with_capacity(SHOWN);
    for entry in listed.commands.into_iter().take(SHOWN) {
        let asked = ShowCommand { id: entry.id };
        match op::show_command(&visit.polis, &visit.me, &asked).await {
            Ok(view) => shown.push(view),
            // It has ended and was deleted since it was listed.
            Err(error) if error.kind() == polis_core::Kind::NotFound => {}
            Err(error) => return Err(error).or_refuse(visit),
        }
    }
    Ok(Running { shown, all, more })
}

fn one(visit: &Visit, view: &CommandView) -> Markup {
    let entry = &view.entry;
    let place = href(&format!("workspace/{}", entry.workspace));
    html! {
        article.card id={ "command-" (entry.id.replace('/', "-")) } data-command=(entry.id) {
            div.row {
                code.grow.cut { (entry.command) }
                @if entry.running { span.pill.accent { (visit.say("runs", "运行中")) } }
                span.small { (somebody(entry.agent.as_str()))
                    @if let Some(place) = place { " · " a href=(place) { (visit.say("workspace", "工作区")) } }
                    " · " (ago(visit, &entry.started_at)) }
            }
            @if view.omitted > 0 {
                p.small.muted { (visit.say("The beginning is left out.", "开头部分已省略。")) }
            }
            pre.out data-tail tabindex="0" aria-label=(visit.say("Output", "输出")) { (view.output) }
        }
    }
}
