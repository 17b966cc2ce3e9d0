//! Tools for the event log, the overview and webhooks: definitions, and handlers that call the operation,
//! shorten its result for a model and render it as text.

use polis_core::webhook::{WebhookAddParams, WebhookView};

use polis_i18n::msg;

use super::registry::{ToolContext, ToolReply, ToolResult, tool};
use crate::op::{
    self, LogPage, LogReadParams, NoParams, OverviewCounts, WebhookAddResult, WebhookList,
    WebhookRemoveParams, WebhookRemoveResult,
};
use crate::tool::Tool;
use crate::tool::truncation::{DEFAULT_PAGE_SIZE, fit_entries, join_lines, next_page_note};

/// Definitions of the log and server tools.
pub(super) const EVENT_TOOLS: &[Tool] = &[
    tool!("read_log", Events, ReadOnly, LogReadParams => LogPage, read_log, { is_offered_to_agents }),
    tool!("get_overview", Server, ReadOnly, NoParams => OverviewCounts, get_overview, {}),
    tool!("add_webhook", Server, Additive, WebhookAddParams => WebhookAddResult, add_webhook, { open_world }),
    tool!("list_webhooks", Server, ReadOnly, NoParams => WebhookList, list_webhooks, {}),
    tool!("remove_webhook", Server, Destructive, WebhookRemoveParams => WebhookRemoveResult, remove_webhook, { idempotent }),
];

async fn read_log(call: ToolContext<'_>, mut params: LogReadParams) -> ToolResult<LogPage> {
    if call.for_model {
        params.limit = params.limit.or(Some(DEFAULT_PAGE_SIZE));
    }
    let mut page = op::read_log(call.request, &params).await?;
    let backwards = params.before.is_some();
    if call.for_model {
        // Drop the events that would be read last.
        if backwards {
            page.events.reverse();
        }
        if fit_entries(&mut page.events) {
            page.next = page.events.last().map(|event| event.seq);
            page.through = page.next.unwrap_or(page.through);
        }
        if backwards {
            page.events.reverse();
        }
    }
    let lines = page.events.iter().map(|one| {
        format!(
            "{} {} {} {} {}",
            one.seq, one.at, one.actor, one.kind, one.subject
        )
    });
    let text = join_lines(lines, msg::tool_event_none(call.lang));
    let note = next_page_note(
        call.lang,
        page.events.len(),
        if backwards { "before" } else { "since" },
        page.next.as_ref(),
    );
    Ok(ToolReply::new(page, text).with_continuation(note))
}

async fn get_overview(call: ToolContext<'_>, _: NoParams) -> ToolResult<OverviewCounts> {
    let all = op::count_overview(call.request).await?;
    let text = msg::tool_event_overview(
        call.lang,
        all.pending,
        all.in_progress,
        all.completed,
        all.agents,
        all.events,
    );
    Ok(ToolReply::new(all, text))
}

async fn add_webhook(
    call: ToolContext<'_>,
    params: WebhookAddParams,
) -> ToolResult<WebhookAddResult> {
    let added = op::add_webhook(call.request, &params).await?;
    let text = msg::tool_event_webhook_added(call.lang, &added.view.id, &added.secret);
    Ok(ToolReply::new(added, text))
}

async fn list_webhooks(call: ToolContext<'_>, _: NoParams) -> ToolResult<WebhookList> {
    let all = op::list_webhooks(call.request).await?;
    let line = |one: &WebhookView| format!("{} {}", one.id, one.url);
    let text = join_lines(
        all.webhooks.iter().map(line),
        msg::tool_event_no_webhooks(call.lang),
    );
    Ok(ToolReply::new(all, text))
}

async fn remove_webhook(
    call: ToolContext<'_>,
    params: WebhookRemoveParams,
) -> ToolResult<WebhookRemoveResult> {
    let removed = op::remove_webhook(call.request, &params).await?;
    Ok(ToolReply::new(
        removed,
        msg::tool_event_webhook_removed(call.lang, &params.id),
    ))
}
