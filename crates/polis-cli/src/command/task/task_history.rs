//! `polis task history`: prints the changes of a task, from the event log.

use clap::Args;
use polis_core::RawJson;
use polis_core::task::history::TaskHistoryEntry;
use polis_ops::op::{self, TaskHistoryParams};

use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, TextStyle, sanitize_line};

/// Print the history of a task: who changed what, and when.
#[derive(Debug, Args)]
pub(crate) struct TaskHistoryArgs {
    /// Task number
    id: String,
}

impl TaskHistoryArgs {
    pub(super) fn run(self, context: &CommandContext, out: &CliOutput) -> Result<(), CliError> {
        let params = TaskHistoryParams {
            task_id: self.id.parse()?,
            cursor: None,
            limit: None,
        };
        let all = context.block_on(op::task_history(&context.request(), &params))?;
        out.print_result(&all, |all| {
            all.history
                .iter()
                .map(|entry| render_history_entry(entry, out))
                .collect::<String>()
        })
    }
}

fn render_history_entry(entry: &TaskHistoryEntry, out: &CliOutput) -> String {
    let version = entry.version.map(|v| format!(" v{v}")).unwrap_or_default();
    let mut text = format!(
        "{}  {}  {}{version}\n",
        out.paint(TextStyle::Dim, entry.at.as_str()),
        sanitize_line(&entry.actor),
        entry.kind
    );
    for change in &entry.changes {
        let value = |raw: &Option<RawJson>| {
            raw.as_ref()
                .map_or_else(|| "-".to_owned(), |r| truncate_value(r.as_str()))
        };
        text.push_str(&format!(
            "    {}: {} -> {}\n",
            sanitize_line(&change.field),
            value(&change.from),
            value(&change.to)
        ));
    }
    if let Some(data) = &entry.data {
        text.push_str(&format!("    {}\n", truncate_value(data.as_str())));
    }
    text
}

fn truncate_value(text: &str) -> String {
    let mut excerpt: String = sanitize_line(text).chars().take(100).collect();
    if text.chars().nth(100).is_some() {
        excerpt.push('…');
    }
    excerpt
}
