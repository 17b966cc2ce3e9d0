//! `polis ws commands`: lists the commands that ran in a workspace, and shows one with its output.

use clap::Args;
use polis_core::Timestamp;
use polis_ops::op::{self, CommandEntry, CommandView, ListCommands, ShowCommand};

use super::{Of, size};
use crate::context::Context;
use crate::error::Failure;
use crate::output::{Output, Table, clean};

/// Maximum length of a command in the list, in characters.
const SHOWN: usize = 60;

/// List the commands that ran or run, newest first, or show what one of them wrote.
#[derive(Debug, Args)]
pub(crate) struct Commands {
    /// A command: show what it wrote, while it runs too
    #[arg(value_name = "ID", conflicts_with_all = ["by", "running", "limit", "before", "of"])]
    id: Option<String>,
    /// Only those of this agent
    #[arg(long, value_name = "AGENT")]
    by: Option<String>,
    /// Only those that run
    #[arg(long)]
    running: bool,
    /// At most so many; 50 if left out, 200 at most
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Go on before this one: the `next` of the page before
    #[arg(long, value_name = "ID")]
    before: Option<String>,
    #[command(flatten)]
    of: Of,
}

impl Commands {
    pub(super) fn run(self, context: &Context, out: &Output) -> Result<(), Failure> {
        if let Some(id) = self.id {
            let ask = ShowCommand { id };
            let view = context.run(op::show_command(&context.polis, &context.agent, &ask))?;
            return out.answer(&view, shown);
        }
        let ask = ListCommands {
            workspace: self.of.agent()?,
            agent: self.by.as_deref().map(str::parse).transpose()?,
            running: self.running.then_some(true),
            before: self.before,
            limit: self.limit,
        };
        let list = context.run(op::list_commands(&context.polis, &context.agent, &ask))?;
        out.answer(&list, |list| {
            if list.commands.is_empty() {
                return "No commands. Run one: polis exec -- ls".to_owned();
            }
            let mut table = Table::new(&["ID", "AGENT", "BEGAN", "STATE", "OUTPUT", "COMMAND"]);
            for entry in &list.commands {
                table.row(row(entry));
            }
            let mut text = table.render(out);
            if let Some(next) = &list.next {
                text.push_str(&format!("\nThere are more: --before {next}"));
            }
            text
        })
    }
}

fn row(entry: &CommandEntry) -> [String; 6] {
    let mut command: String = clean(&entry.command).chars().take(SHOWN).collect();
    if command.len() < entry.command.len() {
        command.push('…');
    }
    [
        entry.id.clone(),
        entry.agent.to_string(),
        began(&entry.started_at),
        state(entry),
        size(entry.output_bytes),
        command,
    ]
}

fn began(at: &Timestamp) -> String {
    at.as_str().to_owned()
}

fn state(entry: &CommandEntry) -> String {
    let took = entry.duration_ms.map(|ms| format!(" after {ms} ms"));
    let took = took.unwrap_or_default();
    match (entry.exit_code, &entry.signal) {
        _ if entry.running => "runs".to_owned(),
        _ if entry.interrupted => "interrupted".to_owned(),
        _ if entry.timed_out => format!("timed out{took}"),
        _ if entry.out_of_memory => format!("out of memory{took}"),
        (_, Some(signal)) => format!("{signal}{took}"),
        (Some(code), None) => format!("exit {code}{took}"),
        (None, None) => format!("ended early{took}"),
    }
}

fn shown(view: &CommandView) -> String {
    let mut text = format!(
        "{} in {}: {}\n{}\n",
        view.entry.agent,
        view.entry.workspace,
        state(&view.entry),
        clean(&view.entry.command)
    );
    if view.omitted > 0 {
        text.push_str(&format!("({} left out)\n", size(view.omitted)));
    }
    for line in view.output.lines() {
        text.push_str(&clean(line));
        text.push('\n');
    }
    text.truncate(text.trim_end().len());
    text
}
