//! `polis ws`: workspaces and their files. One file per group of subcommands; this one defines the
//! subcommands, and has helpers that `polis exec` and others use too: the `--of` flag, absolute paths, and
//! the warning about an unlogged action.

mod command_list;
mod file_change;
mod file_read;
mod workspace_binding;

use std::path::Path;

use clap::{Args, Subcommand};
use polis_core::{AgentId, Refusal};
use polis_i18n::msg;

use crate::cli::GlobalArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;
use crate::refusal_tables::CommandRefusal;

/// Workspaces: one directory for each agent without a supervisor, shared with all agents below it.
#[derive(Debug, Subcommand)]
pub(crate) enum WsCommand {
    /// Count the files of a workspace
    Info(file_read::WsInfoArgs),
    /// List a directory
    Ls(file_read::WsLsArgs),
    /// Print a file
    Cat(file_read::WsCatArgs),
    /// Search file contents
    Search(file_read::WsSearchArgs),
    /// Write a file atomically
    Write(file_change::WsWriteArgs),
    /// Replace text in a file
    Edit(file_change::WsEditArgs),
    /// Delete a file or directory
    Rm(file_change::WsRmArgs),
    /// Move or rename a file or directory
    Mv(file_change::WsMvArgs),
    /// Create a directory and its missing parents
    Mkdir(file_change::WsMkdirArgs),
    /// List past and running commands, or show the output of one
    Commands(command_list::WsCommandsArgs),
    /// Bind a workspace to a directory of your choice
    Bind(workspace_binding::WsBindArgs),
    /// List all workspaces
    List,
}

impl WsCommand {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        let context = &CommandContext::open(globals)?;
        match self {
            Self::Info(args) => args.run(context, out),
            Self::Ls(args) => args.run(context, out),
            Self::Cat(args) => args.run(context, out),
            Self::Search(args) => args.run(context, out),
            Self::Write(args) => args.run(context, out),
            Self::Edit(args) => args.run(context, out),
            Self::Rm(args) => args.run(context, out),
            Self::Mv(args) => args.run(context, out),
            Self::Mkdir(args) => args.run(context, out),
            Self::Commands(args) => args.run(context, out),
            Self::Bind(args) => args.run(context, out),
            Self::List => workspace_binding::print_workspace_list(context, out),
        }
    }
}

/// The `--of` flag of commands about workspaces.
#[derive(Debug, Args)]
pub(crate) struct WorkspaceArg {
    /// Agent whose workspace to use; default: the caller's own. Only the person may name any agent
    #[arg(long, value_name = "AGENT")]
    of: Option<String>,
}

impl WorkspaceArg {
    pub(crate) fn agent_id(&self) -> Result<Option<AgentId>, Refusal> {
        self.of.as_deref().map(str::parse).transpose()
    }
}

/// Resolves a typed directory against the current directory.
pub(crate) fn absolute_directory(typed: &Path) -> Result<String, Refusal> {
    let absolute = std::path::absolute(typed).ok();
    absolute
        .and_then(|path| path.into_os_string().into_string().ok())
        .ok_or_else(|| Refusal::from(CommandRefusal::DirectoryNameInvalid))
}

/// Warns that a completed action could not be logged.
pub(crate) fn warn_unlogged(logged: bool, out: &CliOutput) {
    if !logged && !out.is_json() {
        out.print_stderr(msg::cli_workspace_not_logged(out.lang()));
    }
}

/// Formats a number of bytes with a binary unit.
fn format_bytes(bytes: u64) -> String {
    const UNITS: [&str; 4] = ["KiB", "MiB", "GiB", "TiB"];
    let mut whole = bytes;
    let mut rest = 0;
    let mut unit = None;
    for next in UNITS {
        if whole < 1_024 {
            break;
        }
        rest = (whole % 1_024) * 10 / 1_024;
        whole /= 1_024;
        unit = Some(next);
    }
    match unit {
        None => format!("{bytes} B"),
        Some(unit) => format!("{whole}.{rest} {unit}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn byte_counts_are_formatted_with_units() {
        for (bytes, expected) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1.0 KiB"),
            (1_536, "1.5 KiB"),
            (5 << 20, "5.0 MiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(format_bytes(bytes), expected);
        }
    }
}
