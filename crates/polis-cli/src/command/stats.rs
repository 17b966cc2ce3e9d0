//! `polis stats`: counts tasks, agents and events of the store.

use polis_ops::op;

use crate::cli::Globals;
use crate::context::Context;
use crate::error::Failure;
use crate::output::Output;

/// Prints the counts.
pub(crate) fn run(globals: &Globals, out: &Output) -> Result<(), Failure> {
    let context = Context::open(globals)?;
    let overview = context.run(op::overview(&context.polis))?;
    out.answer(&overview, |o| {
        format!(
            "Tasks: {} pending, {} in progress, {} completed, {} deleted\nAgents: {}\nEvents: {}",
            o.pending, o.in_progress, o.completed, o.deleted, o.agents, o.events
        )
    })
}
