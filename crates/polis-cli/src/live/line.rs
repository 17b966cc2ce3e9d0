//! Formats progress of a run as text lines (for a file, a pipe, or above the status block) and as JSON documents.

use polis_core::society::turn::CallEnd;
use polis_society::progress::{Progress, Step};
use serde_json::{Value, json};

use super::number_format::elapsed;
use super::run_state::News;
use super::status_block::held;
use crate::output::{Output, Style, clean, clean_lines};

/// Minimum and maximum width of the name column, so that most texts are aligned.
const NAMES: (usize, usize) = (12, 26);

/// Formats a news item as text, preceded by the time since the start. `widest` is the width of the longest name.
pub(crate) fn text(news: &News, since_began: i64, widest: usize, out: &Output) -> String {
    let (agent, style, said) = match news {
        News::Said { agent, text } => (agent, None, text.clone()),
        News::Called {
            agent,
            tool,
            about,
            end,
            ms,
        } => {
            let (style, ended) = match end {
                CallEnd::Ok => (Some(Style::Green), String::new()),
                CallEnd::Failed => (Some(Style::Yellow), ": refused or failed".to_owned()),
                CallEnd::Interrupted => (Some(Style::Yellow), ": interrupted".to_owned()),
                CallEnd::Denied => (Some(Style::Yellow), ": not allowed".to_owned()),
            };
            let took = if *ms >= 1_000 {
                format!(" ({})", elapsed(i64::try_from(*ms).unwrap_or(i64::MAX)))
            } else {
                String::new()
            };
            let about = if about.is_empty() {
                String::new()
            } else {
                format!(" {about}")
            };
            (agent, style, format!("→ {tool}{about}{ended}{took}"))
        }
        News::Stands { agent, status, why } => {
            let why = why.as_deref().map(|why| format!(": {why}"));
            let said = format!("{}{}", held(*status), why.unwrap_or_default());
            (agent, Some(Style::Red), said)
        }
        News::Waiting { agent, why } => {
            let said = format!("waits for its model: {why}");
            (agent, Some(Style::Yellow), said)
        }
        News::Warning { agent, text } => (agent, Some(Style::Yellow), format!("warning: {text}")),
        News::ToUser { agent, id, text } => (
            agent,
            Some(Style::Bold),
            format!("to you (message {id}): {text}"),
        ),
    };
    let head = format!(
        "{:>6}  {}  ",
        elapsed(since_began),
        pad(&clean(agent), widest)
    );
    let indent = unicode_width::UnicodeWidthStr::width(head.as_str());
    let said = clean_lines(&said);
    let mut lines = said.lines();
    let mut text = out.paint(Style::Dim, &head);
    let paint = |line: &str| style.map_or_else(|| line.to_owned(), |style| out.paint(style, line));
    text.push_str(&paint(lines.next().unwrap_or_default()));
    for line in lines {
        text.push('\n');
        text.push_str(&" ".repeat(indent));
        text.push_str(&paint(line));
    }
    text
}

fn pad(name: &str, widest: usize) -> String {
    let width = unicode_width::UnicodeWidthStr::width(name);
    let room = widest.clamp(NAMES.0, NAMES.1);
    format!("{name}{}", " ".repeat(room.saturating_sub(width)))
}

/// Formats progress as a JSON document. Streamed parts of answers are left out, since the whole answer follows.
pub(crate) fn document(progress: &Progress, at: i64) -> Option<Value> {
    let mut document = match &progress.step {
        Step::Words(_) => return None,
        Step::Thinking => json!({"kind": "thinking"}),
        Step::Answered { text, calls, used } => {
            json!({"kind": "answered", "text": text, "calls": calls, "used": used})
        }
        Step::Calling { tool, about } => json!({"kind": "calling", "tool": tool, "about": about}),
        Step::Called { tool, end, ms } => {
            json!({"kind": "called", "tool": tool, "end": end, "ms": ms})
        }
        Step::Waiting(why) => json!({"kind": "waiting", "why": why}),
        Step::Warning(text) => json!({"kind": "warning", "text": text}),
        Step::Stands(status, why) => json!({"kind": "stands", "status": status, "why": why}),
        Step::ToUser(id, text) => json!({"kind": "message", "id": id, "text": text}),
    };
    let fields = document.as_object_mut()?;
    fields.insert("at".to_owned(), json!(at));
    fields.insert("taskId".to_owned(), json!(progress.member.run.as_str()));
    fields.insert("agent".to_owned(), json!(progress.member.agent.as_str()));
    Some(document)
}
