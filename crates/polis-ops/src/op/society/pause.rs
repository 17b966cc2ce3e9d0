//! Operations that pause and resume a run, a member, or a member with all members below it.

use polis_core::society::dismiss::{self, MemberWithState};
use polis_core::society::pause::{self, PauseOrResume};
use polis_core::society::{RunId, run};
use polis_core::{AgentId, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{check_may_steer, member_not_found};
use crate::error::OpError;
use crate::op::society::load_members;
use crate::op::society::resolve_member_run;
use crate::op::society::resolve_run;
use crate::refusal_tables::OperationRefusal;
use crate::request::{AttemptFuture, Request};

/// Parameters of `pause_society` and `resume_society`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct PauseSocietyParams {
    /// The run; default: the agent's run.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "taskId")]
    pub run_id: Option<RunId>,
    /// The member; default: the whole run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// Include all agents below it.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub subtree: bool,
    /// Reason, shown in the member's status.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// Result of pausing or resuming.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct PauseSocietyResult {
    /// The run.
    #[serde(flatten, with = "polis_core::society::run_id_json")]
    #[schemars(with = "polis_core::society::run_id_json::RunIdFields<RunId>")]
    pub run: RunId,
    /// Status of the run.
    pub status: run::RunStatus,
    /// Members whose status changed.
    pub agents: Vec<AgentId>,
}

/// Pauses a run or members. Fails with `WrongState` if the run is stopped, or if it is done and no member is
/// named.
pub async fn pause_society(
    request: &Request,
    params: &PauseSocietyParams,
) -> Result<PauseSocietyResult, OpError> {
    pause_or_resume(request, params, PauseOrResume::Pause).await
}

/// Resumes a run or members. Members that are parked because their model failed permanently try again. Fails
/// with `WrongState` if the run is stopped.
pub async fn resume_society(
    request: &Request,
    params: &PauseSocietyParams,
) -> Result<PauseSocietyResult, OpError> {
    pause_or_resume(request, params, PauseOrResume::Resume).await
}

async fn pause_or_resume(
    request: &Request,
    params: &PauseSocietyParams,
    action: PauseOrResume,
) -> Result<PauseSocietyResult, OpError> {
    let caller = &request.resolve_caller().await?;
    let decide = || -> AttemptFuture<'_, PauseSocietyResult> {
        Box::pin(async move {
            let run = match (&params.agent_id, &params.run_id) {
                (Some(agent), run_id) => {
                    resolve_member_run(request, caller, agent, run_id.as_ref()).await?
                }
                (None, Some(run_id)) => resolve_run(request, caller, Some(run_id)).await?,
                (None, None) => return Err(no_target_named().into()),
            };
            run.value.check_open()?;
            let members = load_members(&request.app, &run.value.id).await?;
            let subtree_root = params.agent_id.clone();
            let target = subtree_root
                .clone()
                .unwrap_or_else(|| run.value.head.clone());
            check_may_steer(caller, &run.value, &members, &target)?;
            let id = run.value.id.clone();
            let Some(subtree_root) = subtree_root else {
                if action == PauseOrResume::Pause {
                    run.value.check_pausable()?;
                }
                let (new, changes) =
                    pause::pause_or_resume_run(action, &run, caller, &request.app.now());
                let result = PauseSocietyResult {
                    run: id,
                    status: new.status,
                    agents: Vec::new(),
                };
                return Ok((result, changes));
            };
            if !members.iter().any(|one| one.member.agent == subtree_root) {
                return Err(member_not_found(&subtree_root).into());
            }
            let selected = if params.subtree {
                dismiss::active_subtree(&members, &subtree_root)
            } else {
                vec![subtree_root]
            };
            let selected: Vec<&MemberWithState> = members
                .iter()
                .filter(|one| selected.contains(&one.member.agent))
                .collect();
            let reason = params.reason.as_deref();
            let (agents, changes) = pause::pause_or_resume_members(
                action,
                &id,
                &selected,
                reason,
                caller,
                &request.app.now(),
            );
            let result = PauseSocietyResult {
                run: id,
                status: run.value.status,
                agents,
            };
            Ok((result, changes))
        })
    };
    request.retry_on_conflict(decide, |result, _| result).await
}

fn no_target_named() -> Refusal {
    Refusal::from(OperationRefusal::NeitherMemberNorRun)
}
