//! Shared implementation of operations that change one task and need only that task to decide (heartbeat,
//! release, approve): load, decide, commit with retries, and log a refusal. Claim, update (which also
//! completes a task) and comment need more and do not use it.

use polis_core::task::task_decision::TaskDecision;
use polis_core::{Caller, Refusal, TaskId, TaskRecord, Timestamp};

use crate::error::OpError;
use crate::op::task::get_task::{TaskView, load_task};
use crate::port::Receipt;
use crate::request::{AttemptFuture, Request};

/// Loads the task, calls `decide` and commits. A refused attempt is recorded in the event log as `op`.
pub(crate) async fn change_task(
    request: &Request,
    op: &str,
    id: TaskId,
    decide: impl Fn(&TaskRecord, &Caller, &Timestamp) -> Result<TaskDecision, Refusal> + Send + Sync,
) -> Result<TaskView, OpError> {
    let caller = request.resolve_caller().await?;
    let (actor, decide) = (&caller, &decide);
    let attempt = || -> AttemptFuture<'_, _> {
        Box::pin(async move {
            let current = load_task(&request.app, id).await?;
            let decided = decide(&current, actor, &request.app.now())?;
            Ok((decided.record, decided.changes))
        })
    };
    let now = request.app.clock.now_millis();
    let view = move |record, _: &Receipt| TaskView::from_record(record, now, Vec::new());
    let answer = request.retry_on_conflict(attempt, view).await;
    request.log_refusal(op, id, &caller, answer).await
}
