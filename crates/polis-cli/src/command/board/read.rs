//! `polis board read`, `list` and `can`: prints boards, lists them, and explains permissions.

use clap::Args;
use polis_core::board::access::Verdict;
use polis_ops::op::{self, BoardRead, BoardRights, BoardView, ListBoards, Notice, OfBoard};
use polis_view::markdown::{self, Look};

use super::Of;
use crate::context::Context;
use crate::error::Failure;
use crate::output::{Output, Style, Table, clean};

/// Print a board. One that nobody has written to yet reads as its template, version 0.
#[derive(Debug, Args)]
pub(crate) struct Read {
    #[command(flatten)]
    of: Of,
    /// Answer only "unchanged" if the board is still at version V
    #[arg(long, value_name = "V")]
    if_newer_than: Option<u64>,
    /// Only what stands under this heading
    #[arg(long, value_name = "TITLE")]
    section: Option<String>,
    /// Which of several sections with that heading: 1, 2, ...
    #[arg(long, value_name = "N", requires = "section")]
    nth: Option<usize>,
    /// Render the Markdown for a terminal
    #[arg(long)]
    render: bool,
}

impl Read {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = BoardRead {
            if_newer_than: self.if_newer_than,
            section: self.section,
            nth: self.nth,
            ..BoardRead::of(self.of.name()?)
        };
        let view = context.run(op::read_board(&context.polis, &context.agent, &params))?;
        if out.is_json() {
            return out.document(&view);
        }
        if let Some(notice) = view.notice {
            out.warn(notice_text(notice));
        }
        let Some(content) = &view.content else {
            return out.line(&format!("unchanged (version {})", view.version));
        };
        if self.render {
            let look = Look {
                width: out.width_or(80),
                colour: out.has_colour(),
            };
            out.text(&markdown::render(content, &look).paint(look.colour))?;
        } else {
            out.exact(content)?;
        }
        out.remark(&remark(&view));
        Ok(())
    }
}

fn remark(view: &BoardView) -> String {
    let mut text = match (&view.last_modified_by, &view.last_modified_at) {
        (Some(by), Some(at)) => {
            format!(
                "-- {}, version {} by {} at {at}",
                view.board,
                view.version,
                clean(by)
            )
        }
        _ => format!(
            "-- {}, version 0: the template; nobody has written to it yet",
            view.board
        ),
    };
    if let (Some(by), Some(until)) = (&view.locked_by, &view.locked_until) {
        text.push_str(&format!("; locked by {} until {until}", clean(by)));
    }
    text
}

/// Returns the note about the state of a board's file.
pub(super) fn notice_text(notice: Notice) -> &'static str {
    match notice {
        Notice::ChangedOutside => {
            "Note: the board's file was changed outside of polis; that change is now a version by `external`."
        }
        Notice::FileRestored => {
            "Note: the board's file was missing; it was written again from the store."
        }
    }
}

/// Lists the boards.
pub(super) fn list(context: &Context, out: &Output) -> Result<(), Failure> {
    let list = context.run(op::list_boards(
        &context.polis,
        &context.agent,
        &ListBoards::default(),
    ))?;
    out.answer(&list, |list| {
        let mut table = Table::new(&["BOARD", "VERSION", "BYTES", "CHANGED", "BY", "LOCKED BY"]);
        for entry in &list.boards {
            let at = entry.last_modified_at.as_ref();
            table.row([
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
            text.push_str(
                "\nNothing is written yet. Try: polis board append global --content \"...\"\n",
            );
        }
        text
    })
}

/// Explain what the caller (--as) may do to a board.
#[derive(Debug, Args)]
pub(crate) struct Can {
    #[command(flatten)]
    of: Of,
}

impl Can {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = OfBoard {
            board: self.of.any()?,
        };
        let rights = context.run(op::board_rights(&context.polis, &context.agent, &params))?;
        out.answer(&rights, |rights| explain(rights, out))
    }
}

fn explain(rights: &BoardRights, out: &Output) -> String {
    let layer = rights.layer.map_or("no layer", |layer| layer.as_str());
    let line = |act: &str, verdict: &Verdict| {
        let answer = if verdict.allowed {
            out.paint(Style::Green, "yes")
        } else {
            out.paint(Style::Red, "no ")
        };
        format!("  {act:<7} {answer}  {}\n", clean(&verdict.why))
    };
    format!(
        "{} ({layer}, {}) on {}:\n{}{}{}",
        clean(rights.agent.as_str()),
        clean(&rights.role),
        rights.board,
        line("read", &rights.read),
        line("write", &rights.write),
        line("append", &rights.append),
    )
}
