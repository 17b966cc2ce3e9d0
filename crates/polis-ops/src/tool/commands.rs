//! The tool that runs commands.

use polis_core::workspace::command::RunCommand;

use super::Tool;
use super::brief::ends;
use super::table::{Call, Reply, Told, tool};
use crate::op::{self, CommandResult, Desk, Noted};

/// The tools of commands.
pub(super) const TOOLS: &[Tool] = &[
    tool!("run_command", Commands, Change, RunCommand => Noted<CommandResult>, run, { usual, listed, outside },
        "Run a shell line in your workspace, sandboxed."),
];

/// How many bytes of a command's output are answered at once, and of its complaints.
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

/// Leaves the middle of long output out: what went wrong stands at the end, what was done at the beginning.
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
