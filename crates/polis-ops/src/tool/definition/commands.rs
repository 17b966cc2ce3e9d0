//! Tools for commands (running one in the sandbox, and reading the command history): definitions, and handlers
//! that call the operation, shorten its result for a model and render it as text.

use polis_core::workspace::command::RunCommandParams;
use polis_core::workspace::command_outcome::CommandEnding;
use polis_i18n::{UiLanguage, msg};

use super::registry::{ToolContext, ToolReply, ToolResult, tool};
use crate::op::{
    self, CommandEntry, CommandList, CommandResult, CommandView, ListCommandsParams, LoggedResult,
    ShowCommandParams,
};
use crate::tool::Tool;
use crate::tool::truncation::{
    DEFAULT_PAGE_SIZE, fit_entries, head_and_tail, join_lines, next_page_note,
};

/// Definitions of the command tools.
pub(super) const COMMAND_TOOLS: &[Tool] = &[
    tool!("run_command", Commands, Destructive, RunCommandParams => LoggedResult<CommandResult>, run_command, { is_default, is_offered_to_agents, acts_outside_store }),
    tool!("list_commands", Commands, ReadOnly, ListCommandsParams => CommandList, list_commands, {}),
    tool!("show_command", Commands, ReadOnly, ShowCommandParams => CommandView, show_command, {}),
];

/// Maximum number of bytes of stdout and stderr in a result for a model.
const MAX_STDOUT_BYTES: usize = 16_000;
const MAX_STDERR_BYTES: usize = 8_000;

async fn run_command(
    call: ToolContext<'_>,
    params: RunCommandParams,
) -> ToolResult<LoggedResult<CommandResult>> {
    let mut logged_result =
        op::run_command(call.request, None, &params, call.observers, call.lang).await?;
    if call.for_model {
        truncate_output(call.lang, &mut logged_result.result);
    }
    let result = &logged_result.result;
    let mut text = msg::tool_workspace_exit_code(call.lang, result.exit_code);
    if let Some(signal) = &result.signal {
        text.push_str(&msg::tool_workspace_signal(call.lang, signal));
    }
    if result.out_of_memory {
        text.push_str(msg::tool_workspace_out_of_memory(call.lang));
    }
    if !result.stdout.is_empty() {
        text.push_str(&format!("\n{}", result.stdout));
    }
    if !result.stderr.is_empty() {
        text.push_str(&format!("\nstderr:\n{}", result.stderr));
    }
    let note =
        (result.truncated).then(|| msg::tool_workspace_output_truncated(call.lang).to_owned());
    Ok(ToolReply::new(logged_result, text).with_continuation(note))
}

async fn list_commands(
    call: ToolContext<'_>,
    mut params: ListCommandsParams,
) -> ToolResult<CommandList> {
    if call.for_model {
        params.limit = params.limit.or(Some(DEFAULT_PAGE_SIZE));
    }
    let mut page = op::list_commands(call.request, &params).await?;
    if call.for_model && fit_entries(&mut page.commands) {
        page.next = page.commands.last().map(|last| last.id.clone());
    }
    let lines = page.commands.iter();
    let lines = lines.map(|entry| render_command(entry, call.lang));
    let text = join_lines(lines, msg::tool_workspace_no_commands(call.lang));
    let note = next_page_note(call.lang, page.commands.len(), "before", page.next.as_ref());
    Ok(ToolReply::new(page, text).with_continuation(note))
}

async fn show_command(call: ToolContext<'_>, params: ShowCommandParams) -> ToolResult<CommandView> {
    let mut view = op::show_command(call.request, &params).await?;
    if call.for_model
        && let Some((excerpt, left_out)) = head_and_tail(call.lang, &view.output, MAX_STDOUT_BYTES)
    {
        view.output = excerpt;
        view.omitted = view.omitted.saturating_add(left_out as u64);
    }
    let text = format!(
        "{}\n{}",
        render_command(&view.entry, call.lang),
        view.output
    );
    let note =
        (view.omitted > 0).then(|| msg::tool_workspace_output_omitted(call.lang, view.omitted));
    Ok(ToolReply::new(view, text).with_continuation(note))
}

/// Renders a command on one line.
fn render_command(entry: &CommandEntry, lang: UiLanguage) -> String {
    let ending = entry.outcome.as_ref().map(|outcome| outcome.ending);
    let state = match ending {
        _ if entry.running => msg::tool_workspace_command_running(lang).to_owned(),
        None => msg::tool_workspace_command_interrupted(lang).to_owned(),
        Some(CommandEnding::TimedOut) => msg::tool_workspace_command_timed_out(lang).to_owned(),
        Some(CommandEnding::Cancelled) => msg::tool_workspace_command_cancelled(lang).to_owned(),
        Some(ending) => msg::tool_workspace_exit_code(lang, ending.exit_code().unwrap_or_default()),
    };
    let first = entry.command.lines().next().unwrap_or_default();
    msg::tool_workspace_command_line(lang, &entry.id, &entry.agent, first, state)
}

/// Omits the middle of long output: errors are at the end, the command's own progress is at the beginning.
fn truncate_output(lang: UiLanguage, result: &mut CommandResult) {
    if let Some((excerpt, left_out)) = head_and_tail(lang, &result.stdout, MAX_STDOUT_BYTES) {
        result.stdout = excerpt;
        result.stdout_omitted = result.stdout_omitted.saturating_add(left_out as u64);
        result.truncated = true;
    }
    if let Some((excerpt, left_out)) = head_and_tail(lang, &result.stderr, MAX_STDERR_BYTES) {
        result.stderr = excerpt;
        result.stderr_omitted = result.stderr_omitted.saturating_add(left_out as u64);
        result.truncated = true;
    }
}
