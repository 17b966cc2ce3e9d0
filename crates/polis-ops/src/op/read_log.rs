//! Reading the commit log.

use polis_core::sight::Sight;
use polis_core::workspace::record;
use polis_core::{AgentId, Event, Standing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::error::OpError;
use crate::polis::Polis;
use crate::port::EventQuery;

/// The most events one page may have.
const MAX_PAGE: u32 = 1_000;

/// The parameters of reading the log.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct LogRead {
    /// Only events after this place in the log.
    #[serde(default)]
    pub since: u64,
    /// At most so many; up to 1,000 a page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
    /// Only those about this, such as `task/5`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub subject: Option<String>,
}

/// A page of the log.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LogPage {
    /// The events that the caller may see.
    pub events: Vec<Event>,
    /// Where the next page begins; null if this is the end.
    pub next: Option<u64>,
    /// Everything up to this place in the log was looked at.
    pub through: u64,
}

/// The events after a place in the log, in commit order; those the caller may not see are left out.
pub async fn read_log(
    polis: &Polis,
    caller: &AgentId,
    params: &LogRead,
) -> Result<LogPage, OpError> {
    let sight = event_sight(polis, caller).await?;
    let limit = params.limit.unwrap_or(MAX_PAGE).clamp(1, MAX_PAGE);
    let query = EventQuery {
        after: params.since,
        limit,
        subject: params.subject.clone(),
    };
    let mut events = polis.store.events(&query).await?;
    let whole = events.len() >= usize::try_from(limit).unwrap_or(usize::MAX);
    let through = events.last().map_or(params.since, |last| last.seq);
    let next = whole.then_some(through);
    events.retain(|event| sight.shows(event));
    Ok(LogPage {
        events,
        next,
        through,
    })
}

/// What a caller may see of the log, as of now.
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
