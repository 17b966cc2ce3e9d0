//! Shared implementation of operations that change one task and need no other data than that task.

use polis_core::task::update::Decided;
use polis_core::{AgentId, Caller, Refusal, TaskId, TaskRecord, Timestamp};

use super::get_task::{TaskView, load};
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::Receipt;

/// Loads the task, calls `decide` and commits. A refused attempt is recorded in the event log as `op`.
pub(super) async fn change_task(
    polis: &Polis,
    op: &str,
    caller: &AgentId,
    id: TaskId,
    decide: impl Fn(&TaskRecord, &Caller, &Timestamp) -> Result<Decided, Refusal> + Send + Sync,
) -> Result<TaskView, OpError> {
    let caller = polis.caller(caller).await?;
    let (by, decide) = (&caller, &decide);
    let attempt = || -> Attempt<'_, _> {
        Box::pin(async move {
            let current = load(polis, id).await?;
            let decided = decide(&current, by, &polis.now())?;
            Ok((decided.record, decided.changes))
        })
    };
    let now = polis.clock.now_millis();
    let view = move |record, _: &Receipt| TaskView::of(record, now, Vec::new());
    let answer = polis.settle(attempt, view).await;
    polis.audited(op, id, &caller, answer).await
}
