//! `TaskCreate`.

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
        // Only a request that would be granted takes a number out of the sequence.
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

/// Takes a number for a task that others will name in the same commit.
async fn reserve(polis: &Polis, caller: &Caller) -> Result<Option<TaskId>, OpError> {
    // Not the deed itself: a request that may come again keeps its answer with the task.
    let changes = Changeset::by(caller, polis.now()).write(Write::ReserveTaskNumber);
    Ok(match polis.store.commit(changes).await? {
        Outcome::Committed(receipt) => receipt.created,
        Outcome::Conflict(_) => None,
    })
}
