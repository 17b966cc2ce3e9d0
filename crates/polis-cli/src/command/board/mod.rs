//! `polis board`: whiteboards, and the versions of blackboard files. One file per group of subcommands; this
//! one defines the subcommands and parses board names.

mod board_history;
mod board_lock;
mod board_read;
mod board_watch;
mod board_write;
mod decisions;

use clap::{Args, Subcommand};
use polis_core::Refusal;
use polis_core::board::BoardName;

pub(crate) use decisions::{DecisionCommand, MilestoneCommand};

use crate::cli::GlobalArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;

/// The whiteboards: `global`, `top`, `mid/ROLE` and `bottom/AGENT`.
#[derive(Debug, Subcommand)]
pub(crate) enum BoardCommand {
    /// Print a board, or a section of it
    Read(board_read::BoardReadArgs),
    /// List the boards you may read
    List,
    /// Explain whether you may read, write and append, and why
    Can(board_read::BoardCanArgs),
    /// Replace the whole text of a board
    Write(board_write::BoardWriteArgs),
    /// Append an entry to a board, with time and author
    Append(board_write::BoardAppendArgs),
    /// Change one section and nothing else
    #[command(subcommand)]
    Section(board_write::SectionCommand),
    /// Lock a board for a limited time
    Lock(board_lock::BoardLockArgs),
    /// Extend a lock
    Renew(board_lock::BoardRenewArgs),
    /// Release a lock
    Unlock(board_lock::BoardUnlockArgs),
    /// List a board's versions, newest first
    History(board_history::BoardHistoryArgs),
    /// Print an older version
    Show(board_history::BoardShowArgs),
    /// Compare two versions
    Diff(board_history::BoardDiffArgs),
    /// Restore an older version as a new version
    Restore(board_history::BoardRestoreArgs),
    /// List the decisions recorded on a board
    Decisions(decisions::BoardDecisionsArgs),
    /// List the milestones on a board
    Milestones(decisions::BoardMilestonesArgs),
    /// Propose, sign, veto and appeal decisions
    #[command(subcommand)]
    Decision(DecisionCommand),
    /// Add milestones and mark them as reached
    #[command(subcommand)]
    Milestone(MilestoneCommand),
    /// Follow a board live
    Watch(board_watch::BoardWatchArgs),
}

impl BoardCommand {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        if let Self::Watch(args) = self {
            return args.run(globals, out);
        }
        let context = &CommandContext::open(globals)?;
        match self {
            Self::Read(args) => args.run(context, out),
            Self::List => board_read::print_board_list(context, out),
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

/// The board argument of a command.
#[derive(Debug, Args)]
struct BoardArg {
    /// Board: global, top, mid/ROLE or bottom/AGENT
    board: String,
}

impl BoardArg {
    fn whiteboard_name(&self) -> Result<BoardName, Refusal> {
        self.board.parse()
    }

    /// Parses a whiteboard name or a file of the blackboard (`blackboard/PATH`), for subcommands that read or
    /// lock.
    fn board_name(&self) -> Result<BoardName, Refusal> {
        match self.board.strip_prefix("blackboard/") {
            Some(path) => path.parse().map(BoardName::Blackboard),
            None => self.whiteboard_name(),
        }
    }
}
