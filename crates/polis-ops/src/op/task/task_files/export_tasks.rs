//! Operation that exports all tasks with their comments as JSON, one document for each task, to a
//! [`TaskFileSink`].

use polis_core::RawJson;
use schemars::JsonSchema;
use serde::Serialize;

use crate::error::OpError;
use crate::port::{CommentQuery, PortError, TaskFileSink};
use crate::request::Request;

const PAGE_SIZE: u32 = 500;

/// Result of an export.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct TaskExportResult {
    /// Number of exported tasks.
    pub exported: u64,
}

/// Exports every task, including deleted ones, each with its comments. `report_progress` is called with the
/// number of tasks exported so far. Fails if the store or the sink does.
pub async fn export_tasks(
    request: &Request,
    sink: &mut dyn TaskFileSink,
    report_progress: &mut (dyn FnMut(u64) + Send),
) -> Result<TaskExportResult, OpError> {
    let mut after = None;
    let mut exported = 0;
    loop {
        let page = request.app.store.scan_tasks(after, PAGE_SIZE).await?;
        let Some(last) = page.last() else { break };
        after = Some(last.task.id);
        for record in page {
            let mut task = record.task;
            let comments = request
                .app
                .store
                .comments(&CommentQuery::for_task(task.id))
                .await?;
            if !comments.is_empty() {
                let list = RawJson::from_value(&comments)
                    .map_err(|e| PortError::internal("Writing comments", e))?;
                task.extra.set("comments", list);
            }
            let json = serde_json::to_string_pretty(&task)
                .map_err(|e| PortError::internal("Writing a task", e))?;
            sink.write(task.id, &json)?;
            exported += 1;
        }
        report_progress(exported);
    }
    sink.finish(request.app.store.last_task_number().await?)?;
    Ok(TaskExportResult { exported })
}
