//! Operation that reads the event log in pages, in either direction, with filters and visibility rules.

use polis_core::visibility::Sight;
use polis_core::workspace::record;
use polis_core::{AgentId, Event, Standing, webhook};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::polis::Polis;
use crate::port::EventQuery;

/// Maximum number of events per page.
const MAX_PAGE: u32 = 1_000;

/// Maximum number of store pages read for one response when filtering.
const MOST_PAGES: u32 = 50;

/// The parameters of reading the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogRead {
    /// Only events after this place in the log.
    #[serde(default)]
    pub since: u64,
    /// Read backwards: the newest events before this place, oldest first all the same.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub before: Option<u64>,
    /// At most so many; up to 1,000 a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only those about this, such as `task/5`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
    /// Only of this kind, such as `task.completed`, or `task.` for all of tasks.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub kind: Option<String>,
    /// Only what this agent did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub actor: Option<String>,
    /// Only those that have this text somewhere; the letters a to z count in either case.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text: Option<String>,
}

impl LogRead {
    /// Returns whether a filter other than the subject is set.
    fn is_choosy(&self) -> bool {
        self.kind.is_some() || self.actor.is_some() || self.text.is_some()
    }

    /// Returns whether an event matches the filters. `text` is the lowercased search text.
    fn wants(&self, event: &Event, text: Option<&str>) -> bool {
        let has = |part: &str, text: &str| part.to_ascii_lowercase().contains(text);
        self.kind
            .as_ref()
            .is_none_or(|kind| webhook::matches(kind, &event.kind))
            && self
                .actor
                .as_ref()
                .is_none_or(|actor| *actor == event.actor)
            && text.is_none_or(|text| {
                [&event.actor, &event.kind, &event.subject]
                    .into_iter()
                    .any(|part| has(part, text))
                    || has(event.data.text(), text)
            })
    }
}

/// A page of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LogPage {
    /// The events that the caller may see.
    pub events: Vec<Event>,
    /// Where the next page begins, to be given as `since`, or as `before` if this was read backwards; null if
    /// this is the end. A page may be empty and have a next: not all of the log is looked at for one answer.
    pub next: Option<u64>,
    /// Everything up to this place in the log was looked at; read backwards, everything from this place on.
    pub through: u64,
}

/// Returns the events after or before a position in the log, in commit order. Events that are not visible to the caller
/// are omitted.
pub async fn read_log(
    polis: &Polis,
    caller: &AgentId,
    params: &LogRead,
) -> Result<LogPage, OpError> {
    let sight = event_sight(polis, caller).await?;
    let limit = params.limit.unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE);
    let text = params.text.as_ref().map(|text| text.to_ascii_lowercase());
    let wanted = |event: &Event| params.wants(event, text.as_deref()) && sight.shows(event);
    let most = usize::try_from(limit).unwrap_or(usize::MAX);
    let (page, pages) = match params.is_choosy() {
        true => (MAX_PAGE, MOST_PAGES),
        false => (limit, 1),
    };
    let mut query = EventQuery {
        after: params.since,
        before: params.before,
        newest: params.before.is_some(),
        limit: page,
        subject: params.subject.clone(),
        except: &[],
    };
    let mut found: Vec<Event> = Vec::new();
    // In reading order, which is reversed when reading backwards.
    let mut through = params.before.unwrap_or(params.since);
    for _ in 0..pages {
        let mut events = polis.store.events(&query).await?;
        let whole = events.len() >= usize::try_from(page).unwrap_or(usize::MAX);
        if query.newest {
            events.reverse();
        }
        for event in events {
            if found.len() >= most {
                return Ok(answer(found, Some(through), through, query.newest));
            }
            through = event.seq;
            if wanted(&event) {
                found.push(event);
            }
        }
        if !whole {
            return Ok(answer(found, None, through, query.newest));
        }
        match query.newest {
            true => query.before = Some(through),
            false => query.after = through,
        }
    }
    Ok(answer(found, Some(through), through, query.newest))
}

fn answer(mut events: Vec<Event>, next: Option<u64>, through: u64, backwards: bool) -> LogPage {
    if backwards {
        events.reverse();
    }
    LogPage {
        events,
        next,
        through,
    }
}

/// Returns the current event visibility of a caller.
pub async fn event_sight(polis: &Polis, caller: &AgentId) -> Result<Sight, OpError> {
    let caller = polis.caller(caller).await?;
    let mut sight = Sight {
        rules: polis.settings.boards.access.clone(),
        agents: Vec::new(),
        workspace: None,
        caller,
    };
    if sight.caller.standing == Standing::Human {
        return Ok(sight);
    }
    let agents = polis.store.agents().await?;
    let workspaces = polis.store.workspaces().await?;
    sight.workspace = record::find(
        &sight.caller.id,
        |id| agents.iter().find(|a| a.id == *id)?.supervisor.as_ref(),
        |id| workspaces.iter().any(|w| w.workspace_id == *id),
    );
    sight.agents = agents;
    Ok(sight)
}
