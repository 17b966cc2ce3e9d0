//! `polis demo`: the demos `dev-team` and `board`. They need no setup, and no model unless `dev-team` is given a
//! REQUIREMENT.

mod board_demo;
mod dev_team_demo;

use clap::{Args, Subcommand};

use crate::cli::GlobalArgs;
use crate::error::CliError;
use crate::output::CliOutput;

/// Watch a team at work; needs no setup.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DemoArgs {
    #[command(subcommand)]
    which: Option<DemoCommand>,
    /// Play the recording without pauses
    #[arg(long)]
    fast: bool,
}

/// The demos: `dev-team` and `board`.
#[derive(Debug, Subcommand)]
enum DemoCommand {
    /// A root, an architect and programmers build a program; without a REQUIREMENT the model is a recording
    DevTeam(dev_team_demo::DemoDevTeamArgs),
    /// Seven real processes work on a task board; one of them is killed
    Board(board_demo::DemoBoardArgs),
}

impl DemoArgs {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        match self.which {
            Some(DemoCommand::Board(board)) => board.run(globals, out),
            Some(DemoCommand::DevTeam(team)) => team.run(globals, out),
            None => dev_team_demo::DemoDevTeamArgs::from_recording(self.fast).run(globals, out),
        }
    }
}
