//! `polis society`: inspects and controls the runs of this store, from any process.

mod budget;
mod call_approval;
mod conversation;
mod pause;
mod run_status;
mod team;

use clap::{Args, Subcommand};
use polis_core::society::run::{Run, RunStatus};
use polis_core::{AgentId, Refusal, RunId};
use polis_ops::op::{self, ListRunsParams, RunIdParams};

use crate::refusal_tables::CommandRefusal;

pub(crate) use budget::BudgetArgs;
pub(crate) use pause::send_to_agent;
pub(crate) use run_status::{member_snapshot, requirement_title, total_spent};

use crate::cli::GlobalArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;

/// Inspect and control the runs of this store.
#[derive(Debug, Subcommand)]
pub(crate) enum SocietyCommand {
    /// List the runs
    Ps(run_status::SocietyPsArgs),
    /// Show the members of a run and their activity
    Tree(run_status::SocietyTreeArgs),
    /// Show an agent's conversation, turn by turn
    Log(conversation::SocietyLogArgs),
    /// Send a message to an agent
    Send(pause::SocietySendArgs),
    /// Pause a run or one of its agents
    Pause(pause::SocietyPauseArgs),
    /// Resume a run or one of its agents
    Resume(pause::SocietyPauseArgs),
    /// Stop a run: dismiss all its agents; files are kept
    Stop(RunArg),
    /// Show or set the budget of a run or of one of its agents
    Budget(budget::SocietyBudgetArgs),
    /// List the tool calls that need approval
    Approvals(call_approval::ApprovalListArgs),
    /// Approve a call
    Approve(call_approval::ApprovalDecideArgs),
    /// Deny a call
    Deny(call_approval::ApprovalDecideArgs),
    /// List the roles of a run
    Roles(RunArg),
    /// List and show teams (the roles a run starts with), and write their files for editing
    #[command(subcommand)]
    Team(team::TeamCommand),
}

/// The run argument of a command.
#[derive(Debug, Args)]
pub(crate) struct RunArg {
    /// Run; default: the newest that is not stopped
    #[arg(value_name = "RUN")]
    run: Option<String>,
}

/// The `--run` flag of a command about one agent.
#[derive(Debug, Args)]
pub(crate) struct RunFlagArgs {
    /// Run; default: the agent's, or the newest that is not stopped
    #[arg(long = "run", value_name = "RUN")]
    run: Option<String>,
}

impl SocietyCommand {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        if let Self::Team(team) = self {
            return team.run(globals, out);
        }
        let context = &CommandContext::open(globals)?;
        match self {
            Self::Ps(ps) => ps.run(context, out),
            Self::Tree(tree) => tree.run(context, out),
            Self::Log(log) => log.run(context, out),
            Self::Send(send) => send.run(context, out),
            Self::Pause(hold) => hold.run(true, context, out),
            Self::Resume(hold) => hold.run(false, context, out),
            Self::Stop(one) => pause::stop_run(&one, context, out),
            Self::Budget(change) => change.run(context, out),
            Self::Approvals(approvals) => approvals.run(context, out),
            Self::Approve(decide) => decide.run(true, context, out),
            Self::Deny(decide) => decide.run(false, context, out),
            Self::Roles(one) => run_status::print_roles(&one, context, out),
            Self::Team(_) => Ok(()),
        }
    }
}

impl RunArg {
    /// Returns the run that the argument selects.
    fn find_selected(&self, context: &CommandContext) -> Result<Run, CliError> {
        find_run(context, self.run.as_deref())
    }
}

impl RunFlagArgs {
    /// Returns the run of an agent. Names of agents are unique across runs, except `root`, which is in every
    /// run.
    fn resolve_run(
        &self,
        context: &CommandContext,
        agent: &AgentId,
    ) -> Result<Option<RunId>, CliError> {
        match &self.run {
            Some(run) => Ok(Some(run.parse()?)),
            None if agent.is_root() => Ok(Some(find_run(context, None)?.id)),
            None => Ok(None),
        }
    }
}

/// Returns the run of this name. Without a name, the newest that is not stopped, or else the newest of all.
pub(crate) fn find_run(context: &CommandContext, named: Option<&str>) -> Result<Run, CliError> {
    if let Some(name) = named {
        let params = RunIdParams {
            run_id: name.parse()?,
        };
        return Ok(context.block_on(op::show_run(&context.request(), &params))?);
    }
    let mut runs = list_all_runs(context, true)?;
    runs.sort_by_key(|run| {
        let open = run.status != RunStatus::Stopped;
        (open, run.created_at.unix_millis())
    });
    runs.pop()
        .ok_or_else(|| Refusal::from(CommandRefusal::NoRunYet).into())
}

/// Returns the runs of the store; the stopped ones only if `over` is set.
pub(crate) fn list_all_runs(context: &CommandContext, over: bool) -> Result<Vec<Run>, CliError> {
    let mut params = ListRunsParams {
        all: over,
        ..ListRunsParams::default()
    };
    let mut runs = Vec::new();
    loop {
        let page = context.block_on(op::list_runs(&context.request(), &params))?;
        runs.extend(page.runs);
        match page.next {
            Some(next) => params.cursor = Some(next),
            None => return Ok(runs),
        }
    }
}
