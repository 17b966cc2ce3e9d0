//! Approvals: tool calls that a person has to allow before they are carried out.
//!
//! A pending call is stored as an [`Approval`] record. [`decide`] records the person's decision and sets the
//! waiting member to work again.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::member::{self, MemberState, MemberStatus};
use super::name::{MemberKey, RunId};
use super::versioned::Kept;
use crate::caller::{Caller, Standing};
use crate::changeset::Changeset;
use crate::event::{NewEvent, Subject, kind};
use crate::id::{AgentId, quoted};
use crate::json::Raw;
use crate::record::{RecordKind, RecordName};
use crate::refusal::{Code, Refusal};
use crate::time::Timestamp;

/// A call that waits to be allowed, or was decided on.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Approval {
    /// Its name: `RUN/AGENT/CALL`.
    pub id: String,
    /// The run.
    #[serde(rename = "taskId")]
    pub run: RunId,
    /// Who asks.
    pub agent: AgentId,
    /// The tool.
    pub tool: String,
    /// What it is called with.
    #[schemars(with = "serde_json::Value")]
    pub arguments: Raw,
    /// When it was asked.
    pub asked_at: Timestamp,
    /// What was decided, if anything was.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub decision: Option<Decision>,
}

/// What was decided.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Decision {
    /// Whether the call may be carried out.
    pub allowed: bool,
    /// Why not, or what to mind.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub note: Option<String>,
    /// Who decided.
    pub by: AgentId,
    /// When.
    pub at: Timestamp,
}

/// Returns the record name of a call's approval. It uses the turn's number and the call's index in the turn,
/// because the ids that models give to calls can be arbitrary.
pub fn record_name(member: &MemberKey, turn: u64, call: usize) -> RecordName {
    RecordName::new(RecordKind::Approval, format!("{member}/{turn}.{call}"))
}

/// Data of the `society.decided` event.
#[derive(Debug, Serialize)]
struct Told<'a> {
    agent: &'a AgentId,
    id: &'a str,
    tool: &'a str,
    allowed: bool,
}

/// Decides a pending call. Only a person may. A member that waits for the decision resumes in the same commit.
/// Repeating the same decision changes nothing; the opposite decision fails with `wrong_state`.
pub fn decide(
    approval: &Kept<Approval>,
    state: Option<&Kept<MemberState>>,
    decision: Decision,
    caller: &Caller,
    now: &Timestamp,
) -> Result<(Approval, Changeset), Refusal> {
    if caller.standing != Standing::Human {
        return Err(Refusal::new(
            Code::PermissionDenied,
            "Only a person decides on calls that have to be allowed.",
            "wait for the person, or ask with send_message to user",
        ));
    }
    let mut new = approval.value.clone();
    if let Some(before) = &new.decision {
        if before.allowed == decision.allowed {
            return Ok((new, Changeset::by(caller, now.clone())));
        }
        let how = if before.allowed { "allowed" } else { "denied" };
        return Err(Refusal::new(
            Code::WrongState,
            format!("This call was {how} already."),
            "see what still waits with `polis society ps`",
        ));
    }
    let told = Told {
        agent: &approval.value.agent,
        id: &approval.value.id,
        tool: &approval.value.tool,
        allowed: decision.allowed,
    };
    let subject = Subject::Run(new.run.clone());
    let event = NewEvent::of(kind::SOCIETY_DECIDED, subject, &told);
    new.decision = Some(decision);
    let name = RecordName::new(RecordKind::Approval, &new.id);
    let mut changes = Changeset::by(caller, now.clone())
        .write(approval.put(name, &new))
        .event(event);
    if let Some(kept) = state.filter(|kept| kept.value.status == MemberStatus::Asking) {
        let mut state = kept.value.clone();
        state.status = MemberStatus::Working;
        state.why = None;
        let key = MemberKey::new(new.run.clone(), new.agent.clone());
        changes
            .writes
            .push(kept.put(member::state_name(&key), &state));
    }
    Ok((new, changes))
}

/// Returns the refusal for an approval that does not exist or is not visible to the caller.
pub fn not_found(id: &str) -> Refusal {
    Refusal::new(
        Code::ApprovalNotFound,
        format!("No call {} waits to be allowed.", quoted(id)),
        "see what waits with `polis society approvals`",
    )
}
