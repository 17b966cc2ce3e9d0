//! `polis board`: one file for each group of verbs.

mod change;
mod decide;
mod history;
mod lock;
mod read;
mod watch;

use std::ffi::OsString;
use std::path::PathBuf;

use clap::builder::{OsStringValueParser, TypedValueParser as _};
use clap::{Args, Subcommand};
use polis_core::board::{BoardName, MAX_BYTES};
use polis_core::{Code, Refusal};

pub(crate) use decide::{Decision, Milestone};

use crate::cli::Globals;
use crate::context::Context;
use crate::error::{Failure, invalid};
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

    /// A whiteboard, or a file of the blackboard (`blackboard/PATH`): what can be looked at and locked.
    fn any(&self) -> Result<BoardName, Refusal> {
        match self.board.strip_prefix("blackboard/") {
            Some(path) => path.parse().map(BoardName::Blackboard),
            None => self.name(),
        }
    }
}

/// A text that is given in one of several ways.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub(crate) struct Content {
    /// The text; - reads standard input
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true, value_parser = OsStringValueParser::new())]
    content: Option<OsString>,
    /// A file with the text; - reads standard input
    #[arg(long, value_name = "FILE", value_parser = OsStringValueParser::new().map(PathBuf::from))]
    content_file: Option<PathBuf>,
}

impl Content {
    pub(crate) fn text(self) -> Result<String, Failure> {
        let bytes = match (self.content, self.content_file) {
            (Some(text), _) if text == "-" => super::stdin()?,
            (Some(text), _) => text.into_encoded_bytes(),
            (None, Some(file)) if file.as_os_str() == "-" => super::stdin()?,
            (None, Some(file)) => read_file(&file)?,
            (None, None) => Vec::new(),
        };
        String::from_utf8(bytes).map_err(|_| {
            Refusal::new(
                Code::NotUtf8,
                "The content is not UTF-8.",
                "convert it to UTF-8; nothing was changed",
            )
            .into()
        })
    }
}

fn read_file(file: &std::path::Path) -> Result<Vec<u8>, Failure> {
    use std::io::{ErrorKind, Read as _};
    let mut bytes = Vec::new();
    // One byte more than fits tells that it is too large, however large it is.
    std::fs::File::open(file)
        .and_then(|file| file.take(MAX_BYTES + 1).read_to_end(&mut bytes))
        .map_err(|error| {
            let why = match error.kind() {
                ErrorKind::NotFound => "there is none of that name",
                ErrorKind::PermissionDenied => "you may not read it",
                ErrorKind::IsADirectory => "it is a directory",
                _ => "it is not a readable file",
            };
            invalid(
                format!("The content file cannot be read: {why}."),
                "check its name and that you may read it",
            )
        })?;
    Ok(bytes)
}
