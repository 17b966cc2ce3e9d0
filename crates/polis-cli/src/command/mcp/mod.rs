//! `polis mcp`: the MCP server on stdio that an agent's client talks to, and its installation in clients.

mod install;
mod session_name;
mod stdio_server;

use clap::{Args, Subcommand};

use crate::cli::GlobalArgs;
use crate::error::CliError;
use crate::output::CliOutput;
use stdio_server::McpServeArgs;

/// Run an MCP server for one agent on standard input and output, or install it in an MCP
/// client.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct McpArgs {
    #[command(flatten)]
    serve: McpServeArgs,
    #[command(subcommand)]
    command: Option<McpCommand>,
}

#[derive(Debug, Subcommand)]
enum McpCommand {
    /// Add the server to an MCP client's configuration, and register its agent
    Install(install::McpInstallArgs),
    /// Remove the server from an MCP client's configuration; its agent stays registered
    Uninstall(install::McpUninstallArgs),
}

impl McpArgs {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        match self.command {
            Some(McpCommand::Install(args)) => args.run(globals, out),
            Some(McpCommand::Uninstall(args)) => args.run(globals, out),
            None => self.serve.run(globals, out),
        }
    }
}
