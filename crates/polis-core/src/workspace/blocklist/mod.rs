//! Blocklist of dangerous commands: refuses them at once and names the entry of the list, before the sandbox is
//! started.
//!
//! It is not the security boundary: that is the kernel sandbox, which confines every command unless the policy allows
//! tier T2 (resource limits only). So the list understands everyday shell lines and no more. It lets pass what is only
//! known at run time (`$(echo su)do`), what a here-document feeds to a shell, and unusual spellings. A word that is
//! only mentioned (`grep shutdown log`) is not a command.
//!
//! `simple_commands` splits a line into commands, `dangerous_commands` contains the list itself.

mod dangerous_commands;
mod simple_commands;

use crate::refusal::{Refusal, RefusalDetails, WorkspaceRefusal};

/// Maximum depth of scripts within scripts; deeper ones are not examined.
const MAX_SCRIPT_DEPTH: usize = 4;

/// Fails with `command_blocked` if a command is on the blocklist. Takes time in proportion to its length.
pub(super) fn check_blocklist(command: &str) -> Result<(), Refusal> {
    let Some(reason) = dangerous_commands::find_danger(command, MAX_SCRIPT_DEPTH) else {
        return Ok(());
    };
    Err(Refusal::from(WorkspaceRefusal::CommandBlocked {
        reason: reason.to_owned(),
    })
    .with_details(RefusalDetails::Blocked {
        reason: format!("危险命令被禁止: {reason}"),
    }))
}

#[cfg(test)]
mod tests;
