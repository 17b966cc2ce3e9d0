//! The list of dangerous commands: an early and friendly refusal.
//!
//! It is not the wall. The kernel confines whatever runs; this only says at once, in a sentence,
//! what would fail there anyway. So it looks at words as the shell would make them, follows
//! programs that run others, and lets everything pass that cannot be known before it runs, such as
//! `$(echo su)do`. A word that is only mentioned (`grep shutdown log`) is no command.
//!
//! `shell` finds the commands in a line, `runner` those behind `env`, `sh -c` and the like,
//! `danger` has the list itself.

mod danger;
mod runner;
mod shell;

use super::command::MAX_COMMAND_BYTES;
use crate::refusal::{Code, Details, Refusal};

/// Refuses what is no command, and what is on the list of dangerous ones.
pub fn check(command: &str) -> Result<(), Refusal> {
    usable(command)?;
    shell::read(command, &mut runner::inspect).map_err(|danger| refused(danger.0))
}

/// Whether it can be a command at all.
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

/// Something dangerous, by its name in the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Danger(&'static str);

#[cfg(test)]
mod tests;
