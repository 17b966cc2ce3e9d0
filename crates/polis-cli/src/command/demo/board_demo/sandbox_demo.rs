//! Last part of `polis demo board`: an agent of the team writes a program into the workspace and runs it in
//! the sandbox, and then tries to read a file outside it.

use polis_core::workspace::command::RunCommandParams;
use polis_core::workspace::file_tools::WriteFileParams;
use polis_core::{AgentId, RefusalCode};
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{self, CommandObservers, CommandResult};
use polis_ops::{OpError, Request};

use super::print_unless_json;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;

/// What the program that is written and run checks.
const CHECKS: &str = "test \"$(id -u)\" != 0 && test \"$(ls)\" = check.sh";

/// Writes the program, runs it, tries to read outside the sandbox, and prints the results.
pub(super) fn run_sandbox_demo(context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
    let lang = out.lang();
    let tester: AgentId = "test-leader".parse()?;
    let write = WriteFileParams {
        path: "check.sh".to_owned(),
        content: format!(
            "{CHECKS} && echo \"{}\"\n",
            msg::cli_demo_checks_passed(lang)
        ),
        ..WriteFileParams::default()
    };
    let request = context.app.request(&tester);
    context.block_on(op::write_file(&request, None, &write))?;
    let checked = match context.block_on(run_in_sandbox(&request, "sh check.sh", lang)) {
        Ok(result) => result,
        Err(error) if error.code() == RefusalCode::SANDBOX_UNAVAILABLE => {
            return print_unless_json(out, msg::cli_demo_sandbox_missing(lang));
        }
        Err(error) => return Err(error.into()),
    };
    let peeked = context.block_on(run_in_sandbox(&request, "cat /etc/shadow", lang))?;
    print_unless_json(
        out,
        &msg::cli_demo_sandbox_result(
            lang,
            &tester,
            checked.sandbox.as_str(),
            checked.stdout.trim(),
            peeked.stderr.trim(),
        ),
    )
}

async fn run_in_sandbox(
    request: &Request,
    command: &str,
    lang: UiLanguage,
) -> Result<CommandResult, OpError> {
    let params = RunCommandParams {
        command: command.to_owned(),
        timeout_ms: None,
    };
    let run = op::run_command(request, None, &params, CommandObservers::default(), lang).await?;
    Ok(run.result)
}
