//! Formats progress of a run as text lines (for a file, a pipe, or above the status block) and as JSON
//! documents.

use polis_core::number::saturating_cast;
use polis_core::society::run_id_json::with_run_id;
use polis_core::society::turn::CallOutcome;
use polis_i18n::msg;
use polis_society::progress_event::{ProgressEvent, ProgressStep};
use serde_json::{Value, json};
use unicode_width::UnicodeWidthStr as _;

use super::number_format::format_elapsed;
use super::run_state::NewsItem;
use super::status_block::describe_status_and_reason;
use crate::output::{CliOutput, TextStyle, sanitize_line, sanitize_lines};

/// Width of the column with the time since the start.
const TIME_COLUMN_WIDTH: usize = 6;

/// Minimum and maximum width of the name column, so that most texts are aligned.
const NAME_COLUMN_WIDTHS: (usize, usize) = (12, 26);

/// Formats a news item as text, preceded by the time since the start. `widest` is the width of the longest
/// name.
pub(crate) fn render_news(
    news: &NewsItem,
    since_began: i64,
    widest: usize,
    out: &CliOutput,
) -> String {
    let lang = out.lang();
    let (agent, style, message) = match news {
        NewsItem::Response { agent, text } => (agent, None, text.clone()),
        NewsItem::ToolCall {
            agent,
            tool,
            about,
            end,
            ms,
        } => {
            let (style, ended) = match end {
                CallOutcome::Ok => (TextStyle::Green, ""),
                CallOutcome::Failed => (TextStyle::Yellow, msg::cli_run_call_failed(lang)),
                CallOutcome::Interrupted => {
                    (TextStyle::Yellow, msg::cli_run_call_interrupted(lang))
                }
                CallOutcome::Denied => (TextStyle::Yellow, msg::cli_run_call_was_denied(lang)),
            };
            let duration = if *ms >= 1_000 {
                let elapsed = format_elapsed(saturating_cast::<i64>(*ms), lang);
                msg::cli_run_call_duration(lang, elapsed)
            } else {
                String::new()
            };
            let about = if about.is_empty() {
                String::new()
            } else {
                format!(" {about}")
            };
            let message = format!("→ {tool}{about}{ended}{duration}");
            (agent, Some(style), message)
        }
        NewsItem::StatusChange {
            agent,
            status,
            reason,
        } => {
            let message = describe_status_and_reason(*status, reason.as_deref(), lang);
            (agent, Some(TextStyle::Red), message)
        }
        NewsItem::Waiting { agent, why } => {
            let message = msg::cli_run_model_awaited(lang, why);
            (agent, Some(TextStyle::Yellow), message)
        }
        NewsItem::Warning { agent, text } => {
            let message = msg::cli_run_warning(lang, text);
            (agent, Some(TextStyle::Yellow), message)
        }
        NewsItem::MessageToPerson { agent, id, text } => (
            agent,
            Some(TextStyle::Bold),
            msg::cli_run_message_to_person(lang, id, text),
        ),
    };
    let elapsed = format_elapsed(since_began, lang);
    let head = format!(
        "{}{elapsed}  {}  ",
        " ".repeat(TIME_COLUMN_WIDTH.saturating_sub(elapsed.width())),
        pad_name(&sanitize_line(agent), widest)
    );
    let indent = head.width();
    let message = sanitize_lines(&message);
    let mut lines = message.lines();
    let mut text = out.paint(TextStyle::Dim, &head);
    let paint = |line: &str| style.map_or_else(|| line.to_owned(), |style| out.paint(style, line));
    text.push_str(&paint(lines.next().unwrap_or_default()));
    for line in lines {
        text.push('\n');
        text.push_str(&" ".repeat(indent));
        text.push_str(&paint(line));
    }
    text
}

fn pad_name(name: &str, widest: usize) -> String {
    let width = name.width();
    let column_width = widest.clamp(NAME_COLUMN_WIDTHS.0, NAME_COLUMN_WIDTHS.1);
    format!("{name}{}", " ".repeat(column_width.saturating_sub(width)))
}

/// Formats progress as a JSON document. Returns `None` for a streamed part of a response, since the whole
/// response follows.
pub(crate) fn progress_document(progress: &ProgressEvent, at: i64) -> Option<Value> {
    let mut document = match &progress.step {
        ProgressStep::TextStreamed(_) => return None,
        ProgressStep::RequestStarted => json!({"kind": "thinking"}),
        ProgressStep::ResponseReceived { text, calls, used } => {
            json!({"kind": "answered", "text": text, "calls": calls, "used": used})
        }
        ProgressStep::ToolCallStarted { tool, about } => {
            json!({"kind": "calling", "tool": tool, "about": about})
        }
        ProgressStep::ToolCallEnded { tool, end, ms } => {
            json!({"kind": "called", "tool": tool, "end": end, "ms": ms})
        }
        ProgressStep::RequestRetried(reason) => json!({"kind": "waiting", "why": reason}),
        ProgressStep::Warning(text) => json!({"kind": "warning", "text": text}),
        ProgressStep::StatusChanged(status, reason) => {
            json!({"kind": "stands", "status": status, "why": reason})
        }
        ProgressStep::MessageToUser(id, text) => json!({"kind": "message", "id": id, "text": text}),
    };
    let fields = document.as_object_mut()?;
    fields.insert("at".to_owned(), json!(at));
    fields.insert("agent".to_owned(), json!(progress.member.agent.as_str()));
    Some(with_run_id(document, &progress.member.run))
}
