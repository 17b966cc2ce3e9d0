//! `polis society`: inspects and controls the runs of this store, from any process.

mod approve;
mod budget;
mod log;
mod pause;
mod status;
mod team;

use clap::{Args, Subcommand};
use polis_core::society::run::{Run, RunStatus};
use polis_core::{AgentId, Code, Refusal, RunId};
use polis_ops::op::{self, ListRuns, OfRun};

pub(crate) use budget::Budget as BudgetFlags;
pub(crate) use pause::send;
pub(crate) use status::{post, title, total};

use crate::cli::Globals;
use crate::context::Context;
use crate::error::Failure;
use crate::output::Output;

/// See and steer the societies of this store.
#[derive(Debug, Subcommand)]
pub(crate) enum Society {
    /// List the runs
    Ps(status::Ps),
    /// Show who works for a run, and what they do
    Tree(status::Tree),
    /// Show an agent's conversation: what it heard, said and did
    Log(log::Log),
    /// Write to an agent
    Send(pause::Send),
    /// Let a run, or an agent of it, wait
    Pause(pause::Hold),
    /// Let a run, or an agent of it, go on
    Resume(pause::Hold),
    /// End a run: everybody is dismissed, files stay
    Stop(OneRun),
    /// Show or set what a run, or an agent of it, may spend
    Budget(budget::Change),
    /// List the calls that wait to be allowed
    Approvals(approve::Approvals),
    /// Allow a call
    Approve(approve::Decide),
    /// Do not allow a call
    Deny(approve::Decide),
    /// List the roles of a run
    Roles(OneRun),
    /// Teams: the roles a run begins with
    #[command(subcommand)]
    Team(team::Team),
}

/// A run.
#[derive(Debug, Args)]
pub(crate) struct OneRun {
    /// The run; default: the newest that is not over
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

/// An agent of a run.
#[derive(Debug, Args)]
pub(crate) struct OfRunFlag {
    /// The run; default: the agent's, or the newest that is not over
    #[arg(long = "run", value_name = "RUN")]
    run: Option<String>,
}

impl Society {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        if let Self::Team(team) = self {
            return team.run(globals, out);
        }
        let context = &Context::open(globals)?;
        match self {
            Self::Ps(ps) => ps.run(context, out),
            Self::Tree(tree) => tree.run(context, out),
            Self::Log(log) => log.run(context, out),
            Self::Send(send) => send.run(context, out),
            Self::Pause(hold) => hold.run(true, context, out),
            Self::Resume(hold) => hold.run(false, context, out),
            Self::Stop(one) => pause::stop(&one, context, out),
            Self::Budget(change) => change.run(context, out),
            Self::Approvals(approvals) => approvals.run(context, out),
            Self::Approve(decide) => decide.run(true, context, out),
            Self::Deny(decide) => decide.run(false, context, out),
            Self::Roles(one) => status::roles(&one, context, out),
            Self::Team(_) => Ok(()),
        }
    }
}

impl OneRun {
    /// Returns the run that the argument selects.
    fn find(&self, context: &Context) -> Result<Run, Failure> {
        which(context, self.run.as_deref())
    }
}

impl OfRunFlag {
    /// Returns the run of an agent. Names of agents are unique across runs, except `root`, which is in every run.
    fn of(&self, context: &Context, agent: &AgentId) -> Result<Option<RunId>, Failure> {
        match &self.run {
            Some(run) => Ok(Some(run.parse()?)),
            None if agent.is_root() => Ok(Some(which(context, None)?.id)),
            None => Ok(None),
        }
    }
}

/// Returns the run of this name. Without a name, the newest that is not over, or else the newest of all.
pub(crate) fn which(context: &Context, named: Option<&str>) -> Result<Run, Failure> {
    if let Some(name) = named {
        let params = OfRun {
            task_id: name.parse()?,
        };
        return Ok(context.run(op::show_run(&context.polis, &context.agent, &params))?);
    }
    let mut runs = all(context, true)?;
    runs.sort_by_key(|run| {
        let open = run.status != RunStatus::Stopped;
        (open, run.created_at.millis().unwrap_or(0))
    });
    runs.pop().ok_or_else(|| {
        Refusal::new(
            Code::RunNotFound,
            "There is no run yet.",
            "start one with `polis run \"REQUIREMENT\"`, or watch `polis demo`",
        )
        .into()
    })
}

/// Lists all runs; those that are over only if `over` is set.
pub(crate) fn all(context: &Context, over: bool) -> Result<Vec<Run>, Failure> {
    let mut params = ListRuns {
        all: over,
        ..ListRuns::default()
    };
    let mut runs = Vec::new();
    loop {
        let page = context.run(op::list_runs(&context.polis, &context.agent, &params))?;
        runs.extend(page.runs);
        match page.next {
            Some(next) => params.cursor = Some(next),
            None => return Ok(runs),
        }
    }
}
