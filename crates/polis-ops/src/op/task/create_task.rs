//! Operation behind the `TaskCreate` tool: creates a task. For a task with dependencies, the number is reserved
//! first, because the other tasks refer to it in the same commit.

use polis_core::changeset::StoreWrite;
use polis_core::task::create::{self, TaskCreateParams};
use polis_core::{Caller, Changeset, TaskId, TaskRecord};

use crate::app::App;
use crate::error::OpError;
use crate::loading::graph_loading;
use crate::op::TaskView;
use crate::port::{CommitOutcome, Receipt};
use crate::request::{AttemptFuture, Request};

/// Creates a task, with its dependencies in the same commit. Fails if the caller may not create tasks or the
/// request is invalid.
pub async fn create_task(
    request: &Request,
    params: &TaskCreateParams,
) -> Result<TaskView, OpError> {
    let caller = &request.resolve_caller().await?;
    let number = if params.dependency_change().is_empty() {
        None
    } else {
        // Check the request first: only one that would be granted consumes a number of the sequence.
        decide_create(&request.app, caller, params, Some(TaskId::UNASSIGNED)).await?;
        reserve_task_number(&request.app, caller).await?
    };
    let attempt = || -> AttemptFuture<'_, _> {
        Box::pin(decide_create(&request.app, caller, params, number))
    };
    let now = request.app.clock.now_millis();
    let view = move |mut record: TaskRecord, receipt: &Receipt| {
        record.task.id = receipt.created.or(number).unwrap_or(record.task.id);
        TaskView::from_record(record, now, Vec::new())
    };
    request.retry_on_conflict(attempt, view).await
}

async fn decide_create(
    app: &App,
    caller: &Caller,
    params: &TaskCreateParams,
    number: Option<TaskId>,
) -> Result<(TaskRecord, Changeset), OpError> {
    let neighbours = match number {
        Some(id) => graph_loading::load_neighbours(app, id, params.dependency_change()).await?,
        None => Default::default(),
    };
    let settings = &app.settings;
    let decided = create::decide_create_task(
        params,
        number,
        &neighbours,
        &settings.roles,
        &settings.policy,
        caller,
        &app.now(),
    )?;
    Ok(decided)
}

/// Reserves a number for a task that other tasks refer to in the same commit.
async fn reserve_task_number(app: &App, caller: &Caller) -> Result<Option<TaskId>, OpError> {
    // Committed without the commit hook: the response of an idempotent request is stored with the task
    // itself.
    let changes = Changeset::new(caller, app.now()).with_write(StoreWrite::ReserveTaskNumber);
    Ok(match app.store.commit(changes).await? {
        CommitOutcome::Committed(receipt) => receipt.created,
        CommitOutcome::Conflict(_) => None,
    })
}
