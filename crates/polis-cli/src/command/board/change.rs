//! `polis board write`, `append` and `section`: change a whiteboard.

use clap::{Args, Subcommand};
use polis_ops::op::{self, BoardAppend, BoardChanged, BoardOverwrite, SectionAct, SectionChange};

use super::Of;
use crate::command::content::Content;
use crate::context::Context;
use crate::error::Failure;
use crate::output::Output;

/// Replace a board's whole text. A board that has text needs --expect, or --force.
#[derive(Debug, Args)]
pub(crate) struct Write {
    #[command(flatten)]
    of: Of,
    #[command(flatten)]
    content: Content,
    #[command(flatten)]
    on: OnVersion,
    /// Replace whatever is there; history keeps it
    #[arg(long, conflicts_with = "expect")]
    force: bool,
}

/// What a change is bound to.
#[derive(Debug, Args)]
struct OnVersion {
    /// The version you had read; if the board is at another one nothing is written
    #[arg(long, value_name = "V")]
    expect: Option<u64>,
    /// Merge with what others changed since then, if the changes do not overlap
    #[arg(long, requires = "expect")]
    merge: bool,
}

impl Write {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = BoardOverwrite {
            board: self.of.name()?,
            content: self.content.text()?,
            expected_version: self.on.expect,
            merge: self.on.merge,
            force: self.force,
        };
        let changed = context.run(op::write_board(&context.polis, &context.agent, &params))?;
        answer(&changed, out)
    }
}

pub(super) fn answer(changed: &BoardChanged, out: &Output) -> Result<(), Failure> {
    out.answer(changed, |changed| {
        let merged = if changed.merged { ", merged" } else { "" };
        format!(
            "{} is at version {}{merged}",
            changed.board, changed.version
        )
    })
}

/// Add an entry to a board's end; it is stamped with the time and signed with your name.
#[derive(Debug, Args)]
pub(crate) struct Append {
    #[command(flatten)]
    of: Of,
    #[command(flatten)]
    content: Content,
}

impl Append {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = BoardAppend {
            board: self.of.name()?,
            content: self.content.text()?,
        };
        let changed = context.run(op::append_board(&context.polis, &context.agent, &params))?;
        answer(&changed, out)
    }
}

/// Change one section: what stands between its heading and the next one of its rank.
#[derive(Debug, Subcommand)]
pub(crate) enum Section {
    /// Replace what stands under a heading; a missing section is added
    Set(Put),
    /// Add to what stands under a heading; a missing section is added
    Append(Put),
    /// Remove a section with its heading
    Delete(Delete),
}

/// A section's new text.
#[derive(Debug, Args)]
pub(crate) struct Put {
    #[command(flatten)]
    which: Which,
    #[command(flatten)]
    content: Content,
}

/// A section to remove.
#[derive(Debug, Args)]
pub(crate) struct Delete {
    #[command(flatten)]
    which: Which,
}

/// Which section, in which state.
#[derive(Debug, Args)]
struct Which {
    #[command(flatten)]
    of: Of,
    /// The heading's text; a template's heading may be given in the other language
    title: String,
    /// Which of several sections with that heading: 1, 2, ...
    #[arg(long, value_name = "N")]
    nth: Option<usize>,
    /// The section's own version, `sectionVersion` of `board read --section` ("absent" for a new one):
    /// changes elsewhere on the board are no conflict
    #[arg(long, value_name = "S", conflicts_with = "expect")]
    expect_section: Option<String>,
    #[command(flatten)]
    on: OnVersion,
}

impl Section {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let (which, act, content) = match self {
            Self::Set(put) => (put.which, SectionAct::Set, put.content.text()?),
            Self::Append(put) => (put.which, SectionAct::Append, put.content.text()?),
            Self::Delete(delete) => (delete.which, SectionAct::Delete, String::new()),
        };
        let params = SectionChange {
            board: which.of.name()?,
            title: which.title,
            act,
            content,
            nth: which.nth,
            expected_version: which.on.expect,
            expected_section: which.expect_section,
            merge: which.on.merge,
        };
        let changed = context.run(op::edit_section(&context.polis, &context.agent, &params))?;
        answer(&changed, out)
    }
}
