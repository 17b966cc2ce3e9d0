//! Pauses and resumes a run, a member, or a member with all its descendants.

use polis_core::society::dismiss::{self, Someone};
use polis_core::society::pause::{self, Hold};
use polis_core::society::{RunId, run};
use polis_core::{AgentId, Code, Refusal};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::{check_steer, no_member};
use crate::error::OpError;
use crate::polis::{Attempt, Polis};

/// The parameters of holding up and going on.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct HoldSociety {
    /// The run; the agent's if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<RunId>,
    /// The agent; the whole run if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_id: Option<AgentId>,
    /// Everybody below it, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub subtree: bool,
    /// Why.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub reason: Option<String>,
}

/// What stands differently now.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Held {
    /// The run.
    #[serde(rename = "taskId")]
    pub run: RunId,
    /// Whether the run goes on.
    pub status: run::RunStatus,
    /// The members that stand differently now.
    pub agents: Vec<AgentId>,
}

/// Pauses a run or members. Fails with `wrong_state` if the run is stopped, or if it is done and no member is named.
pub async fn pause_society(
    polis: &Polis,
    caller: &AgentId,
    params: &HoldSociety,
) -> Result<Held, OpError> {
    hold(polis, caller, params, Hold::Pause).await
}

/// Resumes a run or members. Members that are parked because their model failed permanently try again.
pub async fn resume_society(
    polis: &Polis,
    caller: &AgentId,
    params: &HoldSociety,
) -> Result<Held, OpError> {
    hold(polis, caller, params, Hold::Resume).await
}

async fn hold(
    polis: &Polis,
    caller: &AgentId,
    params: &HoldSociety,
    hold: Hold,
) -> Result<Held, OpError> {
    let caller = &polis.caller(caller).await?;
    let decide = || -> Attempt<'_, Held> {
        Box::pin(async move {
            let run = match (&params.agent_id, &params.task_id) {
                (Some(agent), named) => polis.run_of(caller, agent, named.as_ref()).await?,
                (None, Some(named)) => polis.meant(caller, Some(named)).await?,
                (None, None) => return Err(nobody_named().into()),
            };
            run.value.check_open()?;
            let members = polis.everybody(&run.value.id).await?;
            let top = params.agent_id.clone();
            let target = top.clone().unwrap_or_else(|| run.value.head.clone());
            check_steer(caller, &run.value, &members, &target)?;
            let id = run.value.id.clone();
            let Some(top) = top else {
                if hold == Hold::Pause {
                    run.value.check_pausable()?;
                }
                let (new, changes) = pause::hold_run(hold, &run, caller, &polis.now());
                let held = Held {
                    run: id,
                    status: new.status,
                    agents: Vec::new(),
                };
                return Ok((held, changes));
            };
            if !members.iter().any(|one| one.member.agent == top) {
                return Err(no_member(&top).into());
            }
            let meant = match params.subtree {
                true => dismiss::subtree(&members, &top),
                false => vec![top],
            };
            let meant: Vec<&Someone> = members
                .iter()
                .filter(|one| meant.contains(&one.member.agent))
                .collect();
            let why = params.reason.as_deref();
            let (agents, changes) =
                pause::hold_members(hold, &id, &meant, why, caller, &polis.now());
            let held = Held {
                run: id,
                status: run.value.status,
                agents,
            };
            Ok((held, changes))
        })
    };
    polis.settle(decide, |held, _| held).await
}

fn nobody_named() -> Refusal {
    Refusal::new(
        Code::InvalidInput,
        "It was not said who is meant.",
        "give agentId, or taskId for a whole run",
    )
}
