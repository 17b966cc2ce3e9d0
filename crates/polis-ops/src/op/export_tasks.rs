//! Operation that exports all tasks with their comments as JSON files.

use polis_core::Raw;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::OpError;
use crate::polis::Polis;
use crate::port::{CommentQuery, PortError, TaskFileSink};

const PAGE: u32 = 500;

/// What was exported.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Exported {
    /// How many tasks.
    pub exported: u64,
}

/// Exports every task, including deleted ones, each with its comments. `tell` is the progress callback.
pub async fn export_tasks(
    polis: &Polis,
    sink: &mut dyn TaskFileSink,
    tell: &mut (dyn FnMut(u64) + Send),
) -> Result<Exported, OpError> {
    let mut after = None;
    let mut exported = 0;
    loop {
        let page = polis.store.scan_tasks(after, PAGE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.task.id);
        for record in page {
            let mut task = record.task;
            let comments = polis.store.comments(&CommentQuery::of(task.id)).await?;
            if !comments.is_empty() {
                let list =
                    Raw::of(&comments).map_err(|e| PortError::internal("Writing comments", e))?;
                task.extra.set("comments", list);
            }
            let json = serde_json::to_string_pretty(&task)
                .map_err(|e| PortError::internal("Writing a task", e))?;
            sink.write(task.id, &json)?;
            exported += 1;
        }
        tell(exported);
    }
    sink.finish(polis.store.last_task_number().await?)?;
    Ok(Exported { exported })
}
