//! `polis log` and `polis watch`: print and follow the commit log.

use polis_core::event::kind;
use std::time::Duration;

use clap::Args;
use polis_core::{Code, Event, webhook};
use polis_ops::op::{self, LogRead};
use polis_store::embedded::Use;

use crate::cli::Globals;
use crate::context::Context;
use crate::error::Failure;
use crate::output::{Output, Style, clean};

/// Maximum number of events read at once.
const PAGE: u32 = 1_000;

/// Print the commit log; one event a line.
#[derive(Debug, Args)]
pub(crate) struct Log {
    /// Only what came after this sequence number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    since: u64,
    /// Only what came before this sequence number; with --limit the newest of that
    #[arg(long, value_name = "SEQ", conflicts_with = "since")]
    before: Option<u64>,
    /// At most so many events
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Only the newest so many events
    #[arg(long, value_name = "N", conflicts_with_all = ["since", "before"])]
    last: Option<u64>,
    /// Only about this, such as task/5
    #[arg(long, value_name = "SUBJECT")]
    subject: Option<String>,
    /// Only of this kind, such as task.completed, or task. for all of tasks
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only what this agent did
    #[arg(long, value_name = "AGENT")]
    actor: Option<String>,
    /// Only events that have this text somewhere
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

/// Follow the commit log live; one event a line.
#[derive(Debug, Args)]
pub(crate) struct Watch {
    /// Begin after this sequence number; default: with what comes next
    #[arg(long, value_name = "SEQ")]
    since: Option<u64>,
    /// End after so many events
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Only these kinds, such as task.completed, or task. for all of tasks
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    kind: Vec<String>,
}

impl Log {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        let context = Context::open(globals)?;
        let mut left = self.limit.unwrap_or(u32::MAX);
        let mut ask = LogRead {
            since: self.since,
            before: self.before,
            subject: self.subject,
            kind: self.kind,
            actor: self.actor,
            text: self.search,
            ..LogRead::default()
        };
        if let Some(last) = self.last {
            left = left.min(u32::try_from(last).unwrap_or(u32::MAX));
            ask.before = Some(u64::MAX);
        }
        let all = LogRead {
            before: ask.before,
            ..LogRead::default()
        };
        let choosy = ask != all;
        let shown = match ask.before {
            Some(_) => backwards(&context, ask, left, out)?,
            None => forwards(&context, ask, left, out)?,
        };
        if shown == 0 && !out.is_json() {
            out.line(match choosy {
                true => "Nothing of that kind has happened. See all with: polis log",
                false => {
                    "Nothing has happened yet. Create a task: polis task create --subject \"...\""
                }
            })?;
        }
        Ok(())
    }
}

/// Prints events as they are read. Returns their number.
fn forwards(
    context: &Context,
    mut ask: LogRead,
    mut left: u32,
    out: &Output,
) -> Result<usize, Failure> {
    let mut shown = 0;
    while left > 0 {
        ask.limit = Some(left.min(PAGE));
        let page = context.run(op::read_log(&context.polis, &context.agent, &ask))?;
        left = left.saturating_sub(u32::try_from(page.events.len()).unwrap_or(u32::MAX));
        shown += page.events.len();
        page.events.iter().try_for_each(|event| show(event, out))?;
        match page.next {
            Some(next) => ask.since = next,
            None => break,
        }
    }
    Ok(shown)
}

/// Reads the newest events and prints them in commit order. Returns their number.
fn backwards(
    context: &Context,
    mut ask: LogRead,
    mut left: u32,
    out: &Output,
) -> Result<usize, Failure> {
    let mut pages = Vec::new();
    while left > 0 {
        ask.limit = Some(left.min(PAGE));
        let page = context.run(op::read_log(&context.polis, &context.agent, &ask))?;
        left = left.saturating_sub(u32::try_from(page.events.len()).unwrap_or(u32::MAX));
        pages.push(page.events);
        match page.next {
            Some(next) => ask.before = Some(next),
            None => break,
        }
    }
    let events = || pages.iter().rev().flatten();
    events().try_for_each(|event| show(event, out))?;
    Ok(events().count())
}

fn page_after(since: u64, limit: u32) -> LogRead {
    LogRead {
        since,
        limit: Some(limit),
        ..LogRead::default()
    }
}

/// Prints an event as a JSON document or a line.
pub(super) fn show(event: &Event, out: &Output) -> Result<(), Failure> {
    if out.is_json() {
        out.document(event)
    } else {
        out.line(&line(event, out))
    }
}

impl Watch {
    pub(crate) fn run(self, globals: &Globals, out: &Output) -> Result<(), Failure> {
        let context = Context::open_for(globals, Use::Long)?;
        let store = &context.polis.store;
        let mut since = match self.since {
            Some(since) => since,
            None => context.run(store.last_sequence())?,
        };
        let mut left = self.limit.unwrap_or(u64::MAX);
        while left > 0 {
            let most = u32::try_from(left.min(u64::from(PAGE))).unwrap_or(PAGE);
            let look = async {
                store.wait_beyond(since, Duration::from_secs(60)).await?;
                op::read_log(&context.polis, &context.agent, &page_after(since, most)).await
            };
            let page = match context.run(look) {
                Ok(page) => page,
                // An unavailable store usually comes back; the watch continues, so that it need not be restarted.
                Err(error) if error.code() == Code::StoreUnavailable => {
                    out.warn("The store cannot be reached; still watching.");
                    std::thread::sleep(Duration::from_secs(1));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            since = page.through;
            for event in page.events {
                let wanted = |kind: &String| webhook::matches(kind, &event.kind);
                if !self.kind.is_empty() && !self.kind.iter().any(wanted) {
                    continue;
                }
                left = left.saturating_sub(1);
                show(&event, out)?;
            }
        }
        Ok(())
    }
}

/// Formats an event as one line.
fn line(event: &Event, out: &Output) -> String {
    let style = match event.kind.as_str() {
        kind::TASK_COMPLETED => Style::Green,
        kind::TASK_CLAIMED | kind::TASK_STARTED => Style::Yellow,
        kind::TASK_REFUSED | kind::TASK_DELETED | kind::FILE_REFUSED | kind::COMMAND_REFUSED => {
            Style::Red
        }
        _ => Style::Cyan,
    };
    let detail = detail(event);
    format!(
        "{:>6}  {}  {}  {}  {}{}",
        event.seq,
        out.paint(Style::Dim, event.at.as_str()),
        out.paint(style, &format!("{:<19}", event.kind)),
        clean(&event.subject),
        clean(&event.actor),
        if detail.is_empty() {
            String::new()
        } else {
            format!("  {}", clean(&detail))
        },
    )
}

/// Returns the most useful fields of an event's payload.
fn detail(event: &Event) -> String {
    let Some(data) = event.data.to::<serde_json::Value>() else {
        return String::new();
    };
    let text = |value: &serde_json::Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), ToOwned::to_owned)
    };
    let shown = match event.kind.as_str() {
        kind::TASK_CREATED | kind::TASK_IMPORTED => data.get("subject").map(text),
        kind::TASK_REFUSED => data.get("code").map(text),
        kind::TASK_COMMENTED => data.get("body").map(text),
        kind::FILE_WRITTEN
        | kind::FILE_EDITED
        | kind::FILE_DELETED
        | kind::FILE_MOVED
        | kind::FILE_DIRECTORY_MADE
        | kind::FILE_REFUSED => data.get("path").map(text),
        kind::COMMAND_RUN | kind::COMMAND_REFUSED => data.get("command").map(text),
        _ => data
            .get("changes")
            .and_then(|c| c.as_object())
            .map(|changes| {
                let fields = changes
                    .iter()
                    .filter(|(name, _)| !name.ends_with("At") && *name != "leaseMs");
                fields
                    .map(|(name, value)| format!("{name}={}", text(value)))
                    .collect::<Vec<_>>()
                    .join(" ")
            }),
    };
    let mut shown = shown.unwrap_or_default();
    if let Some((at, _)) = shown.char_indices().nth(80) {
        shown.truncate(at);
        shown.push('…');
    }
    shown
}
