//! `polis board watch`: follows a board and prints each new version as a diff.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use polis_core::board::{BoardName, unified_diff};
use polis_core::{Code, Timestamp};
use polis_ops::op::{self, BoardRead, BoardView, VersionShow};
use polis_store::embedded::Use;
use serde::Serialize;

use super::Of;
use super::history::coloured;
use super::read::notice_text;
use crate::cli::Globals;
use crate::context::Context;
use crate::error::Failure;
use crate::output::{Output, Style, clean};

/// Polling interval for changes to the board's file that no polis process made.
const LOOK_EVERY: Duration = Duration::from_millis(500);
/// Maximum length of a printed diff, in bytes.
const MAX_DIFF: usize = 64 << 10;

/// Follow a board live: each new version, with what changed.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    #[command(flatten)]
    of: Of,
    /// Begin with what came after version V; default: the current one
    #[arg(long, value_name = "V")]
    since: Option<u64>,
    /// Stop after so many new versions
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

/// JSON document of a new version.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Update<'a> {
    board: String,
    version: u64,
    last_modified_by: Option<&'a String>,
    last_modified_at: Option<&'a Timestamp>,
    diff: &'a str,
}

impl Watch {
    pub(super) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        let context = Context::open_for(globals, Use::Long)?;
        let (polis, agent) = (&context.polis, &context.agent);
        let board = self.of.name()?;
        let params = |since| BoardRead {
            if_newer_than: since,
            ..BoardRead::of(board.clone())
        };
        let first = context.run(op::read_board(polis, agent, &params(None)))?;
        let mut seen = first.version;
        let mut text = first.content.unwrap_or_default();
        if let Some(since) = self.since.filter(|since| *since < seen) {
            seen = since;
            text = older(&context, &board, since);
        }
        let mut left = self.limit.unwrap_or(u64::MAX);
        while left > 0 {
            let look = async {
                let newest = polis.store.last_sequence().await?;
                let view = op::read_board(polis, agent, &params(Some(seen))).await?;
                if view.unchanged == Some(true) {
                    polis.store.wait_beyond(newest, LOOK_EVERY).await?;
                }
                Ok::<_, polis_ops::OpError>(view)
            };
            let view = match context.run(look) {
                Ok(view) => view,
                // An unavailable store usually comes back; the watch continues, so that it need not be restarted.
                Err(error) if error.code() == Code::StoreUnavailable => {
                    out.warn("The store cannot be reached; still watching.");
                    std::thread::sleep(Duration::from_secs(1));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let Some(content) = view.content.clone() else {
                continue;
            };
            show(&view, seen, &text, &content, out)?;
            seen = view.version;
            text = content;
            left -= 1;
        }
        Ok(())
    }
}

/// Returns the text that the first change is compared with; empty if the history does not have that version.
fn older(context: &Context, board: &BoardName, version: u64) -> Arc<String> {
    let of = VersionShow {
        board: board.clone(),
        version,
        offset: None,
        max_bytes: None,
    };
    let shown = op::show_version(&context.polis, &context.agent, &of);
    context
        .run(shown)
        .map_or_else(|_| Arc::default(), |shown| shown.content)
}

fn show(view: &BoardView, from: u64, old: &str, new: &str, out: &Output) -> Result<(), Failure> {
    let diff = unified_diff(
        &format!("{} (version {from})", view.board),
        &format!("{} (version {})", view.board, view.version),
        old,
        new,
        MAX_DIFF,
    );
    if out.is_json() {
        return out.document(&Update {
            board: view.board.to_string(),
            version: view.version,
            last_modified_by: view.last_modified_by.as_ref(),
            last_modified_at: view.last_modified_at.as_ref(),
            diff: &diff,
        });
    }
    if let Some(notice) = view.notice {
        out.warn(notice_text(notice));
    }
    let by = view.last_modified_by.as_deref().unwrap_or("-");
    let at = view.last_modified_at.as_ref();
    let head = format!(
        "{}, version {} by {} at {}",
        view.board,
        view.version,
        clean(by),
        at.map_or("-", Timestamp::as_str)
    );
    out.line(&out.paint(Style::Bold, &head))?;
    out.text(&coloured(&diff, out))
}
