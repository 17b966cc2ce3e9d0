//! `polis log` and `polis watch`: print the events of the event log, or follow it live. Also renders one event
//! as a line.

use polis_core::number::saturating_cast;
use std::time::Duration;

use clap::Args;
use polis_core::{Event, EventKind, RefusalCode, webhook};
use polis_i18n::msg;
use polis_ops::op::{self, LogReadParams};
use polis_store::embedded::StoreMode;
use polis_view::event_details::compact_event_details;

use crate::cli::GlobalArgs;
use crate::context::CommandContext;
use crate::error::CliError;
use crate::output::{CliOutput, TextStyle, sanitize_line};

/// Maximum number of events read at once.
const EVENTS_PER_PAGE: u32 = 1_000;

/// Print the event log, one event per line.
#[derive(Debug, Args)]
pub(crate) struct LogArgs {
    /// Only events after this sequence number
    #[arg(long, value_name = "SEQ", default_value_t = 0)]
    since: u64,
    /// Only events before this sequence number; with --limit, the newest of them
    #[arg(long, value_name = "SEQ", conflicts_with = "since")]
    before: Option<u64>,
    /// Maximum number of events
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    limit: Option<u32>,
    /// Only the newest N events
    #[arg(long, value_name = "N", conflicts_with_all = ["since", "before"])]
    last: Option<u64>,
    /// Only events about this subject, such as task/5
    #[arg(long, value_name = "OBJECT")]
    subject: Option<String>,
    /// Only events of this kind, such as task.completed, or task. for all task events
    #[arg(long, value_name = "KIND")]
    kind: Option<String>,
    /// Only events of this agent
    #[arg(long, value_name = "AGENT")]
    actor: Option<String>,
    /// Only events that contain this text
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
}

/// Follow the event log live, one event per line.
#[derive(Debug, Args)]
pub(crate) struct LogWatchArgs {
    /// Start after this sequence number; default: with the next event
    #[arg(long, value_name = "SEQ")]
    since: Option<u64>,
    /// Stop after N events
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    limit: Option<u64>,
    /// Only these kinds, such as task.completed, or task. for all task events
    #[arg(long, value_name = "KIND", value_delimiter = ',')]
    kind: Vec<String>,
}

impl LogArgs {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        let context = CommandContext::open(globals)?;
        let mut left = self.limit.unwrap_or(u32::MAX);
        let mut params = LogReadParams {
            since: self.since,
            before: self.before,
            subject: self.subject,
            kind: self.kind,
            actor: self.actor,
            text: self.search,
            ..LogReadParams::default()
        };
        if let Some(last) = self.last {
            left = left.min(saturating_cast::<u32>(last));
            params.before = Some(u64::MAX);
        }
        let all = LogReadParams {
            before: params.before,
            ..LogReadParams::default()
        };
        let is_filtered = params != all;
        let count = match params.before {
            Some(_) => print_newest_events(&context, params, left, out)?,
            None => print_events(&context, params, left, out)?,
        };
        if count == 0 && !out.is_json() {
            out.print_line(if is_filtered {
                msg::cli_agent_log_no_match(out.lang())
            } else {
                msg::cli_agent_log_none(out.lang())
            })?;
        }
        Ok(())
    }
}

/// Prints events as they are read. Returns their number.
fn print_events(
    context: &CommandContext,
    mut params: LogReadParams,
    mut left: u32,
    out: &CliOutput,
) -> Result<usize, CliError> {
    let mut count = 0;
    while left > 0 {
        params.limit = Some(left.min(EVENTS_PER_PAGE));
        let page = context.block_on(op::read_log(&context.request(), &params))?;
        left = left.saturating_sub(saturating_cast::<u32>(page.events.len()));
        count += page.events.len();
        page.events
            .iter()
            .try_for_each(|event| print_event(event, out))?;
        match page.next {
            Some(next) => params.since = next,
            None => break,
        }
    }
    Ok(count)
}

/// Reads the newest events and prints them in commit order. Returns their number.
fn print_newest_events(
    context: &CommandContext,
    mut params: LogReadParams,
    mut left: u32,
    out: &CliOutput,
) -> Result<usize, CliError> {
    let mut pages = Vec::new();
    while left > 0 {
        params.limit = Some(left.min(EVENTS_PER_PAGE));
        let page = context.block_on(op::read_log(&context.request(), &params))?;
        left = left.saturating_sub(saturating_cast::<u32>(page.events.len()));
        pages.push(page.events);
        match page.next {
            Some(next) => params.before = Some(next),
            None => break,
        }
    }
    let events = || pages.iter().rev().flatten();
    events().try_for_each(|event| print_event(event, out))?;
    Ok(events().count())
}

fn log_page_params(since: u64, limit: u32) -> LogReadParams {
    LogReadParams {
        since,
        limit: Some(limit),
        ..LogReadParams::default()
    }
}

/// Prints an event as a JSON document or a line.
pub(super) fn print_event(event: &Event, out: &CliOutput) -> Result<(), CliError> {
    if out.is_json() {
        out.print_json(event)
    } else {
        out.print_line(&render_event(event, out))
    }
}

impl LogWatchArgs {
    pub(crate) fn run(self, globals: &GlobalArgs, out: &CliOutput) -> Result<(), CliError> {
        let context = CommandContext::open_for(globals, StoreMode::Server)?;
        let store = &context.app.store;
        let mut since = match self.since {
            Some(since) => since,
            None => context.block_on(store.last_sequence())?,
        };
        let mut left = self.limit.unwrap_or(u64::MAX);
        while left > 0 {
            let limit =
                u32::try_from(left.min(u64::from(EVENTS_PER_PAGE))).unwrap_or(EVENTS_PER_PAGE);
            let poll = async {
                store
                    .wait_for_event_after(since, Duration::from_secs(60))
                    .await?;
                op::read_log(&context.request(), &log_page_params(since, limit)).await
            };
            let page = match context.block_on(poll) {
                Ok(page) => page,
                // An unavailable store usually comes back; the watch continues, so that it need not be
                // restarted.
                Err(error) if error.code() == RefusalCode::STORE_UNAVAILABLE => {
                    out.print_stderr(msg::cli_store_unreachable(out.lang()));
                    std::thread::sleep(Duration::from_secs(1));
                    continue;
                }
                Err(error) => return Err(error.into()),
            };
            since = page.through;
            for event in page.events {
                let matches_kind = |kind: &String| webhook::matches_kind_filter(kind, &event.kind);
                if !self.kind.is_empty() && !self.kind.iter().any(matches_kind) {
                    continue;
                }
                left = left.saturating_sub(1);
                print_event(&event, out)?;
            }
        }
        Ok(())
    }
}

/// Formats an event as one line.
fn render_event(event: &Event, out: &CliOutput) -> String {
    let style = match event.known_kind() {
        Some(EventKind::TaskCompleted) => TextStyle::Green,
        Some(EventKind::TaskClaimed | EventKind::TaskStarted) => TextStyle::Yellow,
        Some(
            EventKind::TaskRefused
            | EventKind::TaskDeleted
            | EventKind::FileRefused
            | EventKind::CommandRefused,
        ) => TextStyle::Red,
        _ => TextStyle::Cyan,
    };
    let detail = event
        .payload()
        .map_or_else(String::new, |payload| compact_event_details(&payload));
    format!(
        "{:>6}  {}  {}  {}  {}{}",
        event.seq,
        out.paint(TextStyle::Dim, event.at.as_str()),
        out.paint(style, &format!("{:<19}", sanitize_line(&event.kind))),
        sanitize_line(&event.subject),
        sanitize_line(&event.actor),
        if detail.is_empty() {
            String::new()
        } else {
            format!("  {}", sanitize_line(&detail))
        },
    )
}
