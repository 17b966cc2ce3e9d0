//! Operations that read the history of a task from the event log: the complete history in pages, or its
//! newest entries.

use polis_core::task::history::{HistoryReplay, TaskHistoryEntry, replay_history};
use polis_core::{Event, TaskId};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::app::App;
use crate::error::OpError;
use crate::pagination::truncate_page;
use crate::port::EventLogQuery;
use crate::request::Request;

/// Page size of forward reads. Small, because events may be large.
const PAGE_SIZE: u32 = 200;
/// Page size of backward reads.
const BACKWARD_PAGE_SIZE: u32 = 20;
/// Approximate maximum number of bytes read for the newest entries.
const MAX_NEWEST_BYTES: usize = 4 << 20;

/// Parameters of `TaskHistory`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct TaskHistoryParams {
    /// The task's number.
    pub task_id: TaskId,
    /// Only entries after this sequence number: `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<u64>,
    /// Maximum number of entries; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A task's history, oldest first.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskHistoryPage {
    /// The entries.
    pub history: Vec<TaskHistoryEntry>,
    /// Cursor of the next page; omitted on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<u64>,
}

/// The newest part of a task's history, newest first.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewestTaskHistory {
    /// The entries. The previous value of a field is included only if an entry in this list sets it.
    pub history: Vec<TaskHistoryEntry>,
    /// Whether there are earlier entries.
    pub has_earlier: bool,
}

/// Returns a task's history, oldest first. Fails with `task_not_found` if the task does not exist.
pub async fn task_history(
    request: &Request,
    params: &TaskHistoryParams,
) -> Result<TaskHistoryPage, OpError> {
    crate::op::task::get_task::load_task(&request.app, params.task_id).await?;
    // An entry contains the previous value of a field, so all entries are folded, including those before the
    // cursor.
    let mut replay = HistoryReplay::default();
    let mut history = Vec::new();
    for_each_task_event(&request.app, params.task_id, |event| {
        let entry = replay.add_event(event);
        if params.cursor.is_none_or(|after| entry.seq > after) {
            history.push(entry);
        }
    })
    .await?;
    let next = truncate_page(&mut history, params.limit).map(|last| last.seq);
    Ok(TaskHistoryPage { history, next })
}

/// Reads a task's events page by page, oldest first.
async fn for_each_task_event(
    app: &App,
    id: TaskId,
    mut visit: impl FnMut(&Event),
) -> Result<(), OpError> {
    let mut query = EventLogQuery {
        limit: PAGE_SIZE,
        subject: Some(format!("task/{id}")),
        ..EventLogQuery::default()
    };
    loop {
        let page = app.store.events(&query).await?;
        let Some(last) = page.last() else {
            return Ok(());
        };
        query.after = last.seq;
        page.iter().for_each(&mut visit);
    }
}

/// Returns the newest entries of a task's history, at most `limit`. Reads backwards, so the cost does not
/// grow with the age of the task. Fails with `task_not_found` if the task does not exist.
pub async fn newest_task_history(
    request: &Request,
    id: TaskId,
    limit: usize,
) -> Result<NewestTaskHistory, OpError> {
    crate::op::task::get_task::load_task(&request.app, id).await?;
    let mut query = EventLogQuery {
        newest: true,
        limit: BACKWARD_PAGE_SIZE,
        subject: Some(format!("task/{id}")),
        ..EventLogQuery::default()
    };
    let mut events: Vec<Event> = Vec::new();
    let (mut bytes, mut earlier) = (0, true);
    while events.len() <= limit && bytes < MAX_NEWEST_BYTES {
        let mut page = request.app.store.events(&query).await?;
        page.sort_by_key(|event| std::cmp::Reverse(event.seq));
        let Some(last) = page.last() else {
            earlier = false;
            break;
        };
        query.before = Some(last.seq);
        bytes += page
            .iter()
            .map(|event| event.data.as_str().len())
            .sum::<usize>();
        events.extend(page);
    }
    events.reverse();
    let mut history = replay_history(&events);
    history.reverse();
    earlier |= history.len() > limit;
    history.truncate(limit);
    Ok(NewestTaskHistory {
        history,
        has_earlier: earlier,
    })
}
