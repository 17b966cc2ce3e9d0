//! Last part of `polis demo board`: a member of the team writes a program into the workspace and runs it in the
//! sandbox.

use polis_core::workspace::command::RunCommand;
use polis_core::workspace::file::WriteFile;
use polis_core::{AgentId, Code};
use polis_ops::op::{self, CommandResult, Desk, Follow};
use polis_ops::{OpError, Polis};

use super::say;
use crate::context::Context;
use crate::error::Failure;
use crate::output::Output;

/// The program that is written and run.
const PROGRAM: &str =
    "test \"$(id -u)\" != 0 && test \"$(ls)\" = check.sh && echo \"all checks passed\"\n";

/// Writes the program, runs it, tries to read outside the sandbox, and prints the results.
pub(super) fn show(context: &Context, out: &Output) -> Result<(), Failure> {
    let tester: AgentId = "test-leader".parse()?;
    let write = WriteFile {
        path: "check.sh".to_owned(),
        content: PROGRAM.to_owned(),
        ..WriteFile::default()
    };
    let desk = Desk::own(&tester);
    context.run(op::write_file(&context.polis, desk, &write))?;
    let checked = match context.run(run(&context.polis, desk, "sh check.sh")) {
        Ok(result) => result,
        Err(error) if error.code() == Code::SandboxUnavailable => {
            return say(
                out,
                "This machine cannot confine commands, so none was run; `polis doctor` says why.",
            );
        }
        Err(error) => return Err(error.into()),
    };
    let peeked = context.run(run(&context.polis, desk, "cat /etc/shadow"))?;
    say(
        out,
        &format!(
            "In the team's workspace {tester} wrote check.sh and ran it in a sandbox ({}): {}. What lies outside: {}.",
            checked.sandbox.as_str(),
            checked.stdout.trim(),
            peeked.stderr.trim()
        ),
    )
}

async fn run(polis: &Polis, desk: Desk<'_>, command: &str) -> Result<CommandResult, OpError> {
    let params = RunCommand {
        command: command.to_owned(),
        timeout_ms: None,
    };
    let run = op::run_command(polis, desk, &params, Follow::default()).await?;
    Ok(run.answer)
}
