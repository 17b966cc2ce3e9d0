//! How a task's time was spent.

use polis_core::TaskId;
use polis_core::event::kind;
use polis_core::task::history::Fold;
use polis_core::task::spent::{TimeSpent, spent};

use super::task_history::each_event;
use crate::error::OpError;
use crate::polis::Polis;

/// Who worked on a task from when to when, and how long it waited.
pub async fn task_time(polis: &Polis, id: TaskId) -> Result<TimeSpent, OpError> {
    super::get_task::load(polis, id).await?;
    let mut fold = Fold::default();
    let mut told = Vec::new();
    each_event(polis, id, |event| {
        // Dependencies come and go without anybody working, and each brings whole lists.
        if event.kind == kind::TASK_LINKED {
            return;
        }
        let mut entry = fold.take(event);
        entry
            .changes
            .retain(|change| matches!(change.field.as_str(), "status" | "owner"));
        entry.data = None;
        told.push(entry);
    })
    .await?;
    Ok(spent(&told, polis.clock.now_millis()))
}
