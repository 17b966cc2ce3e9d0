//! Operations that read the history of a task from the event log: the complete history in pages, or its newest entries.

use polis_core::task::history::{Fold, HistoryEntry, history};
use polis_core::{Event, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::pagination::page;
use crate::error::OpError;
use crate::polis::Polis;
use crate::port::EventQuery;

/// Page size of forward reads. Small, because events may be large.
const PAGE: u32 = 200;
/// Page size of backward reads.
const STEP: u32 = 20;
/// Approximate maximum number of bytes read for the newest entries.
const NEWEST_BYTES: usize = 4 << 20;

/// The parameters of reading a task's history.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskHistory {
    /// The task's number.
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

/// The newest part of a task's history, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewestHistory {
    /// The entries. The previous value of a field is included only if an entry in this list sets it.
    pub history: Vec<HistoryEntry>,
    /// Whether there are earlier entries.
    pub earlier: bool,
}

/// Returns a task's history, oldest first.
pub async fn task_history(polis: &Polis, params: &TaskHistory) -> Result<History, OpError> {
    super::get_task::load(polis, params.task_id).await?;
    // An entry contains the previous value of a field, so all entries are folded, including those before the cursor.
    let mut fold = Fold::default();
    let mut history = Vec::new();
    each_event(polis, params.task_id, |event| {
        let entry = fold.take(event);
        if params.cursor.is_none_or(|after| entry.seq > after) {
            history.push(entry);
        }
    })
    .await?;
    let next = page(&mut history, params.limit).map(|last| last.seq);
    Ok(History { history, next })
}

/// Reads a task's events page by page, oldest first.
async fn each_event(
    polis: &Polis,
    id: TaskId,
    mut take: impl FnMut(&Event),
) -> Result<(), OpError> {
    let mut query = EventQuery {
        limit: PAGE,
        subject: Some(format!("task/{id}")),
        ..EventQuery::default()
    };
    loop {
        let page = polis.store.events(&query).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        query.after = last.seq;
        page.iter().for_each(&mut take);
    }
}

/// Returns the newest entries of a task's history, at most `most`. Reads backwards, so the cost does not grow with the
/// age of the task.
pub async fn newest_history(
    polis: &Polis,
    id: TaskId,
    most: usize,
) -> Result<NewestHistory, OpError> {
    super::get_task::load(polis, id).await?;
    let mut query = EventQuery {
        newest: true,
        limit: STEP,
        subject: Some(format!("task/{id}")),
        ..EventQuery::default()
    };
    let mut events: Vec<Event> = Vec::new();
    let (mut bytes, mut earlier) = (0, true);
    while events.len() <= most && bytes < NEWEST_BYTES {
        let mut page = polis.store.events(&query).await?;
        page.sort_by_key(|event| std::cmp::Reverse(event.seq));
        let Some(last) = page.last() else {
            earlier = false;
            break;
        };
        query.before = Some(last.seq);
        bytes += page.iter().map(|one| one.data.text().len()).sum::<usize>();
        events.extend(page);
    }
    events.reverse();
    let mut history = history(&events);
    history.reverse();
    earlier |= history.len() > most;
    history.truncate(most);
    Ok(NewestHistory { history, earlier })
}
