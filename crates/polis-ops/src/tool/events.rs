//! Tools for the event log, the overview and webhooks.

use polis_core::webhook::{WebhookAdd, WebhookView};

use super::Tool;
use super::registry::{Call, Reply, Told, tool};
use super::truncation::{PAGE, fit, join, more};
use crate::op::{
    self, AddedWebhook, LogPage, LogRead, Nothing, Overview, RemovedWebhook, WebhookList,
    WebhookRemove,
};

/// The log and server tools.
pub(super) const TOOLS: &[Tool] = &[
    tool!("read_log", Events, Look, LogRead => LogPage, read, { listed },
        "Read what happened, oldest first."),
    tool!("get_overview", Server, Look, Nothing => Overview, overview, {},
        "Count tasks, agents and events."),
    tool!("add_webhook", Server, Add, WebhookAdd => AddedWebhook, add_hook, { open_world },
        "Have events sent to an address."),
    tool!("list_webhooks", Server, Look, Nothing => WebhookList, list_hooks, {},
        "List where events are sent to."),
    tool!("remove_webhook", Server, Change, WebhookRemove => RemovedWebhook, remove_hook, { idempotent },
        "Send no more events to an address."),
];

async fn read(call: Call<'_>, mut given: LogRead) -> Told<LogPage> {
    if call.brief {
        given.limit = given.limit.or(Some(PAGE));
    }
    let mut page = op::read_log(call.polis, call.by, &given).await?;
    let backwards = given.before.is_some();
    if call.brief {
        // Drop the events that would be read last.
        if backwards {
            page.events.reverse();
        }
        if fit(&mut page.events) {
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
    let text = join(lines, "Nothing to see.");
    let cut = more(
        page.events.len(),
        if backwards { "before" } else { "since" },
        page.next.as_ref(),
    );
    Ok(Reply::new(page, text).cut(cut))
}

async fn overview(call: Call<'_>, _: Nothing) -> Told<Overview> {
    let all = op::overview(call.polis).await?;
    let text = format!(
        "Tasks: {} pending, {} in progress, {} completed. Agents: {}. Events: {}.",
        all.pending, all.in_progress, all.completed, all.agents, all.events
    );
    Ok(Reply::new(all, text))
}

async fn add_hook(call: Call<'_>, given: WebhookAdd) -> Told<AddedWebhook> {
    let added = op::add_webhook(call.polis, call.by, &given).await?;
    let text = format!(
        "Webhook {} added; its secret is {}",
        added.view.id, added.secret
    );
    Ok(Reply::new(added, text))
}

async fn list_hooks(call: Call<'_>, _: Nothing) -> Told<WebhookList> {
    let all = op::list_webhooks(call.polis, call.by).await?;
    let line = |one: &WebhookView| format!("{} {}", one.id, one.url);
    let text = join(all.webhooks.iter().map(line), "No webhooks.");
    Ok(Reply::new(all, text))
}

async fn remove_hook(call: Call<'_>, given: WebhookRemove) -> Told<RemovedWebhook> {
    let removed = op::remove_webhook(call.polis, call.by, &given).await?;
    Ok(Reply::new(
        removed,
        format!("Webhook {} removed.", given.id),
    ))
}
