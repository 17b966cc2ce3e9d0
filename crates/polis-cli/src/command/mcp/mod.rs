//! `polis mcp`: the MCP server on stdio that an agent's client talks to, and its installation in clients.

mod install;
mod serve;
mod session;

use clap::{Args, Subcommand};

use crate::cli::Globals;
use crate::error::Failure;
use crate::output::Output;
use serve::Serve;

/// Serve one agent over MCP on standard input and output, or tell an agent's program to start that
/// server.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Mcp {
    #[command(flatten)]
    serve: Serve,
    #[command(subcommand)]
    command: Option<Command>,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Write the server into a program's configuration, and register its agent
    Install(install::Install),
    /// Take the server out of a program's configuration; its agent stays registered
    Uninstall(install::Uninstall),
}

impl Mcp {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        match self.command {
            Some(Command::Install(args)) => args.run(globals, out),
            Some(Command::Uninstall(args)) => args.run(globals, out),
            None => self.serve.run(globals, out),
        }
    }
}
