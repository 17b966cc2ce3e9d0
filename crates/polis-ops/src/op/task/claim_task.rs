//! Operation behind the `TaskClaim` tool: claims a task by number, or the best ready task.

use std::collections::BTreeSet;

use polis_core::task::claim::{TaskClaimParams, decide_claim_task};
use polis_core::{Caller, CallerKind, Changeset, Permission, Refusal, TaskRecord};

use crate::app::App;
use crate::claim_hints::ClaimHintGuard;
use crate::error::OpError;
use crate::op::agent::agent_sessions::check_claiming_session;
use crate::op::agent::agent_sessions::claimant_write;
use crate::op::task::get_task::{TaskView, load_task};
use crate::op::task::recommend_tasks::rank_candidates;
use crate::port::Receipt;
use crate::refusal_tables::OperationRefusal;
use crate::request::Request;

/// Claims a task. Of any number of concurrent claimers, exactly one gets it. Fails with `NothingToClaim` if
/// none is named and no task is ready for the caller.
pub async fn claim_task(request: &Request, params: &TaskClaimParams) -> Result<TaskView, OpError> {
    let lease_ms = params.lease_ms.or(request.app.settings.default_lease_ms);
    let params = &TaskClaimParams {
        lease_ms,
        ..params.clone()
    };
    let now = request.app.clock.now_millis();
    let view = move |record, _: &Receipt| TaskView::from_record(record, now, Vec::new());
    let guard = &ClaimHintGuard::new(&request.app.claim_hints);
    let answer = request
        .retry_on_conflict(|| Box::pin(attempt_claim(request, params, guard)), view)
        .await;
    match (params.task_id, &answer) {
        (Some(id), Err(_)) => {
            let caller = request.resolve_caller().await?;
            request.log_refusal("claim", id, &caller, answer).await
        }
        _ => answer,
    }
}

/// Returns the claimed task with its changeset: the given task, or the highest-ranked one. If another claimer
/// was faster, the retry looks for the best task again.
async fn attempt_claim(
    request: &Request,
    params: &TaskClaimParams,
    guard: &ClaimHintGuard<'_>,
) -> Result<(TaskRecord, Changeset), OpError> {
    let caller = request.resolve_caller().await?;
    let entry = request.caller_entry().await?;
    let current = match params.task_id {
        Some(id) => load_task(&request.app, id).await?,
        None => choose_best_task(&request.app, &caller, guard).await?,
    };
    check_claiming_session(request, &current.task).await?;
    let mut decided = decide_claim_task(
        params,
        &current,
        entry.as_ref(),
        request.app.task_rules(),
        &caller,
        &request.app.now(),
    )?;
    // Written even if nothing else changes: a session that takes over from one that has ended becomes the
    // holder of the task.
    let claimant = claimant_write(request, &decided.record.task).await?;
    decided.changes.writes.extend(claimant);
    Ok((decided.record, decided.changes))
}

/// Returns the highest-ranked task that no other claimer of this process is about to take. If all ready tasks
/// have a claim in flight, returns one of those, because that claim may fail.
async fn pick_untaken_task(
    app: &App,
    caller: &Caller,
    guard: &ClaimHintGuard<'_>,
) -> Result<Option<TaskRecord>, OpError> {
    const MAX_ATTEMPTS: usize = 8;
    guard.release_hint();
    for _ in 0..MAX_ATTEMPTS {
        let in_flight = app.claim_hints.tasks_in_flight();
        let has_others = !in_flight.is_empty();
        let first = rank_candidates(app, caller, 1, in_flight)
            .await?
            .into_iter()
            .next();
        match first {
            Some((_, record)) if guard.try_choose(record.task.id) => return Ok(Some(record)),
            Some(_) => {}
            None if has_others => break,
            None => return Ok(None),
        }
    }
    let all = rank_candidates(app, caller, 1, BTreeSet::new()).await?;
    Ok(all.into_iter().next().map(|(_, record)| record))
}

async fn choose_best_task(
    app: &App,
    caller: &Caller,
    guard: &ClaimHintGuard<'_>,
) -> Result<TaskRecord, OpError> {
    let settings = &app.settings;
    if !settings.policy.may_claim_any_type(caller) {
        settings.policy.check(caller, Permission::ClaimTasks)?;
    }
    let first = pick_untaken_task(app, caller, guard).await?;
    first.ok_or_else(|| {
        let is_known =
            caller.kind != CallerKind::Unregistered || settings.roles.contains(&caller.role);
        let agent = caller.id.clone();
        OpError::Refused(Refusal::from(if is_known {
            OperationRefusal::NoReadyTask {
                agent,
                role: caller.role.clone(),
            }
        } else {
            OperationRefusal::NoReadyTaskForStranger {
                agent,
                roles: settings.roles.iter().map(str::to_owned).collect(),
            }
        }))
    })
}
