//! `polis task history`: prints the changes of a task.

use clap::Args;
use polis_core::Raw;
use polis_core::task::history::HistoryEntry;
use polis_ops::op::{self, TaskHistory};

use crate::context::Context;
use crate::error::Failure;
use crate::output::{Output, Style, clean};

/// Everything a task ever was: who, when, what changed.
#[derive(Debug, Args)]
pub(crate) struct History {
    /// Its number
    id: String,
}

impl History {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        let params = TaskHistory {
            task_id: self.id.parse()?,
            cursor: None,
            limit: None,
        };
        let all = context.run(op::task_history(&context.polis, &params))?;
        out.answer(&all, |all| {
            all.history
                .iter()
                .map(|entry| lines(entry, out))
                .collect::<String>()
        })
    }
}

fn lines(entry: &HistoryEntry, out: &Output) -> String {
    let version = entry.version.map(|v| format!(" v{v}")).unwrap_or_default();
    let mut text = format!(
        "{}  {}  {}{version}\n",
        out.paint(Style::Dim, entry.at.as_str()),
        clean(&entry.actor),
        entry.kind
    );
    for change in &entry.changes {
        let value = |raw: &Option<Raw>| {
            raw.as_ref()
                .map_or_else(|| "-".to_owned(), |r| short(r.text()))
        };
        text.push_str(&format!(
            "    {}: {} -> {}\n",
            clean(&change.field),
            value(&change.from),
            value(&change.to)
        ));
    }
    if let Some(data) = &entry.data {
        text.push_str(&format!("    {}\n", short(data.text())));
    }
    text
}

fn short(text: &str) -> String {
    let mut shown: String = clean(text).chars().take(100).collect();
    if text.chars().nth(100).is_some() {
        shown.push('…');
    }
    shown
}
