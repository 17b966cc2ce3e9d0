//! Everything a task ever was.

use polis_core::TaskId;
use polis_core::task::history::{HistoryEntry, history};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::page::page;
use crate::error::OpError;
use crate::polis::Polis;
use crate::port::EventQuery;

const PAGE: u32 = 1_000;

/// The parameters of reading a task's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskHistory {
    /// The task.
    pub task_id: TaskId,
    /// Only what came after this place in the log: the `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<u64>,
    /// At most so many entries; all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A task's history, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct History {
    /// The entries.
    pub history: Vec<HistoryEntry>,
    /// Where the next page begins; left out if this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// A task's history.
pub async fn task_history(polis: &Polis, params: &TaskHistory) -> Result<History, OpError> {
    let id = params.task_id;
    super::get_task::load(polis, id).await?;
    let mut query = EventQuery {
        after: 0,
        limit: PAGE,
        subject: Some(format!("task/{id}")),
    };
    let mut events = Vec::new();
    loop {
        let page = polis.store.events(&query).await?;
        let Some(last) = page.last() else { break };
        query.after = last.seq;
        events.extend(page);
    }
    // An entry tells what a field was before, so all of them are folded, whichever are wanted.
    let mut history = history(&events);
    history.retain(|entry| params.cursor.is_none_or(|after| entry.seq > after));
    let next = page(&mut history, params.limit).map(|last| last.seq);
    Ok(History { history, next })
}
