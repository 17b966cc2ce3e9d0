//! `polis board`: whiteboards. One file per group of subcommands; this one defines the subcommands and parses board
//! names.

mod change;
mod decide;
mod history;
mod lock;
mod read;
mod watch;

use clap::{Args, Subcommand};
use polis_core::Refusal;
use polis_core::board::BoardName;

pub(crate) use decide::{Decision, Milestone};

use crate::cli::Globals;
use crate::context::Context;
use crate::error::Failure;
use crate::output::Output;

/// The whiteboards: `global`, `top`, `mid/ROLE` and `bottom/AGENT`.
#[derive(Debug, Subcommand)]
pub(crate) enum Board {
    /// Print a board, or a section of it
    Read(read::Read),
    /// List the boards you may read
    List,
    /// Explain who may read, write and append, and why
    Can(read::Can),
    /// Write a board's whole text
    Write(change::Write),
    /// Add an entry to a board's end, stamped and signed
    Append(change::Append),
    /// Change one section and no other byte
    #[command(subcommand)]
    Section(change::Section),
    /// Lock a board for a few seconds
    Lock(lock::Lock),
    /// Prolong a lock
    Renew(lock::Renew),
    /// Give a lock back
    Unlock(lock::Unlock),
    /// List a board's versions, newest first
    History(history::History),
    /// Print an older version
    Show(history::Show),
    /// Compare two versions
    Diff(history::Diff),
    /// Bring an older version back, as a new version
    Restore(history::Restore),
    /// List the decisions recorded on a board
    Decisions(decide::Decisions),
    /// List the milestones on a board
    Milestones(decide::Milestones),
    /// Propose, sign, veto and appeal decisions
    #[command(subcommand)]
    Decision(Decision),
    /// Add and reach milestones
    #[command(subcommand)]
    Milestone(Milestone),
    /// Follow a board live
    Watch(watch::Watch),
}

impl Board {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        if let Self::Watch(args) = self {
            return args.run(globals, out);
        }
        let context = &Context::open(globals)?;
        match self {
            Self::Read(args) => args.run(context, out),
            Self::List => read::list(context, out),
            Self::Can(args) => args.run(context, out),
            Self::Write(args) => args.run(context, out),
            Self::Append(args) => args.run(context, out),
            Self::Section(args) => args.run(context, out),
            Self::Lock(args) => args.run(context, out),
            Self::Renew(args) => args.run(context, out),
            Self::Unlock(args) => args.run(context, out),
            Self::History(args) => args.run(context, out),
            Self::Show(args) => args.run(context, out),
            Self::Diff(args) => args.run(context, out),
            Self::Restore(args) => args.run(context, out),
            Self::Decisions(args) => args.run(context, out),
            Self::Milestones(args) => args.run(context, out),
            Self::Decision(args) => args.run(context, out),
            Self::Milestone(args) => args.run(context, out),
            Self::Watch(_) => Ok(()),
        }
    }
}

/// Which board.
#[derive(Debug, Args)]
struct Of {
    /// global, top, mid/ROLE or bottom/AGENT
    board: String,
}

impl Of {
    fn name(&self) -> Result<BoardName, Refusal> {
        self.board.parse()
    }

    /// Parses a whiteboard name or a file of the blackboard (`blackboard/PATH`), for subcommands that read or lock.
    fn any(&self) -> Result<BoardName, Refusal> {
        match self.board.strip_prefix("blackboard/") {
            Some(path) => path.parse().map(BoardName::Blackboard),
            None => self.name(),
        }
    }
}
