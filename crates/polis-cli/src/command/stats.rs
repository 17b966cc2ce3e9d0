//! `polis stats`: counts the tasks by status, the active agents and the events of the store.

use polis_i18n::msg;
use polis_ops::op;

use crate::cli::GlobalArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;

/// Prints the counts of tasks, agents and events.
pub(crate) fn print_stats(globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
    let context = CommandContext::open(globals)?;
    let overview = context.block_on(op::count_overview(&context.request()))?;
    out.print_result(&overview, |o| {
        let lang = out.lang();
        format!(
            "{}\n{}\n{}",
            msg::cli_agent_stats_tasks(lang, o.pending, o.in_progress, o.completed, o.deleted),
            msg::cli_agent_stats_agents(lang, o.agents),
            msg::cli_agent_stats_events(lang, o.events)
        )
    })
}
