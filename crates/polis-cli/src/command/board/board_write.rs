//! `polis board write`, `append` and `section`: change a whiteboard. `write` and `section` accept an expected
//! version (optimistic locking), and can merge with changes made since that version (three-way merge).

use clap::{Args, Subcommand};
use polis_i18n::msg;
use polis_ops::op::{
    self, BoardAppendParams, BoardChangeResult, BoardWriteParams, SectionAction, SectionEditParams,
};

use super::BoardArg;
use crate::command::content::ContentArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::CliOutput;

/// Replace the whole text of a board. A board that has text needs --expect or --force.
#[derive(Debug, Args)]
pub(crate) struct BoardWriteArgs {
    #[command(flatten)]
    of: BoardArg,
    #[command(flatten)]
    content: ContentArgs,
    #[command(flatten)]
    on: ExpectedVersionArgs,
    /// Overwrite the current text; the history keeps it
    #[arg(long, conflicts_with = "expect")]
    force: bool,
}

/// Expected version of a change (optimistic locking).
#[derive(Debug, Args)]
struct ExpectedVersionArgs {
    /// Version you have read; refused if the board has changed since
    #[arg(long, value_name = "V")]
    expect: Option<u64>,
    /// Merge with changes made since then, if they do not overlap
    #[arg(long, requires = "expect")]
    merge: bool,
}

impl BoardWriteArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = BoardWriteParams {
            board: self.of.whiteboard_name()?,
            content: self.content.read_text()?,
            expected_version: self.on.expect,
            merge: self.on.merge,
            force: self.force,
        };
        let changed = context.block_on(op::write_board(&context.request(), &params))?;
        print_board_change(&changed, out)
    }
}

pub(super) fn print_board_change(
    changed: &BoardChangeResult,
    out: &CliOutput,
) -> Result<(), CliError> {
    out.print_result(changed, |changed| {
        let (board, version) = (&changed.board, changed.version);
        if changed.merged {
            msg::cli_board_merged_at_version(out.lang(), board, version)
        } else {
            msg::cli_board_at_version(out.lang(), board, version)
        }
    })
}

/// Append an entry to a board, with the time and your name.
#[derive(Debug, Args)]
pub(crate) struct BoardAppendArgs {
    #[command(flatten)]
    of: BoardArg,
    #[command(flatten)]
    content: ContentArgs,
}

impl BoardAppendArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = BoardAppendParams {
            board: self.of.whiteboard_name()?,
            content: self.content.read_text()?,
        };
        let changed = context.block_on(op::append_board(&context.request(), &params))?;
        print_board_change(&changed, out)
    }
}

/// Change one section: the text below a heading, up to the next heading of its level.
#[derive(Debug, Subcommand)]
pub(crate) enum SectionCommand {
    /// Replace the text of a section; a missing section is created
    Set(SectionTextArgs),
    /// Append to the text of a section; a missing section is created
    Append(SectionTextArgs),
    /// Remove a section with its heading
    Delete(SectionDeleteArgs),
}

/// Arguments of `polis board section set` and `append`: the section and its text.
#[derive(Debug, Args)]
pub(crate) struct SectionTextArgs {
    #[command(flatten)]
    which: SectionSelectorArgs,
    #[command(flatten)]
    content: ContentArgs,
}

/// Arguments of `polis board section delete`.
#[derive(Debug, Args)]
pub(crate) struct SectionDeleteArgs {
    #[command(flatten)]
    which: SectionSelectorArgs,
}

/// Section to change, and its expected version.
#[derive(Debug, Args)]
struct SectionSelectorArgs {
    #[command(flatten)]
    of: BoardArg,
    /// Text of the heading; a template's heading may be given in either language
    title: String,
    /// Which of several sections with that heading: 1, 2, ...
    #[arg(long, value_name = "N")]
    nth: Option<usize>,
    /// Version of the section, `sectionVersion` of `board read --section` ("absent" for a new one):
    /// changes elsewhere on the board do not conflict
    #[arg(long, value_name = "S", conflicts_with = "expect")]
    expect_section: Option<String>,
    #[command(flatten)]
    on: ExpectedVersionArgs,
}

impl SectionCommand {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let (which, act, content) = match self {
            Self::Set(put) => (put.which, SectionAction::Set, put.content.read_text()?),
            Self::Append(put) => (put.which, SectionAction::Append, put.content.read_text()?),
            Self::Delete(delete) => (delete.which, SectionAction::Delete, String::new()),
        };
        let params = SectionEditParams {
            board: which.of.whiteboard_name()?,
            title: which.title,
            act,
            content,
            nth: which.nth,
            expected_version: which.on.expect,
            expected_section: which.expect_section,
            merge: which.on.merge,
        };
        let changed = context.block_on(op::edit_section(&context.request(), &params))?;
        print_board_change(&changed, out)
    }
}
