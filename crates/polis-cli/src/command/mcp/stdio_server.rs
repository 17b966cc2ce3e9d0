//! `polis mcp`: serves one agent over MCP on standard input and output, in a session of its own, until the
//! input or the session ends or a signal (SIGTERM, SIGINT, SIGHUP) arrives.

use std::sync::Arc;

use clap::Args;
use polis_i18n::msg;
use polis_serve::{CallerIdentity, mcp};
use polis_society::process_identity::LocalProcesses;
use polis_store::embedded::StoreMode;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::cli::GlobalArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;

use super::session_name;
use crate::refusal_tables::InstallRefusal;

/// Flags of the MCP server; `install` writes the same flags into a client's configuration.
#[derive(Debug, Args)]
pub(super) struct McpServeArgs {
    /// Agent that the client acts as
    // The id is explicit, because `agent` is the id of the global flag `--as`.
    #[arg(id = "served_agent", long = "agent", value_name = "ID")]
    agent: Option<String>,
    /// Tool groups listed for the client; default: usual. `all`: every tool for agents. By default and with `all`
    /// the client may call every tool, otherwise only the listed ones
    #[arg(long, value_name = "GROUP,...", value_delimiter = ',')]
    tools: Vec<String>,
}

impl McpServeArgs {
    pub(super) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        let mut globals = globals.clone();
        globals.agent = self.agent.or(globals.agent);
        if globals.agent.is_none() {
            // A caller that does not name its agent must not act as the person.
            return Err(CliError::from(InstallRefusal::AgentMissing));
        }
        let tools = mcp::Toolset::from_groups(self.tools.iter().map(String::as_str))?;
        let context = CommandContext::open_for(&globals, StoreMode::SingleClient)?;
        let app = (context.app.clone()).with_processes(Arc::new(LocalProcesses));
        context.block_on(async {
            let (agent, session) = session_name::open_agent_session(&app, &context.agent).await?;
            if agent != context.agent {
                let note = msg::cli_mcp_session_renamed(out.lang(), &context.agent, &agent);
                out.print_stderr(&note);
            }
            let stop = CancellationToken::new();
            tokio::spawn(cancel_on_signal(stop.clone()));
            let identity = CallerIdentity::from_trusted_agent(agent).in_session(session.id());
            let keep_alive = mcp::keep_session_alive(app.clone(), session, stop.clone());
            let keep_alive = tokio::spawn(keep_alive);
            let served = mcp::serve_stdio(app, identity, tools, stop.clone()).await;
            stop.cancel();
            let _ = keep_alive.await;
            Ok(served?)
        })
    }
}

/// Cancels on SIGTERM, SIGINT or SIGHUP: pending requests are answered, and commands end before this process
/// does.
async fn cancel_on_signal(stop: CancellationToken) {
    let wait_for = |kind| async move {
        match signal(kind) {
            Ok(mut signals) => signals.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = wait_for(SignalKind::terminate()) => {}
        _ = wait_for(SignalKind::interrupt()) => {}
        _ = wait_for(SignalKind::hangup()) => {}
    }
    stop.cancel();
}
