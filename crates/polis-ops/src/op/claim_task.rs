//! `TaskClaim`: one task by its number, or the best ready one.

use polis_core::task::claim::{TaskClaim, decide_claim};
use polis_core::{AgentId, Caller, Changeset, Code, Permission, Refusal, Standing, TaskRecord};

use super::get_task::{TaskView, load};
use super::recommend_tasks::ranked;
use crate::error::OpError;
use crate::polis::Polis;

/// Claims a task: exactly one of any number of claimers gets it.
pub async fn claim_task(
    polis: &Polis,
    caller: &AgentId,
    params: &TaskClaim,
) -> Result<TaskView, OpError> {
    let lease_ms = params.lease_ms.or(polis.settings.default_lease_ms);
    let params = &TaskClaim {
        lease_ms,
        ..params.clone()
    };
    let settled = polis
        .settle(|| Box::pin(attempt(polis, caller, params)))
        .await;
    let answer =
        settled.map(|(record, _)| TaskView::of(record, polis.clock.now_millis(), Vec::new()));
    match params.task_id {
        Some(id) => {
            let caller = polis.caller(caller).await?;
            polis.audited("claim", id, &caller, answer).await
        }
        None => answer,
    }
}

/// Decides on the task that was named, or on the highest-ranked one; when somebody else was first,
/// it is looked for again.
async fn attempt(
    polis: &Polis,
    caller: &AgentId,
    params: &TaskClaim,
) -> Result<(TaskRecord, Changeset), OpError> {
    let entry = polis.entry(caller).await?;
    let caller = polis.resolve(caller, entry.as_ref())?;
    let current = match params.task_id {
        Some(id) => load(polis, id).await?,
        None => best(polis, &caller).await?,
    };
    let decided = decide_claim(
        params,
        &current,
        entry.as_ref(),
        polis.rules(),
        &caller,
        &polis.now(),
    )?;
    Ok((decided.record, decided.changes))
}

async fn best(polis: &Polis, caller: &Caller) -> Result<TaskRecord, OpError> {
    let settings = &polis.settings;
    if !settings.policy.may_claim_something(caller) {
        settings.policy.check(caller, Permission::ClaimTasks)?;
    }
    let first = ranked(polis, caller, 1).await?.into_iter().next();
    first.map(|(_, record)| record).ok_or_else(|| {
        let known =
            caller.standing != Standing::Unregistered || settings.roles.contains(&caller.role);
        let hint = if known {
            "see what there is with `polis task list`, and what blocks it with `polis task graph`"
                .to_owned()
        } else {
            let roles: Vec<&str> = settings.roles.iter().collect();
            format!(
                "\"{}\" is neither a registered agent nor a role ({})",
                caller.id,
                roles.join(", ")
            )
        };
        let message = format!("No ready task for \"{}\" ({}).", caller.id, caller.role);
        OpError::Refused(Refusal::new(Code::NothingToClaim, message, hint))
    })
}
