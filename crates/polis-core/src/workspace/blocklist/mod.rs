//! Blocklist of dangerous commands: an early refusal with a helpful message.
//!
//! It is not the security boundary. The sandbox confines every command; the blocklist only reports at once, in
//! a sentence, what would fail there anyway. So it examines words as the shell would expand them, follows
//! programs that run other programs, and lets everything pass that is only known at run time, such as `$(echo
//! su)do`. A word that is only mentioned (`grep shutdown log`) is not a command.
//!
//! `shell` finds the commands in a line, `runner` those behind `env`, `sh -c` and similar wrappers, and
//! `danger` contains the list itself.

mod danger;
mod runner;
mod shell;

use super::command::MAX_COMMAND_BYTES;
use crate::refusal::{Code, Details, Refusal};

/// Fails with `invalid_command` if the text cannot be a command, and with `command_blocked` if it is on the
/// blocklist.
pub fn check(command: &str) -> Result<(), Refusal> {
    usable(command)?;
    shell::read(command, &mut runner::inspect).map_err(|danger| refused(danger.0))
}

/// Checks that the text can be a command at all.
fn usable(command: &str) -> Result<(), Refusal> {
    let invalid = |message: String, hint: &str| Refusal::new(Code::InvalidCommand, message, hint);
    if command.trim().is_empty() {
        return Err(invalid(
            "The command is empty.".into(),
            "give a line of shell, such as `ls -l`",
        ));
    }
    if command.contains('\0') {
        return Err(invalid(
            "The command has a NUL character in it, which no shell takes.".into(),
            "take it out; `printf '\\000'` makes one while the command runs",
        ));
    }
    if command.len() > MAX_COMMAND_BYTES {
        return Err(invalid(
            format!(
                "The command is {} bytes long; at most {MAX_COMMAND_BYTES} are possible.",
                command.len()
            ),
            "write it to a file of the workspace and run that",
        ));
    }
    Ok(())
}

fn refused(what: &str) -> Refusal {
    Refusal::new(
        Code::CommandBlocked,
        format!("Dangerous command refused: {what}."),
        "leave it out: commands act in the workspace alone, as an ordinary user and without devices",
    )
    .with(Details::Blocked {
        reason: format!("危险命令被禁止: {what}"),
    })
}

/// A dangerous command, by its name in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Danger(&'static str);

#[cfg(test)]
mod tests;
