//! Operation behind the `TaskUpdate` tool: changes fields, status, owner and dependencies of a task.

use polis_core::task::update::{self, Surroundings, TaskUpdate};
use polis_core::{AgentId, Caller};

use super::get_task::{TaskView, load};
use super::graph_loading;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};
use crate::port::Receipt;

/// Changes a task atomically: all of the requested changes are applied, or none.
pub async fn update_task(
    polis: &Polis,
    caller: &AgentId,
    params: &TaskUpdate,
) -> Result<TaskView, OpError> {
    let caller = polis.caller(caller).await?;
    let answer = attempt(polis, &caller, params).await;
    polis
        .audited("update", params.task_id, &caller, answer)
        .await
}

async fn attempt(polis: &Polis, caller: &Caller, params: &TaskUpdate) -> Result<TaskView, OpError> {
    let new_owner: &Option<AgentId> = &match params.owner.as_deref() {
        None | Some("") => None,
        Some(owner) => Some(owner.parse()?),
    };
    let decide = || -> Attempt<'_, _> {
        Box::pin(async move {
            let new_owner = match new_owner {
                Some(id) => {
                    let entry = polis.entry(id).await?;
                    polis.may_own(id, entry.as_ref())?;
                    entry
                }
                None => None,
            };
            let current = load(polis, params.task_id).await?;
            let near = graph_loading::load(polis, params.task_id, params.edges()).await?;
            let near = Surroundings {
                new_owner: new_owner.as_ref(),
                neighbours: &near,
            };
            let is_claim = params.is_claim_by(&caller.id);
            if is_claim {
                polis.check_claimant(&current.task, &caller.id).await?;
            }
            let mut decided =
                update::decide(params, &current, near, polis.rules(), caller, &polis.now())?;
            let task = &decided.record.task;
            if is_claim && task.owner == caller.id.as_str() {
                // Written even if nothing else changes, as for a claim.
                decided
                    .changes
                    .writes
                    .extend(polis.write_claimant(task).await?);
            }
            Ok((decided.record, decided.changes))
        })
    };
    let now = polis.clock.now_millis();
    let view =
        move |record, receipt: &Receipt| TaskView::of(record, now, receipt.unblocked.clone());
    polis.settle(decide, view).await
}
