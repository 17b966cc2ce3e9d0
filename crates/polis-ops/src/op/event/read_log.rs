//! Operation that reads the event log in pages, forwards or backwards, with filters. Events that the caller
//! may not see are omitted; [`load_event_visibility`] also serves the live streams.

use polis_core::number::saturating_cast;
use polis_core::visibility::EventVisibility;
use polis_core::workspace::workspace_record;
use polis_core::{CallerKind, Event, webhook};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::port::EventLogQuery;
use crate::request::Request;

/// Maximum number of events per page.
const MAX_PAGE_SIZE: u32 = 1_000;

/// Maximum number of store pages read for one response when filtering.
const MAX_PAGES_READ: u32 = 50;

/// Parameters of `read_log`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogReadParams {
    /// Only events after this sequence number.
    #[serde(default)]
    pub since: u64,
    /// Read backwards, in ascending order: only events before this number.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// Maximum number of events; up to 1,000.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only events about this subject, such as `task/5`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Only this kind, such as `task.completed`; `task.` matches all task events.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Only events caused by this agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Only events that contain this text; ASCII letters match in either case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl LogReadParams {
    /// Returns whether a filter other than the subject is set.
    fn has_event_filter(&self) -> bool {
        self.kind.is_some() || self.actor.is_some() || self.text.is_some()
    }

    /// Returns whether an event matches the filters. `text` is the lowercased search text.
    fn matches_filters(&self, event: &Event, text: Option<&str>) -> bool {
        let has = |part: &str, text: &str| part.to_ascii_lowercase().contains(text);
        self.kind
            .as_ref()
            .is_none_or(|kind| webhook::matches_kind_filter(kind, &event.kind))
            && self
                .actor
                .as_ref()
                .is_none_or(|actor| *actor == event.actor)
            && text.is_none_or(|text| {
                [&event.actor, &event.kind, &event.subject]
                    .into_iter()
                    .any(|part| has(part, text))
                    || has(event.data.as_str(), text)
            })
    }
}

/// A page of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LogPage {
    /// The events that the caller may see.
    pub events: Vec<Event>,
    /// Cursor of the next page: pass it as `since`, or as `before` when reading backwards; null at the end. A
    /// page may be empty and still have a next page, because one response searches only a part of the log.
    pub next: Option<u64>,
    /// The log was searched up to this sequence number; when reading backwards, from this number on.
    pub through: u64,
}

/// Returns the events after or before a position in the log, in commit order. Events that are not visible to
/// the caller are omitted. Fails with `permission_denied` if the caller may not act.
pub async fn read_log(request: &Request, params: &LogReadParams) -> Result<LogPage, OpError> {
    let visibility = load_event_visibility(request).await?;
    let limit = params
        .limit
        .unwrap_or(MAX_PAGE_SIZE)
        .clamp(1, MAX_PAGE_SIZE);
    let text = params.text.as_ref().map(|text| text.to_ascii_lowercase());
    let is_match = |event: &Event| {
        params.matches_filters(event, text.as_deref()) && visibility.is_visible(event)
    };
    let max_events = saturating_cast::<usize>(limit);
    let (page, pages) = if params.has_event_filter() {
        (MAX_PAGE_SIZE, MAX_PAGES_READ)
    } else {
        (limit, 1)
    };
    let mut query = EventLogQuery {
        after: params.since,
        before: params.before,
        newest: params.before.is_some(),
        limit: page,
        subject: params.subject.clone(),
        excluded_kinds: &[],
    };
    let mut found: Vec<Event> = Vec::new();
    // In reading order, which is reversed when reading backwards.
    let mut through = params.before.unwrap_or(params.since);
    for _ in 0..pages {
        let mut events = request.app.store.events(&query).await?;
        let is_full = events.len() >= saturating_cast::<usize>(page);
        if query.newest {
            events.reverse();
        }
        for event in events {
            if found.len() >= max_events {
                return Ok(build_log_page(found, Some(through), through, query.newest));
            }
            through = event.seq;
            if is_match(&event) {
                found.push(event);
            }
        }
        if !is_full {
            return Ok(build_log_page(found, None, through, query.newest));
        }
        if query.newest {
            query.before = Some(through);
        } else {
            query.after = through;
        }
    }
    Ok(build_log_page(found, Some(through), through, query.newest))
}

fn build_log_page(
    mut events: Vec<Event>,
    next: Option<u64>,
    through: u64,
    backwards: bool,
) -> LogPage {
    if backwards {
        events.reverse();
    }
    LogPage {
        events,
        next,
        through,
    }
}

/// Returns the current event visibility of a caller. Fails with `permission_denied` if the caller may not
/// act.
pub async fn load_event_visibility(request: &Request) -> Result<EventVisibility, OpError> {
    let caller = request.resolve_caller().await?;
    let mut visibility = EventVisibility {
        rules: request.app.settings.boards.access_rules.clone(),
        agents: Vec::new(),
        workspace: None,
        caller,
    };
    if visibility.caller.kind == CallerKind::Person {
        return Ok(visibility);
    }
    let agents = request.app.store.agents().await?;
    let workspaces = request.app.store.workspaces().await?;
    visibility.workspace = workspace_record::find_workspace_owner(
        &visibility.caller.id,
        |id| agents.iter().find(|a| a.id == *id)?.supervisor.as_ref(),
        |id| workspaces.iter().any(|w| w.workspace_id == *id),
    );
    visibility.agents = agents;
    Ok(visibility)
}
