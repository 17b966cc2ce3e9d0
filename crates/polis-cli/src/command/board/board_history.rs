//! `polis board history`, `show`, `diff` and `restore`: the versions of a board. All but `restore` also accept
//! files of the blackboard.

use clap::Args;
use polis_core::board::VersionAction;
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{
    self, BoardDiffParams, BoardHistoryParams, BoardRestoreParams, BoardVersionShowParams,
};

use super::BoardArg;
use super::board_write::print_board_change;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, TextStyle, TextTable, sanitize_lines};

/// List a board's versions, newest first.
#[derive(Debug, Args)]
pub(crate) struct BoardHistoryArgs {
    #[command(flatten)]
    of: BoardArg,
}

impl BoardHistoryArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = BoardHistoryParams {
            board: self.of.board_name()?,
            limit: None,
        };
        let all = context.block_on(op::list_board_versions(&context.request(), &params))?;
        let lang = out.lang();
        out.print_result(&all, |all| {
            if all.versions.is_empty() {
                return msg::cli_board_no_versions(lang, &params.board);
            }
            let mut table = TextTable::new(&[
                msg::cli_board_column_version(lang),
                msg::cli_board_column_at(lang),
                msg::cli_board_column_bytes(lang),
                msg::cli_board_column_action(lang),
                msg::cli_board_column_by(lang),
            ]);
            for entry in &all.versions {
                table.push_row([
                    entry.version.to_string(),
                    entry.at.to_string(),
                    entry.bytes.to_string(),
                    action_label(entry.action, lang).to_owned(),
                    entry.by.clone(),
                ]);
            }
            table.render(out)
        })
    }
}

/// Returns the word for the action that created a version.
fn action_label(action: VersionAction, lang: UiLanguage) -> &'static str {
    match action {
        VersionAction::Written => msg::cli_board_action_written(lang),
        VersionAction::Appended => msg::cli_board_action_appended(lang),
        VersionAction::Edited => msg::cli_board_action_edited(lang),
        VersionAction::Restored => msg::cli_board_action_restored(lang),
        VersionAction::External => msg::cli_board_action_external(lang),
    }
}

/// Print an older version.
#[derive(Debug, Args)]
pub(crate) struct BoardShowArgs {
    #[command(flatten)]
    of: BoardArg,
    /// Version number
    version: u64,
}

impl BoardShowArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = BoardVersionShowParams {
            board: self.of.board_name()?,
            version: self.version,
            offset: None,
            max_bytes: None,
        };
        let snapshot = context.block_on(op::show_board_version(&context.request(), &params))?;
        if out.is_json() {
            return out.print_json(&snapshot);
        }
        out.print_unchanged(&snapshot.content)
    }
}

/// Compare two versions.
#[derive(Debug, Args)]
pub(crate) struct BoardDiffArgs {
    #[command(flatten)]
    of: BoardArg,
    /// Older version
    from: u64,
    /// Newer version; default: the current one
    to: Option<u64>,
}

impl BoardDiffArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = BoardDiffParams {
            board: self.of.board_name()?,
            from: self.from,
            to: self.to,
        };
        let compared = context.block_on(op::diff_board(&context.request(), &params))?;
        out.print_result(&compared, |compared| {
            if compared.diff.is_empty() {
                return msg::cli_board_versions_equal(out.lang()).to_owned();
            }
            colour_diff(&compared.diff_text(out.lang()), out)
        })
    }
}

/// Colours a unified diff.
pub(super) fn colour_diff(diff: &str, out: &CliOutput) -> String {
    sanitize_lines(diff)
        .lines()
        .map(|line| {
            let line = match line.chars().next() {
                Some('+') => out.paint(TextStyle::Green, line),
                Some('-') => out.paint(TextStyle::Red, line),
                Some('@') => out.paint(TextStyle::Cyan, line),
                _ => line.to_owned(),
            };
            line + "\n"
        })
        .collect()
}

/// Restore an older version as a new version; nothing is lost.
#[derive(Debug, Args)]
pub(crate) struct BoardRestoreArgs {
    #[command(flatten)]
    of: BoardArg,
    /// Version to restore
    version: u64,
    /// Version you have read; refused if the board has changed since
    #[arg(long, value_name = "V")]
    expect: Option<u64>,
}

impl BoardRestoreArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = BoardRestoreParams {
            board: self.of.whiteboard_name()?,
            version: self.version,
            expected_version: self.expect,
        };
        let changed = context.block_on(op::restore_board(&context.request(), &params))?;
        print_board_change(&changed, out)
    }
}
