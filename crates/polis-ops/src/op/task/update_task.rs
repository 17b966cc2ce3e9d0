//! Operation behind the `TaskUpdate` tool: changes fields, status, owner and dependencies of a task. An
//! update that makes the caller the owner counts as a claim of its session.

use polis_core::task::update::{self, TaskUpdateContext, TaskUpdateParams};
use polis_core::{AgentId, Caller};

use crate::error::OpError;
use crate::loading::graph_loading;
use crate::op::agent::agent_sessions::check_claiming_session;
use crate::op::agent::agent_sessions::claimant_write;
use crate::op::task::get_task::{TaskView, load_task};
use crate::port::Receipt;
use crate::request::{AttemptFuture, Request, check_registered};

/// Changes a task atomically: all of the requested changes are applied, or none. Fails with
/// `task_not_found` if the task does not exist, with `version_mismatch` if it is not at the expected
/// version, with `permission_denied`, `not_owner` or `already_claimed` if the caller may not make the
/// change, with `invalid_transition`, `task_blocked` or `approval_required` if the status cannot change
/// so, and with `dependency_cycle` if a new dependency would close a cycle.
pub async fn update_task(
    request: &Request,
    params: &TaskUpdateParams,
) -> Result<TaskView, OpError> {
    let caller = request.resolve_caller().await?;
    let answer = attempt_update(request, &caller, params).await;
    request
        .log_refusal("update", params.task_id, &caller, answer)
        .await
}

async fn attempt_update(
    request: &Request,
    caller: &Caller,
    params: &TaskUpdateParams,
) -> Result<TaskView, OpError> {
    let new_owner: &Option<AgentId> = &match params.owner.as_deref() {
        None | Some("") => None,
        Some(owner) => Some(owner.parse()?),
    };
    let decide = || -> AttemptFuture<'_, _> {
        Box::pin(async move {
            let new_owner = match new_owner {
                Some(id) => {
                    let entry = request.registry_entry(id).await?;
                    check_registered(&request.app, id, entry.as_ref())?;
                    entry
                }
                None => None,
            };
            let current = load_task(&request.app, params.task_id).await?;
            let neighbours = graph_loading::load_neighbours(
                &request.app,
                params.task_id,
                params.dependency_change(),
            )
            .await?;
            let context = TaskUpdateContext {
                new_owner: new_owner.as_ref(),
                neighbours: &neighbours,
            };
            let is_claim = params.is_claim_by(&caller.id);
            if is_claim {
                check_claiming_session(request, &current.task).await?;
            }
            let mut decided = update::decide_update_task(
                params,
                &current,
                context,
                request.app.task_rules(),
                caller,
                &request.app.now(),
            )?;
            let task = &decided.record.task;
            if is_claim && task.owner == caller.id.as_str() {
                // Written even if nothing else changes, as for a claim.
                decided
                    .changes
                    .writes
                    .extend(claimant_write(request, task).await?);
            }
            Ok((decided.record, decided.changes))
        })
    };
    let now = request.app.clock.now_millis();
    let view = move |record, receipt: &Receipt| {
        TaskView::from_record(record, now, receipt.unblocked.clone())
    };
    request.retry_on_conflict(decide, view).await
}
