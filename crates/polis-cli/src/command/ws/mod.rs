//! `polis ws`: workspaces and their files. One file per group of subcommands.

mod change;
mod commands;
mod read;
mod workspace_binding;

use std::path::Path;

use clap::{Args, Subcommand};
use polis_core::{AgentId, Code, Refusal};
use polis_ops::op::Desk;

use crate::cli::Globals;
use crate::context::Context;
use crate::error::Failure;
use crate::output::Output;

/// The workspaces: one directory for each team, for the agent at its head and all below.
#[derive(Debug, Subcommand)]
pub(crate) enum Ws {
    /// Count what is in a workspace
    Info(read::Info),
    /// List a directory
    Ls(read::Ls),
    /// Print a file
    Cat(read::Cat),
    /// Search the files' content
    Search(read::Search),
    /// Write a file, whole or not at all
    Write(change::Write),
    /// Replace text in a file
    Edit(change::Edit),
    /// Delete a file or directory
    Rm(change::Rm),
    /// Move or rename a file or directory
    Mv(change::Mv),
    /// Make a directory, and those on the way
    Mkdir(change::Mkdir),
    /// List the commands that ran or run, or show what one wrote
    Commands(commands::Commands),
    /// Put a team's workspace into a directory of your choice
    Bind(workspace_binding::Bind),
    /// List all workspaces
    List,
}

impl Ws {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        let context = &Context::open(globals)?;
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
            Self::List => workspace_binding::list(context, out),
        }
    }
}

/// Whose workspace.
#[derive(Debug, Args)]
pub(crate) struct Of {
    /// The workspace that this agent works in; the person may name any. Default: the caller's own
    #[arg(long, value_name = "AGENT")]
    of: Option<String>,
}

impl Of {
    pub(crate) fn agent(&self) -> Result<Option<AgentId>, Refusal> {
        self.of.as_deref().map(str::parse).transpose()
    }
}

/// Returns the calling agent and the agent whose workspace it uses.
pub(crate) fn desk<'a>(context: &'a Context, of: Option<&'a AgentId>) -> Desk<'a> {
    Desk {
        by: &context.agent,
        of,
    }
}

/// Resolves a typed directory against the current directory.
pub(crate) fn directory(typed: &Path) -> Result<String, Refusal> {
    let whole = std::path::absolute(typed).ok();
    whole
        .and_then(|path| path.into_os_string().into_string().ok())
        .ok_or_else(|| {
            Refusal::new(
                Code::InvalidWorkspace,
                "That is not the name of a directory that can be kept: it is empty, or not UTF-8.",
                "name a directory in UTF-8",
            )
        })
}

/// Warns that a completed action could not be logged.
pub(crate) fn warn_unlogged(logged: bool, out: &Output) {
    if !logged && !out.is_json() {
        out.warn("Note: it is done, but the log could not be written; `polis doctor` says why.");
    }
}

/// Formats a count with its noun.
fn counted(number: u64, one: &str, many: &str) -> String {
    format!("{number} {}", if number == 1 { one } else { many })
}

/// Formats a number of bytes with a binary unit.
fn size(bytes: u64) -> String {
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
    fn sizes_are_short() {
        for (bytes, shown) in [
            (0, "0 B"),
            (1_023, "1023 B"),
            (1_024, "1.0 KiB"),
            (1_536, "1.5 KiB"),
            (5 << 20, "5.0 MiB"),
            (u64::MAX, "16777215.9 TiB"),
        ] {
            assert_eq!(size(bytes), shown);
        }
    }
}
