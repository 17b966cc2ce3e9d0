//! `TaskClaim`: one task by its number, or the best ready one.

use polis_core::task::claim::{TaskClaim, decide_claim};
use polis_core::{AgentId, Caller, Code, Refusal, Registered, TaskId};

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
    let entry = polis.entry(caller).await?;
    let caller = Caller::resolve(caller.clone(), entry.as_ref().map(|found| &found.agent))?;
    match params.task_id {
        Some(id) => {
            let answer = claim_one(polis, &caller, entry.as_ref(), params, id).await;
            polis.audited("claim", id, &caller, answer).await
        }
        None => claim_best(polis, &caller, entry.as_ref(), params).await,
    }
}

async fn claim_one(
    polis: &Polis,
    caller: &Caller,
    entry: Option<&Registered>,
    params: &TaskClaim,
    id: TaskId,
) -> Result<TaskView, OpError> {
    let attempts = polis.attempts();
    loop {
        let current = load(polis, id).await?;
        let decided = decide_claim(params, &current, entry, polis.rules(), caller, &polis.now())?;
        if polis.commit(decided.changes, attempts).await?.is_some() {
            return Ok(TaskView::of(
                decided.record,
                polis.clock.now_millis(),
                Vec::new(),
            ));
        }
    }
}

/// Takes the highest-ranked task; when somebody else was first, looks again.
async fn claim_best(
    polis: &Polis,
    caller: &Caller,
    entry: Option<&Registered>,
    params: &TaskClaim,
) -> Result<TaskView, OpError> {
    let attempts = polis.attempts();
    loop {
        let ranking = ranked(polis, caller, 1).await?;
        let Some((_, current)) = ranking.into_iter().next() else {
            return Err(OpError::Refused(Refusal::new(
                Code::NothingToClaim,
                format!("No ready task for \"{}\" ({}).", caller.id, caller.role),
                "see what there is with `polis task list`, and what blocks it with `polis task graph`",
            )));
        };
        let decided = decide_claim(params, &current, entry, polis.rules(), caller, &polis.now())?;
        if polis.commit(decided.changes, attempts).await?.is_some() {
            return Ok(TaskView::of(
                decided.record,
                polis.clock.now_millis(),
                Vec::new(),
            ));
        }
    }
}
