//! Operation behind the `TaskCreate` tool. A task with dependencies gets its number reserved first, because the other
//! tasks refer to it in the same commit.

use polis_core::changeset::Write;
use polis_core::task::create::{self, TaskCreate};
use polis_core::{AgentId, Caller, Changeset, TaskId, TaskRecord};

use super::TaskView;
use super::graph_loading;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::{Outcome, Receipt};

/// Creates a task.
pub async fn create_task(
    polis: &Polis,
    caller: &AgentId,
    params: &TaskCreate,
) -> Result<TaskView, OpError> {
    let caller = &polis.caller(caller).await?;
    let number = if params.edges().is_empty() {
        None
    } else {
        // Check the request first: only one that would be granted consumes a number of the sequence.
        decide(polis, caller, params, Some(TaskId::UNASSIGNED)).await?;
        reserve(polis, caller).await?
    };
    let attempt = || -> Attempt<'_, _> { Box::pin(decide(polis, caller, params, number)) };
    let now = polis.clock.now_millis();
    let view = move |mut record: TaskRecord, receipt: &Receipt| {
        record.task.id = receipt.created.or(number).unwrap_or(record.task.id);
        TaskView::of(record, now, Vec::new())
    };
    polis.settle(attempt, view).await
}

async fn decide(
    polis: &Polis,
    caller: &Caller,
    params: &TaskCreate,
    number: Option<TaskId>,
) -> Result<(TaskRecord, Changeset), OpError> {
    let near = match number {
        Some(own) => graph_loading::load(polis, own, params.edges()).await?,
        None => Default::default(),
    };
    let settings = &polis.settings;
    let decided = create::decide(
        params,
        number,
        &near,
        &settings.roles,
        &settings.policy,
        caller,
        &polis.now(),
    )?;
    Ok(decided)
}

/// Reserves a number for a task that other tasks refer to in the same commit.
async fn reserve(polis: &Polis, caller: &Caller) -> Result<Option<TaskId>, OpError> {
    // Committed without the commit hook: the response of an idempotent request is stored with the task itself.
    let changes = Changeset::by(caller, polis.now()).write(Write::ReserveTaskNumber);
    Ok(match polis.store.commit(changes).await? {
        Outcome::Committed(receipt) => receipt.created,
        Outcome::Conflict(_) => None,
    })
}
