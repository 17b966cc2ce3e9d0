//! Operation behind the `TaskClaim` tool: claims a task by number, or the best ready task.

use std::collections::BTreeSet;

use polis_core::task::claim::{TaskClaim, decide_claim};
use polis_core::{AgentId, Caller, Changeset, Code, Permission, Refusal, Standing, TaskRecord};

use super::get_task::{TaskView, load};
use super::recommend_tasks::ranked;
use crate::claim_hints::Hold;
use crate::error::OpError;
use crate::polis::Polis;
use crate::port::Receipt;

/// Claims a task. Of any number of concurrent claimers, exactly one gets it.
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
    let now = polis.clock.now_millis();
    let view = move |record, _: &Receipt| TaskView::of(record, now, Vec::new());
    let hold = &Hold::new(&polis.claiming);
    let answer = polis
        .settle(|| Box::pin(attempt(polis, caller, params, hold)), view)
        .await;
    match params.task_id {
        Some(id) => {
            let caller = polis.caller(caller).await?;
            polis.audited("claim", id, &caller, answer).await
        }
        None => answer,
    }
}

/// Decides the claim of the given task, or of the highest-ranked one. If another claimer was faster, the retry looks
/// for the best task again.
async fn attempt(
    polis: &Polis,
    caller: &AgentId,
    params: &TaskClaim,
    hold: &Hold<'_>,
) -> Result<(TaskRecord, Changeset), OpError> {
    let entry = polis.entry(caller).await?;
    let caller = polis.resolve(caller, entry.as_ref())?;
    let current = match params.task_id {
        Some(id) => load(polis, id).await?,
        None => best(polis, &caller, hold).await?,
    };
    polis.check_claimant(&current.task, &caller.id).await?;
    let mut decided = decide_claim(
        params,
        &current,
        entry.as_ref(),
        polis.rules(),
        &caller,
        &polis.now(),
    )?;
    // Written even if nothing else changes: a session that takes over from one that has ended becomes the holder of the
    // task.
    let claimant = polis.write_claimant(&decided.record.task).await?;
    decided.changes.writes.extend(claimant);
    Ok((decided.record, decided.changes))
}

/// Returns the highest-ranked task that no other claimer of this process is about to take. If all ready tasks have a
/// claim in flight, returns one of those, because that claim may fail.
async fn first_untaken(
    polis: &Polis,
    caller: &Caller,
    hold: &Hold<'_>,
) -> Result<Option<TaskRecord>, OpError> {
    const TRIES: usize = 8;
    hold.let_go();
    for _ in 0..TRIES {
        let taken = polis.claiming.taken();
        let past_others = !taken.is_empty();
        let first = ranked(polis, caller, 1, taken).await?.into_iter().next();
        match first {
            Some((_, record)) if hold.take(record.task.id) => return Ok(Some(record)),
            Some(_) => {}
            None if past_others => break,
            None => return Ok(None),
        }
    }
    let all = ranked(polis, caller, 1, BTreeSet::new()).await?;
    Ok(all.into_iter().next().map(|(_, record)| record))
}

async fn best(polis: &Polis, caller: &Caller, hold: &Hold<'_>) -> Result<TaskRecord, OpError> {
    let settings = &polis.settings;
    if !settings.policy.may_claim_something(caller) {
        settings.policy.check(caller, Permission::ClaimTasks)?;
    }
    let first = first_untaken(polis, caller, hold).await?;
    first.ok_or_else(|| {
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
