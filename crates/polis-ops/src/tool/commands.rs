//! Tools for commands: running one, and reading the command history.

use polis_core::workspace::command::RunCommand;

use super::Tool;
use super::registry::{Call, Reply, Told, tool};
use super::truncation::{PAGE, ends, fit, join, more};
use crate::op::{
    self, CommandEntry, CommandList, CommandResult, CommandView, Desk, ListCommands, Noted,
    ShowCommand,
};

/// The command tools.
pub(super) const TOOLS: &[Tool] = &[
    tool!("run_command", Commands, Change, RunCommand => Noted<CommandResult>, run, { usual, listed, outside },
        "Run a shell line in your workspace, sandboxed."),
    tool!("list_commands", Commands, Look, ListCommands => CommandList, list, {},
        "List the commands that ran or run, newest first."),
    tool!("show_command", Commands, Look, ShowCommand => CommandView, show, {},
        "Read what a command wrote, while it runs too."),
];

/// Maximum number of bytes of stdout and stderr in a result for a model.
const STDOUT: usize = 16_000;
const STDERR: usize = 8_000;

async fn run(call: Call<'_>, given: RunCommand) -> Told<Noted<CommandResult>> {
    let desk = Desk::own(call.by);
    let mut done = op::run_command(call.polis, desk, &given, call.follow).await?;
    if call.brief {
        shorten(&mut done.answer);
    }
    let result = &done.answer;
    let mut text = format!("exit code {}", result.exit_code);
    if let Some(signal) = &result.signal {
        text.push_str(&format!(" ({signal})"));
    }
    if result.out_of_memory {
        text.push_str(", ended: it used more memory than it may");
    }
    if !result.stdout.is_empty() {
        text.push_str(&format!("\n{}", result.stdout));
    }
    if !result.stderr.is_empty() {
        text.push_str(&format!("\nstderr:\n{}", result.stderr));
    }
    let how = "cut; for all of it send the output to a file and read that";
    let cut = result.truncated.then(|| how.to_owned());
    Ok(Reply::new(done, text).cut(cut))
}

async fn list(call: Call<'_>, mut given: ListCommands) -> Told<CommandList> {
    if call.brief {
        given.limit = given.limit.or(Some(PAGE));
    }
    let mut page = op::list_commands(call.polis, call.by, &given).await?;
    if call.brief && fit(&mut page.commands) {
        page.next = page.commands.last().map(|last| last.id.clone());
    }
    let text = join(page.commands.iter().map(line), "No commands.");
    let cut = more(page.commands.len(), "before", page.next.as_ref());
    Ok(Reply::new(page, text).cut(cut))
}

async fn show(call: Call<'_>, given: ShowCommand) -> Told<CommandView> {
    let mut view = op::show_command(call.polis, call.by, &given).await?;
    if call.brief
        && let Some((shown, left_out)) = ends(&view.output, STDOUT)
    {
        view.output = shown;
        view.omitted = view.omitted.saturating_add(left_out as u64);
    }
    let text = format!("{}\n{}", line(&view.entry), view.output);
    let cut = (view.omitted > 0).then(|| format!("{} bytes are left out", view.omitted));
    Ok(Reply::new(view, text).cut(cut))
}

/// Renders a command on one line.
fn line(entry: &CommandEntry) -> String {
    let stands = match entry.exit_code {
        _ if entry.running => "runs".to_owned(),
        _ if entry.interrupted => "was interrupted".to_owned(),
        _ if entry.timed_out => "ran out of time".to_owned(),
        Some(code) => format!("exit code {code}"),
        None => "was ended".to_owned(),
    };
    let first = entry.command.lines().next().unwrap_or_default();
    format!("{} {}: {first} ({stands})", entry.id, entry.agent)
}

/// Omits the middle of long output: errors are at the end, the command's own progress is at the beginning.
fn shorten(result: &mut CommandResult) {
    if let Some((shown, left_out)) = ends(&result.stdout, STDOUT) {
        result.stdout = shown;
        result.stdout_omitted = result.stdout_omitted.saturating_add(left_out as u64);
        result.truncated = true;
    }
    if let Some((shown, left_out)) = ends(&result.stderr, STDERR) {
        result.stderr = shown;
        result.stderr_omitted = result.stderr_omitted.saturating_add(left_out as u64);
        result.truncated = true;
    }
}
