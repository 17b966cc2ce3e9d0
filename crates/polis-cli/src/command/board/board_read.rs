//! `polis board read`, `list` and `can`: prints boards, lists them, and explains permissions.

use clap::Args;
use polis_i18n::{Surface, UiLanguage, msg};
use polis_ops::op::{
    self, BoardFileNotice, BoardNameParams, BoardReadParams, BoardRight, BoardRights, BoardView,
    ListBoardsParams,
};
use polis_view::display_width::pad_to_width;
use polis_view::markdown::{self, RenderOptions};

use super::BoardArg;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, TextStyle, TextTable, sanitize_line};

/// Print a board. A board that was never written is printed as its template, version 0.
#[derive(Debug, Args)]
pub(crate) struct BoardReadArgs {
    #[command(flatten)]
    of: BoardArg,
    /// Print only "unchanged" if the board is still at version V
    #[arg(long, value_name = "V")]
    if_newer_than: Option<u64>,
    /// Only the section with this heading
    #[arg(long, value_name = "TITLE")]
    section: Option<String>,
    /// Which of several sections with that heading: 1, 2, ...
    #[arg(long, value_name = "N", requires = "section")]
    nth: Option<usize>,
    /// Render the Markdown for a terminal
    #[arg(long)]
    render: bool,
}

impl BoardReadArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = BoardReadParams {
            if_newer_than: self.if_newer_than,
            section: self.section,
            nth: self.nth,
            ..BoardReadParams::for_board(self.of.whiteboard_name()?)
        };
        let view = context.block_on(op::read_board(&context.request(), &params))?;
        if out.is_json() {
            return out.print_json(&view);
        }
        let lang = out.lang();
        if let Some(notice) = view.notice {
            out.print_stderr(render_notice(notice, lang));
        }
        let Some(content) = &view.content else {
            return out.print_line(&msg::cli_board_unchanged(lang, view.version));
        };
        if self.render {
            let options = RenderOptions {
                width: out.width_or(80),
                colour: out.has_colour(),
            };
            out.print_text(
                &markdown::render_markdown(content, &options).to_ansi_text(options.colour),
            )?;
        } else {
            out.print_unchanged(content)?;
        }
        out.print_remark(&render_remark(&view, lang));
        Ok(())
    }
}

fn render_remark(view: &BoardView, lang: UiLanguage) -> String {
    let mut text = match (&view.last_modified_by, &view.last_modified_at) {
        (Some(author), Some(at)) => {
            let author = sanitize_line(author);
            msg::cli_board_version_heading(lang, &view.board, view.version, author, at)
        }
        _ => msg::cli_board_template_heading(lang, &view.board),
    };
    if let (Some(holder), Some(until)) = (&view.locked_by, &view.locked_until) {
        text = msg::cli_board_heading_with_lock(lang, text, sanitize_line(holder), until);
    }
    format!("-- {text}")
}

/// Returns the note about the state of a board's file.
pub(super) fn render_notice(notice: BoardFileNotice, lang: UiLanguage) -> &'static str {
    match notice {
        BoardFileNotice::ExternalEdit => msg::cli_board_external_edit(lang),
        BoardFileNotice::FileRestored => msg::cli_board_file_restored(lang),
    }
}

/// Prints the boards that the caller may read (`polis board list`).
pub(super) fn print_board_list(context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
    let list = context.block_on(op::list_boards(
        &context.request(),
        &ListBoardsParams::default(),
    ))?;
    let lang = out.lang();
    out.print_result(&list, |list| {
        let mut table = TextTable::new(&[
            msg::cli_board_column_board(lang),
            msg::cli_board_column_version(lang),
            msg::cli_board_column_bytes(lang),
            msg::cli_board_column_changed(lang),
            msg::cli_board_column_by(lang),
            msg::cli_board_column_locked_by(lang),
        ]);
        for entry in &list.boards {
            let at = entry.last_modified_at.as_ref();
            table.push_row([
                entry.board.clone(),
                entry.version.to_string(),
                entry.bytes.to_string(),
                at.map_or_else(|| "-".to_owned(), ToString::to_string),
                entry.last_modified_by.clone().unwrap_or_else(|| "-".into()),
                entry.locked_by.clone().unwrap_or_else(|| "-".into()),
            ]);
        }
        let mut text = table.render(out);
        if list.boards.iter().all(|entry| entry.version == 0) {
            text.push_str(&format!("\n{}\n", msg::cli_board_none_written(lang)));
        }
        text
    })
}

/// Explain what the caller (--as) may do to a board.
#[derive(Debug, Args)]
pub(crate) struct BoardCanArgs {
    #[command(flatten)]
    of: BoardArg,
}

impl BoardCanArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = BoardNameParams {
            board: self.of.board_name()?,
        };
        let rights = context.block_on(op::explain_board_rights(&context.request(), &params))?;
        out.print_result(&rights, |rights| render_rights(rights, out))
    }
}

fn render_rights(rights: &BoardRights, out: &CliOutput) -> String {
    let lang = out.lang();
    let layer = rights
        .layer
        .map_or(msg::cli_board_no_layer(lang), |layer| layer.as_str());
    let line = |access: &str, right: &BoardRight| {
        let (style, answer) = if right.allowed {
            (TextStyle::Green, msg::cli_board_right_yes(lang))
        } else {
            (TextStyle::Red, msg::cli_board_right_no(lang))
        };
        format!(
            "  {} {}  {}\n",
            pad_to_width(access, 7),
            out.paint(style, &pad_to_width(answer, 3)),
            sanitize_line(&right.render_reason(Surface::Cli, lang))
        )
    };
    let (agent, role) = (
        sanitize_line(rights.agent.as_str()),
        sanitize_line(&rights.role),
    );
    format!(
        "{}\n{}{}{}",
        msg::cli_board_rights_heading(lang, agent, layer, role, &rights.board),
        line(msg::cli_board_right_read(lang), &rights.read),
        line(msg::cli_board_right_write(lang), &rights.write),
        line(msg::cli_board_right_append(lang), &rights.append),
    )
}
