//! Operations on call approvals: list the tool calls of members that wait for a person's decision, and record
//! the decision.
//!
//! Only a person may decide. The runtime (`polis-society`) requests the approval before it executes a call.
//! The commit of the decision sets the waiting member to work again.

use polis_core::CallerKind;
use polis_core::number::saturating_cast;
use polis_core::record::{RecordKind, RecordName};
use polis_core::society::call_approval::{self, ApprovalDecision, CallApproval};
use polis_core::society::member::{self, MemberState};
use polis_core::society::{MemberKey, RunId, VersionedRecord};
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::runs::{ListRunsParams, list_runs};
use super::{PAGE_SIZE, parse_record};
use crate::error::OpError;
use crate::op::society::load_record;
use crate::op::society::resolve_run;
use crate::request::{AttemptFuture, Request};

/// Parameters of `list_approvals`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct ListApprovalsParams {
    /// Only in this run.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "taskId")]
    pub run_id: Option<RunId>,
    /// Include decided approvals.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub all: bool,
    /// `next` of the previous page.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub cursor: Option<String>,
    /// Maximum number of entries; default: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<u32>,
}

/// A page of call approvals.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ApprovalList {
    /// The approvals, ordered by run, agent and turn.
    pub approvals: Vec<CallApproval>,
    /// Cursor of the next page; omitted on the last page.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub next: Option<String>,
}

/// Parameters of `decide_approval`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct DecideApprovalParams {
    /// Id of the approval.
    pub id: String,
    /// Whether the call is allowed.
    pub allowed: bool,
    /// Reason or instructions; shown to the agent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
}

/// Returns the pending approvals, with `all` also the decided ones, of one run or, for the person, of all
/// runs. Without `all` stopped runs are not read unless one is named, so that old approvals cost nothing.
/// Fails with `run_not_found` if the run does not exist or the caller may not see it.
pub async fn list_approvals(
    request: &Request,
    params: &ListApprovalsParams,
) -> Result<ApprovalList, OpError> {
    let caller = request.resolve_caller().await?;
    let limit = params
        .limit
        .map_or(usize::MAX, |limit| saturating_cast::<usize>(limit.max(1)));
    let mut list = ApprovalList {
        approvals: Vec::new(),
        next: None,
    };
    let run_ids: Vec<Option<RunId>> = match (&params.run_id, caller.kind) {
        (None, CallerKind::Person) if params.all => vec![None],
        (None, CallerKind::Person) => {
            let open = list_runs(request, &ListRunsParams::default()).await?;
            let mut runs: Vec<RunId> = open.runs.into_iter().map(|run| run.id).collect();
            // Sort by the prefix of the approval ids: the cursor of the pagination is an approval id.
            runs.sort_by_key(|run| format!("{run}/"));
            runs.into_iter().map(Some).collect()
        }
        (run_id, _) => vec![Some(
            resolve_run(request, &caller, run_id.as_ref())
                .await?
                .value
                .id,
        )],
    };
    for run in run_ids {
        let mut after = params.cursor.clone();
        loop {
            let kind = RecordKind::CallApproval;
            let found = match &run {
                Some(run) => (request.app.store).records_of_owner(
                    kind,
                    run.as_str(),
                    after.as_deref(),
                    PAGE_SIZE,
                ),
                None => request.app.store.records(kind, after.as_deref(), PAGE_SIZE),
            };
            let found = found.await?;
            let is_full = found.len() >= saturating_cast::<usize>(PAGE_SIZE);
            after = found.last().map(|last| last.id.clone());
            for stored in &found {
                let approval = parse_record::<CallApproval>(stored)?.value;
                if !params.all && approval.decision.is_some() {
                    continue;
                }
                if list.approvals.len() >= limit {
                    list.next = list.approvals.last().map(|last| last.id.clone());
                    return Ok(list);
                }
                list.approvals.push(approval);
            }
            if !is_full {
                break;
            }
        }
    }
    Ok(list)
}

/// Records the person's decision on a call. The agent that waits for it continues. Fails with
/// `ApprovalNotFound`, and with `WrongState` after the opposite decision.
pub async fn decide_approval(
    request: &Request,
    params: &DecideApprovalParams,
) -> Result<CallApproval, OpError> {
    let caller = &request.resolve_caller().await?;
    let decide = || -> AttemptFuture<'_, CallApproval> {
        Box::pin(async move {
            let name = RecordName::new(RecordKind::CallApproval, params.id.as_str());
            let found: Option<VersionedRecord<CallApproval>> =
                load_record(&request.app, &name).await?;
            let found = found.ok_or_else(|| call_approval::approval_not_found(&params.id))?;
            let key = MemberKey::new(found.value.run.clone(), found.value.agent.clone());
            let state: Option<VersionedRecord<MemberState>> =
                load_record(&request.app, &member::member_state_record_name(&key)).await?;
            let decision = ApprovalDecision {
                allowed: params.allowed,
                note: params.note.clone(),
                by: caller.id.clone(),
                at: request.app.now(),
            };
            Ok(call_approval::decide_call_approval(
                &found,
                state.as_ref(),
                decision,
                caller,
                &request.app.now(),
            )?)
        })
    };
    request
        .retry_on_conflict(decide, |approval, _| approval)
        .await
}
