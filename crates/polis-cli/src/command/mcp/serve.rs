//! `polis mcp`: serves one agent over MCP on standard input and output.

use std::sync::Arc;

use clap::Args;
use polis_serve::{Identity, mcp};
use polis_society::process_identity::LocalProcesses;
use polis_store::embedded::Use;
use tokio::signal::unix::{SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::cli::Globals;
use crate::context::Context;
use crate::error::{Failure, invalid};
use crate::output::Output;

use super::session;

/// What the server is started with; `install` writes the same flags into a program's configuration.
#[derive(Debug, Args)]
pub(super) struct Serve {
    /// Who the agent at the other end is
    // Not the caller's `agent` of the global flags, whose id it would be.
    #[arg(id = "served_agent", long = "agent", value_name = "ID")]
    agent: Option<String>,
    /// The groups of tools it is shown; default: usual
    #[arg(long, value_name = "GROUP,...", value_delimiter = ',')]
    tools: Vec<String>,
}

impl Serve {
    pub(super) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        let mut globals = globals.clone();
        globals.agent = self.agent.or(globals.agent);
        if globals.agent.is_none() {
            // A caller that does not name its agent must not act as the human user.
            return Err(invalid(
                "Whose server is it?",
                "name the agent with --agent ID; `polis agent list` shows who there is",
            ));
        }
        let tools = mcp::Toolset::of(self.tools.iter().map(String::as_str))?;
        let context = Context::open_for(&globals, Use::Steady)?;
        let polis = (context.polis.clone()).with_processes(Arc::new(LocalProcesses));
        context.run(async {
            let (agent, session) = session::open(&polis, &context.agent).await?;
            if agent != context.agent {
                let note = "a live session acts as that agent already; this one acts as";
                out.warn(&format!("polis: {}: {note} {agent}.", context.agent));
            }
            let stop = CancellationToken::new();
            tokio::spawn(cancel_when_told(stop.clone()));
            let in_session = polis.in_session(session.id());
            let keeping = mcp::keep_session(polis, session, stop.clone());
            let keeping = tokio::spawn(keeping);
            let served =
                mcp::serve_stdio(in_session, Identity::trusted(agent), tools, stop.clone()).await;
            stop.cancel();
            let _ = keeping.await;
            Ok(served?)
        })
    }
}

/// Cancels on SIGTERM, SIGINT or SIGHUP: pending requests are answered, and commands end before this process does.
async fn cancel_when_told(stop: CancellationToken) {
    let told = |kind| async move {
        match signal(kind) {
            Ok(mut signals) => signals.recv().await,
            Err(_) => std::future::pending().await,
        }
    };
    tokio::select! {
        _ = told(SignalKind::terminate()) => {}
        _ = told(SignalKind::interrupt()) => {}
        _ = told(SignalKind::hangup()) => {}
    }
    stop.cancel();
}
