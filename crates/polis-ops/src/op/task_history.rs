//! Everything a task ever was.

use polis_core::TaskId;
use polis_core::task::history::{HistoryEntry, history};

use crate::error::OpError;
use crate::polis::Polis;
use crate::port::EventQuery;

const PAGE: u32 = 1_000;

/// A task's history, oldest first.
pub async fn task_history(polis: &Polis, id: TaskId) -> Result<Vec<HistoryEntry>, OpError> {
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
    Ok(history(&events))
}
