//! `polis tui`: starts the terminal user interface.

use std::sync::Arc;

use clap::Args;
use polis_core::Refusal;
use polis_tui::{Tab, TuiConfig};

use crate::cli::GlobalArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;
use crate::refusal_tables::CommandRefusal;

/// Start the terminal UI: tasks, boards, agents, workspaces and events, live. `?` shows the keys,
/// `q` quits.
#[derive(Debug, Args)]
#[command(
    after_help = "It works in 80x24 and over ssh, with the mouse too. NO_COLOR turns colours off; \
boards are edited in $VISUAL or $EDITOR, and overwriting a concurrent change needs confirmation."
)]
pub(crate) struct TuiArgs {
    /// First tab: now, tasks, boards, agents, workspaces or events
    #[arg(long, value_name = "NAME", default_value = "now", value_parser = ["now", "tasks", "boards", "agents", "workspaces", "events"])]
    tab: String,
}

impl TuiArgs {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        if out.is_json() {
            return Err(CliError::from(CommandRefusal::NoJsonTerminal));
        }
        let tab = Tab::parse(&self.tab).ok_or_else(|| {
            Refusal::from(CommandRefusal::NoTab {
                tab: self.tab.to_string(),
            })
        })?;
        let context = CommandContext::open_serving(globals)?;
        let screen = TuiConfig {
            app: context.app.clone(),
            agent: context.agent.clone(),
            lang: out.lang(),
            colour: out.has_colour(),
            tab,
            editor: first_set_variable(&["VISUAL", "EDITOR"]).unwrap_or_else(|| "vi".to_owned()),
            stats_cache: Arc::default(),
        };
        Ok(context.block_on(polis_tui::run_tui(screen))?)
    }
}

/// Returns the value of the first of these environment variables that is set and not empty.
#[expect(
    clippy::disallowed_methods,
    reason = "a person's editor is only in the environment"
)]
fn first_set_variable(names: &[&str]) -> Option<String> {
    names
        .iter()
        .filter_map(|name| std::env::var(name).ok())
        .find(|value| !value.trim().is_empty())
}
