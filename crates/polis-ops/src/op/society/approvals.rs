//! Approvals of tool calls: lists the calls that wait for a person, and records the person's decision.

use polis_core::record::{RecordKind, RecordName};
use polis_core::society::approval::{self, Approval, Decision};
use polis_core::society::member::{self, MemberState};
use polis_core::society::{Kept, MemberKey, RunId};
use polis_core::{AgentId, Standing};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::runs::{ListRuns, list_runs};
use super::{PAGE, read};
use crate::error::OpError;
use crate::polis::{Attempt, Polis};

/// The parameters of listing approvals.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListApprovals {
    /// Only of this run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<RunId>,
    /// Those that were decided, too.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// The `next` of the page before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// At most so many; all if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// Calls that wait to be allowed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApprovalList {
    /// The calls, by run, agent and turn.
    pub approvals: Vec<Approval>,
    /// Where the next page begins; left out if this is the last.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// The parameters of deciding on a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DecideApproval {
    /// The call: an approval's id.
    pub id: String,
    /// Whether it may be carried out.
    pub allowed: bool,
    /// Why not, or what to mind; the agent is told.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Returns the pending approvals, with `all` also the decided ones, of one run or, for the person, of all runs. Without
/// `all` stopped runs are not read unless one is named, so that old approvals cost nothing.
pub async fn list_approvals(
    polis: &Polis,
    caller: &AgentId,
    params: &ListApprovals,
) -> Result<ApprovalList, OpError> {
    let caller = polis.caller(caller).await?;
    let most = params.limit.map_or(usize::MAX, |most| {
        usize::try_from(most.max(1)).unwrap_or(usize::MAX)
    });
    let mut list = ApprovalList {
        approvals: Vec::new(),
        next: None,
    };
    let of: Vec<Option<RunId>> = match (&params.task_id, caller.standing) {
        (None, Standing::Human) if params.all => vec![None],
        (None, Standing::Human) => {
            let open = list_runs(polis, &caller.id, &ListRuns::default()).await?;
            let mut runs: Vec<RunId> = open.runs.into_iter().map(|run| run.id).collect();
            // Sort by the prefix of the approval ids: the cursor of the pagination is an approval id.
            runs.sort_by_key(|run| format!("{run}/"));
            runs.into_iter().map(Some).collect()
        }
        (named, _) => vec![Some(polis.meant(&caller, named.as_ref()).await?.value.id)],
    };
    for run in of {
        let mut after = params.cursor.clone();
        loop {
            let kind = RecordKind::Approval;
            let found = match &run {
                Some(run) => (polis.store).records_of(kind, run.as_str(), after.as_deref(), PAGE),
                None => polis.store.records(kind, after.as_deref(), PAGE),
            };
            let found = found.await?;
            let whole = found.len() >= usize::try_from(PAGE).unwrap_or(usize::MAX);
            after = found.last().map(|last| last.id.clone());
            for stored in &found {
                let approval = read::<Approval>(stored)?.value;
                if !params.all && approval.decision.is_some() {
                    continue;
                }
                if list.approvals.len() >= most {
                    list.next = list.approvals.last().map(|last| last.id.clone());
                    return Ok(list);
                }
                list.approvals.push(approval);
            }
            if !whole {
                break;
            }
        }
    }
    Ok(list)
}

/// Records the person's decision on a call. The agent that asked continues.
pub async fn decide_approval(
    polis: &Polis,
    caller: &AgentId,
    params: &DecideApproval,
) -> Result<Approval, OpError> {
    let caller = &polis.caller(caller).await?;
    let decide = || -> Attempt<'_, Approval> {
        Box::pin(async move {
            let name = RecordName::new(RecordKind::Approval, params.id.as_str());
            let found: Option<Kept<Approval>> = polis.kept(&name).await?;
            let found = found.ok_or_else(|| approval::not_found(&params.id))?;
            let key = MemberKey::new(found.value.run.clone(), found.value.agent.clone());
            let state: Option<Kept<MemberState>> = polis.kept(&member::state_name(&key)).await?;
            let decision = Decision {
                allowed: params.allowed,
                note: params.note.clone(),
                by: caller.id.clone(),
                at: polis.now(),
            };
            Ok(approval::decide(
                &found,
                state.as_ref(),
                decision,
                caller,
                &polis.now(),
            )?)
        })
    };
    polis.settle(decide, |approval, _| approval).await
}
