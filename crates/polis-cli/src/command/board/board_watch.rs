//! `polis board watch`: follows a board and prints each new version as a diff.

use std::sync::Arc;
use std::time::Duration;

use clap::Args;
use polis_core::board::{BoardName, unified_diff};
use polis_core::{RefusalCode, Timestamp};
use polis_i18n::{UiLanguage, msg};
use polis_ops::op::{self, BoardReadParams, BoardVersionShowParams, BoardView};
use polis_store::embedded::StoreMode;
use serde::Serialize;

use super::BoardArg;
use super::board_history::colour_diff;
use super::board_read::render_notice;
use crate::cli::GlobalArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, TextStyle, sanitize_line};

/// Polling interval for changes to the board's file that no polis process made.
const FILE_POLL_INTERVAL: Duration = Duration::from_millis(500);
/// Maximum length of a printed diff, in bytes.
const MAX_DIFF_BYTES: usize = 64 << 10;

/// Follow a board live: print each new version as a diff.
#[derive(Debug, Args)]
pub(crate) struct BoardWatchArgs {
    #[command(flatten)]
    of: BoardArg,
    /// Start after version V; default: the current version
    #[arg(long, value_name = "V")]
    since: Option<u64>,
    /// Stop after N new versions
    #[arg(long, value_name = "N")]
    limit: Option<u64>,
}

/// JSON document that is printed for each new version.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct BoardUpdateDocument<'a> {
    board: String,
    version: u64,
    last_modified_by: Option<&'a String>,
    last_modified_at: Option<&'a Timestamp>,
    diff: &'a str,
}

impl BoardWatchArgs {
    pub(super) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        let context = CommandContext::open_for(globals, StoreMode::Server)?;
        let (app, agent) = (&context.app, &context.agent);
        let board = self.of.whiteboard_name()?;
        let params = |since| BoardReadParams {
            if_newer_than: since,
            ..BoardReadParams::for_board(board.clone())
        };
        let first = context.block_on(op::read_board(&app.request(agent), &params(None)))?;
        let mut last_version = first.version;
        let mut text = first.content.unwrap_or_default();
        if let Some(since) = self.since.filter(|since| *since < last_version) {
            last_version = since;
            text = text_at_version(&context, &board, since);
        }
        let mut left = self.limit.unwrap_or(u64::MAX);
        while left > 0 {
            let poll = async {
                let newest = app.store.last_sequence().await?;
                let view = op::read_board(&app.request(agent), &params(Some(last_version))).await?;
                if view.unchanged == Some(true) {
                    app.store
                        .wait_for_event_after(newest, FILE_POLL_INTERVAL)
                        .await?;
                }
                Ok::<_, polis_ops::OpError>(view)
            };
            let view = match context.block_on(poll) {
                Ok(view) => view,
                // An unavailable store usually comes back; the watch continues, so that it need not be
                // restarted.
                Err(error) if error.code() == RefusalCode::STORE_UNAVAILABLE => {
                    out.print_stderr(msg::cli_store_unreachable(out.lang()));
                    std::thread::sleep(Duration::from_secs(1));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            let Some(content) = view.content.clone() else {
                continue;
            };
            print_update(&view, last_version, &text, &content, out)?;
            last_version = view.version;
            text = content;
            left -= 1;
        }
        Ok(())
    }
}

/// Returns the text that the first change is compared with; empty if the history does not have that version.
fn text_at_version(context: &CommandContext, board: &BoardName, version: u64) -> Arc<String> {
    let params = BoardVersionShowParams {
        board: board.clone(),
        version,
        offset: None,
        max_bytes: None,
    };
    let request = context.request();
    let snapshot = op::show_board_version(&request, &params);
    context
        .block_on(snapshot)
        .map_or_else(|_| Arc::default(), |snapshot| snapshot.content)
}

fn print_update(
    view: &BoardView,
    from: u64,
    old: &str,
    new: &str,
    out: &CliOutput,
) -> Result<(), CliError> {
    let lang = if out.is_json() {
        UiLanguage::En
    } else {
        out.lang()
    };
    let diff = unified_diff(
        &msg::board_diff_label(lang, &view.board, from),
        &msg::board_diff_label(lang, &view.board, view.version),
        old,
        new,
        MAX_DIFF_BYTES,
    );
    if out.is_json() {
        return out.print_json(&BoardUpdateDocument {
            board: view.board.to_string(),
            version: view.version,
            last_modified_by: view.last_modified_by.as_ref(),
            last_modified_at: view.last_modified_at.as_ref(),
            diff: &diff,
        });
    }
    if let Some(notice) = view.notice {
        out.print_stderr(render_notice(notice, out.lang()));
    }
    let author = view.last_modified_by.as_deref().unwrap_or("-");
    let at = view.last_modified_at.as_ref();
    let head = msg::cli_board_version_heading(
        out.lang(),
        &view.board,
        view.version,
        sanitize_line(author),
        at.map_or("-", Timestamp::as_str),
    );
    out.print_line(&out.paint(TextStyle::Bold, &head))?;
    out.print_text(&colour_diff(&diff, out))
}
