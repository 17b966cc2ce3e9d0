//! Call approvals: tool calls that a person must approve before they run.
//!
//! A pending call is stored as a [`CallApproval`] record. [`decide_call_approval`] records the person's
//! decision and sets the waiting member to work again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::member::{self, MemberState, MemberStatus};
use super::run_id::{MemberKey, RunId};
use super::versioned::VersionedRecord;
use crate::caller::{Caller, CallerKind};
use crate::changeset::Changeset;
use crate::event::{CallApprovalDecidedEvent, EventPayload, EventSubject, NewEvent};
use crate::id::{AgentId, quote_untrusted};
use crate::json::RawJson;
use crate::record::{RecordKind, RecordName};
use crate::refusal::{Refusal, SocietyRefusal};
use crate::timestamp::Timestamp;

/// Approval of a tool call, pending or decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct CallApproval {
    /// Id: `RUN/AGENT/CALL`.
    pub id: String,
    /// Id of the run.
    #[serde(flatten, with = "crate::society::run_id_json")]
    #[schemars(with = "crate::society::run_id_json::RunIdFields<RunId>")]
    pub run: RunId,
    /// The member that makes the call.
    pub agent: AgentId,
    /// The tool.
    pub tool: String,
    /// Arguments of the call.
    #[schemars(with = "serde_json::Value")]
    pub arguments: RawJson,
    /// When the approval was requested.
    pub asked_at: Timestamp,
    /// The decision; absent while it is pending.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<ApprovalDecision>,
}

/// Decision of a person on a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct ApprovalDecision {
    /// Whether the call may run.
    pub allowed: bool,
    /// Note to the member, such as the reason of a denial.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// The person that decided.
    pub by: AgentId,
    /// Time of the decision.
    pub at: Timestamp,
}

/// Returns the record name of a call's approval. It uses the turn's number and the call's index in the turn,
/// because the ids that models give to calls can be arbitrary.
pub fn approval_record_name(member: &MemberKey, turn: u64, call: usize) -> RecordName {
    RecordName::new(RecordKind::CallApproval, format!("{member}/{turn}.{call}"))
}

/// Records the person's decision on a pending call, and returns the approval with the changeset. A member
/// that waits for the decision resumes in the same commit. Repeating the same decision changes nothing. Fails
/// with `permission_denied` for any other caller, and with `wrong_state` after the opposite decision.
pub fn decide_call_approval(
    approval: &VersionedRecord<CallApproval>,
    state: Option<&VersionedRecord<MemberState>>,
    decision: ApprovalDecision,
    caller: &Caller,
    now: &Timestamp,
) -> Result<(CallApproval, Changeset), Refusal> {
    if caller.kind != CallerKind::Person {
        return Err(Refusal::from(SocietyRefusal::OnlyPersonDecidesCalls));
    }
    let mut new = approval.value.clone();
    if let Some(before) = &new.decision {
        if before.allowed == decision.allowed {
            return Ok((new, Changeset::new(caller, now.clone())));
        }
        let outcome = if before.allowed { "allowed" } else { "denied" };
        return Err(Refusal::from(SocietyRefusal::CallDecided {
            outcome: outcome.to_owned(),
        }));
    }
    let data = CallApprovalDecidedEvent {
        agent: new.agent.clone(),
        id: new.id.clone(),
        tool: new.tool.clone(),
        allowed: decision.allowed,
    };
    let subject = EventSubject::Run(new.run.clone());
    let event = NewEvent::new(subject, EventPayload::SocietyApprovalDecided(data));
    new.decision = Some(decision);
    let name = RecordName::new(RecordKind::CallApproval, &new.id);
    let mut changes = Changeset::new(caller, now.clone())
        .with_write(approval.update_write(name, &new))
        .with_event(event);
    if let Some(stored) =
        state.filter(|stored| stored.value.status == MemberStatus::AwaitingApproval)
    {
        let mut state = stored.value.clone();
        state.status = MemberStatus::Working;
        state.reason = None;
        let key = MemberKey::new(new.run.clone(), new.agent.clone());
        changes
            .writes
            .push(stored.update_write(member::member_state_record_name(&key), &state));
    }
    Ok((new, changes))
}

/// Returns the refusal for an approval that does not exist or is not visible to the caller.
pub fn approval_not_found(id: &str) -> Refusal {
    Refusal::from(SocietyRefusal::ApprovalNotFound {
        id: quote_untrusted(id),
    })
}
