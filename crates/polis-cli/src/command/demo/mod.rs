//! `polis demo`: demonstrations that need nothing but this program.

mod board;
mod dev_team;

use clap::{Args, Subcommand};

use crate::cli::Globals;
use crate::error::Failure;
use crate::output::Output;

/// Watch a team at work; nothing has to be set up.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct Demo {
    #[command(subcommand)]
    which: Option<Which>,
    /// Play the recording as fast as it goes
    #[arg(long)]
    fast: bool,
}

/// The demos there are.
#[derive(Debug, Subcommand)]
enum Which {
    /// A root, an architect and programmers build a program; without a REQUIREMENT the model is a recording
    DevTeam(dev_team::DevTeam),
    /// Seven real processes work a board, one of them killed on the way
    Board(board::Board),
}

impl Demo {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        match self.which {
            Some(Which::Board(board)) => board.run(globals, out),
            Some(Which::DevTeam(team)) => team.run(globals, out),
            None => dev_team::DevTeam::recorded(self.fast).run(globals, out),
        }
    }
}
