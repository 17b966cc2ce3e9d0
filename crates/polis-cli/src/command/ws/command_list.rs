//! `polis ws commands`: lists the commands that ran in a workspace, and shows one with its output.

use clap::Args;
use polis_core::Timestamp;
use polis_core::workspace::command_outcome::CommandEnding;
use polis_core::workspace::signal::signal_name;
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{self, CommandEntry, CommandView, ListCommandsParams, ShowCommandParams};

use super::{WorkspaceArg, format_bytes};
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, TextTable, sanitize_line};

/// Maximum length of a command in the list, in characters.
const MAX_COMMAND_CHARS: usize = 60;

/// List past and running commands, newest first, or show the output of one of them.
#[derive(Debug, Args)]
pub(crate) struct WsCommandsArgs {
    /// Command id: show its output, even while it runs
    #[arg(value_name = "ID", conflicts_with_all = ["by", "running", "limit", "before", "of"])]
    id: Option<String>,
    /// Only commands of this agent
    #[arg(long, value_name = "AGENT")]
    by: Option<String>,
    /// Only running commands
    #[arg(long)]
    running: bool,
    /// Maximum number of commands; default: 50, at most 200
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Continue before this command: the `next` of the previous page
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    #[command(flatten)]
    of: WorkspaceArg,
}

impl WsCommandsArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        if let Some(id) = self.id {
            let params = ShowCommandParams { id };
            let view = context.block_on(op::show_command(&context.request(), &params))?;
            return out.print_result(&view, |view| render_command(view, out.lang()));
        }
        let params = ListCommandsParams {
            workspace: self.of.agent_id()?,
            agent: self.by.as_deref().map(str::parse).transpose()?,
            running: self.running.then_some(true),
            before: self.before,
            limit: self.limit,
        };
        let list = context.block_on(op::list_commands(&context.request(), &params))?;
        let lang = out.lang();
        out.print_result(&list, |list| {
            if list.commands.is_empty() {
                return msg::cli_workspace_no_commands(lang).to_owned();
            }
            let mut table = TextTable::new(&[
                msg::cli_column_id(lang),
                msg::cli_column_agent(lang),
                msg::cli_workspace_started_column(lang),
                msg::cli_column_status(lang),
                msg::cli_workspace_output_column(lang),
                msg::cli_workspace_command_column(lang),
            ]);
            for entry in &list.commands {
                table.push_row(command_row(entry, lang));
            }
            let mut text = table.render(out);
            if let Some(next) = &list.next {
                text.push('\n');
                text.push_str(&msg::cli_workspace_more_commands(lang, next));
            }
            text
        })
    }
}

fn command_row(entry: &CommandEntry, lang: UiLanguage) -> [String; 6] {
    let mut command: String = sanitize_line(&entry.command)
        .chars()
        .take(MAX_COMMAND_CHARS)
        .collect();
    if command.len() < entry.command.len() {
        command.push('…');
    }
    [
        entry.id.clone(),
        entry.agent.to_string(),
        format_start_time(&entry.started_at),
        command_state(entry, lang),
        format_bytes(entry.output_bytes),
        command,
    ]
}

fn format_start_time(at: &Timestamp) -> String {
    at.as_str().to_owned()
}

fn command_state(entry: &CommandEntry, lang: UiLanguage) -> String {
    let Some(outcome) = &entry.outcome else {
        let state = if entry.running {
            msg::cli_workspace_command_running(lang)
        } else {
            msg::cli_workspace_command_interrupted(lang)
        };
        return state.to_owned();
    };
    let ending = match outcome.ending {
        CommandEnding::TimedOut => msg::cli_workspace_command_timed_out(lang).to_owned(),
        CommandEnding::OutOfMemory => msg::cli_workspace_command_out_of_memory(lang).to_owned(),
        CommandEnding::Killed(signal) => signal_name(signal),
        CommandEnding::Exited(code) => msg::cli_workspace_command_exit(lang, code),
        CommandEnding::Cancelled => msg::cli_workspace_command_cancelled(lang).to_owned(),
    };
    msg::cli_workspace_command_ended(lang, ending, outcome.duration_ms)
}

fn render_command(view: &CommandView, lang: UiLanguage) -> String {
    let entry = &view.entry;
    let state = command_state(entry, lang);
    let title = msg::cli_workspace_command_title(lang, &entry.agent, &entry.workspace, state);
    let mut text = format!("{title}\n{}\n", sanitize_line(&entry.command));
    if view.omitted > 0 {
        let omitted = msg::cli_workspace_output_omitted(lang, format_bytes(view.omitted));
        text.push_str(&omitted);
        text.push('\n');
    }
    for line in view.output.lines() {
        text.push_str(&sanitize_line(line));
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}
