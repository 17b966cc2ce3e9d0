//! `polis board history`, `show`, `diff` and `restore`: the versions of a whiteboard.

use clap::Args;
use polis_ops::op::{self, BoardDiff, BoardHistory, VersionRestore, VersionShow};

use super::Of;
use super::change::answer;
use crate::context::Context;
use crate::error::Failure;
use crate::output::{Output, Style, Table, clean_lines};

/// List a board's versions, newest first.
#[derive(Debug, Args)]
pub(crate) struct History {
    #[command(flatten)]
    of: Of,
}

impl History {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = BoardHistory {
            board: self.of.any()?,
            limit: None,
        };
        let all = context.run(op::board_history(&context.polis, &context.agent, &params))?;
        out.answer(&all, |all| {
            if all.versions.is_empty() {
                return format!("Nobody has written to {} yet.", params.board);
            }
            let mut table = Table::new(&["VERSION", "AT", "BYTES", "DONE", "BY"]);
            for entry in &all.versions {
                table.row([
                    entry.version.to_string(),
                    entry.at.to_string(),
                    entry.bytes.to_string(),
                    entry.action.as_str().to_owned(),
                    entry.by.clone(),
                ]);
            }
            table.render(out)
        })
    }
}

/// Print an older version.
#[derive(Debug, Args)]
pub(crate) struct Show {
    #[command(flatten)]
    of: Of,
    /// Its number
    version: u64,
}

impl Show {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = VersionShow {
            board: self.of.any()?,
            version: self.version,
            offset: None,
            max_bytes: None,
        };
        let shown = context.run(op::show_version(&context.polis, &context.agent, &params))?;
        if out.is_json() {
            return out.document(&shown);
        }
        out.exact(&shown.content)
    }
}

/// Compare two versions.
#[derive(Debug, Args)]
pub(crate) struct Diff {
    #[command(flatten)]
    of: Of,
    /// The older version
    from: u64,
    /// The newer version; default: the current one
    to: Option<u64>,
}

impl Diff {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = BoardDiff {
            board: self.of.any()?,
            from: self.from,
            to: self.to,
        };
        let compared = context.run(op::diff_board(&context.polis, &context.agent, &params))?;
        out.answer(&compared, |compared| {
            if compared.diff.is_empty() {
                return "The two versions are the same.".to_owned();
            }
            coloured(&compared.diff, out)
        })
    }
}

/// Colours a unified diff.
pub(super) fn coloured(diff: &str, out: &Output) -> String {
    clean_lines(diff)
        .lines()
        .map(|line| {
            let line = match line.chars().next() {
                Some('+') => out.paint(Style::Green, line),
                Some('-') => out.paint(Style::Red, line),
                Some('@') => out.paint(Style::Cyan, line),
                _ => line.to_owned(),
            };
            line + "\n"
        })
        .collect()
}

/// Bring an older version back, as a new version: nothing is lost by it.
#[derive(Debug, Args)]
pub(crate) struct Restore {
    #[command(flatten)]
    of: Of,
    /// The version to bring back
    version: u64,
    /// The version you had read; if the board is at another one nothing is written
    #[arg(long, value_name = "V")]
    expect: Option<u64>,
}

impl Restore {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = VersionRestore {
            board: self.of.name()?,
            version: self.version,
            expected_version: self.expect,
        };
        let changed = context.run(op::restore_board(&context.polis, &context.agent, &params))?;
        answer(&changed, out)
    }
}
