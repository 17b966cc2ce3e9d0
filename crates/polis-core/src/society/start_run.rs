//! Rule for starting a run: checks the request and returns the run, with the changeset that creates its record,
//! its `root` member with a budget account, its roles and its first message. The operation of this name in
//! `polis-ops` commits it.
//!
//! The requirement is the brief of `root` and, unless the request contains another message, also its first
//! message.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::brief::TaskBrief;
use super::budget::{BudgetAccount, BudgetLimits};
use super::member::{self, Member, MemberState};
use super::run::{self, Run};
use super::run_id::{MemberKey, RunId};
use super::society_role::{self, CreateRoleParams, SocietyRole};
use super::versioned;
use crate::caller::Caller;
use crate::changeset::Changeset;
use crate::event::{EventPayload, EventSubject, NewEvent, RunStartedEvent};
use crate::id::AgentId;
use crate::json::RawJson;
use crate::message::{self, MessageRecipients, SendMessageParams};
use crate::permission::{Permission, PermissionPolicy};
use crate::refusal::{Refusal, SocietyRefusal};
use crate::refusal_serde::{deserialize_object_list, deserialize_optional_object};
use crate::timestamp::Timestamp;

/// Maximum length of a requirement, in bytes.
const MAX_REQUIREMENT_BYTES: usize = 128 * 1024;
/// Maximum number of roles and of tools in a request.
const MAX_LISTED: usize = 100;

/// The parameters of `start_run`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartRunParams {
    /// The requirement: what the run should achieve.
    pub requirement: String,
    /// First message to `root`; default: the requirement. A team adds its roles to it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// Id of the run; default: a generated one.
    #[serde(default, skip_serializing_if = "Option::is_none", alias = "taskId")]
    pub run_id: Option<RunId>,
    /// Directory that becomes the workspace of root's child. It is never deserialized from a request: network
    /// clients must not choose directories of this machine.
    #[serde(skip)]
    pub workspace_path: Option<String>,
    /// Team template to start with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// Budget of the whole run.
    #[serde(
        default,
        deserialize_with = "deserialize_optional_object",
        skip_serializing_if = "Option::is_none"
    )]
    pub budget: Option<BudgetLimits>,
    /// Initial roles; the one named `root` is the role of root itself.
    #[serde(
        default,
        deserialize_with = "deserialize_object_list",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub roles: Vec<CreateRoleParams>,
    /// Tools whose calls a person must approve, in addition to the configured ones.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approve: Vec<String>,
}

/// Checks a request to start a run and returns the run with the changeset. `id` is its name, `directory` its
/// workspace as bound, and `default_limits` provides the limits that the request's budget does not set. Fails
/// if the caller is a member of a run or may not manage agents (`permission_denied`), or if the request is
/// invalid.
pub fn decide_start_run(
    params: &StartRunParams,
    id: RunId,
    directory: Option<String>,
    default_limits: BudgetLimits,
    policy: &PermissionPolicy,
    caller: &Caller,
    now: i64,
) -> Result<(Run, Changeset), Refusal> {
    check_start(params, policy, caller)?;
    let at = Timestamp::from_millis(now);
    let mut run = Run::new(id.clone(), params.requirement.clone(), &caller.id, &at);
    run.workspace_path = directory;
    run.team.clone_from(&params.team);
    run.approve.clone_from(&params.approve);
    let roles = create_roles(params, caller, &at)?;
    let root_role = roles.iter().find(|role| role.name == AgentId::ROOT);
    let root = Member {
        agent: AgentId::root(),
        parent: None,
        role_id: root_role.map(|role| role.id.clone()),
        role: AgentId::ROOT.to_owned(),
        brief: TaskBrief::from_objective(params.requirement.clone()),
        depth: 0,
        created_at: at.clone(),
        outside: false,
    };
    let account = BudgetAccount::with_limits(
        params
            .budget
            .unwrap_or_default()
            .or_defaults(default_limits),
    );
    let key = MemberKey::new(id.clone(), AgentId::root());
    let data = RunStartedEvent {
        team: params.team.clone(),
        by: caller.id.clone(),
    };
    let mut changes = Changeset::new(caller, at)
        .with_write(versioned::new_record_write(run::run_record_name(&id), &run))
        .with_write(versioned::new_record_write(
            member::member_record_name(&key),
            &root,
        ))
        .with_write(versioned::new_record_write(
            member::member_state_record_name(&key),
            &MemberState::new(account),
        ))
        .with_event(NewEvent::new(
            EventSubject::Run(id.clone()),
            EventPayload::SocietyStarted(data),
        ));
    for role in &roles {
        changes.writes.push(versioned::new_record_write(
            society_role::role_record_name(&id, &role.id),
            role,
        ));
    }
    let first = SendMessageParams {
        to: MessageRecipients::One(AgentId::ROOT.to_owned()),
        payload: text_payload(params.message.as_ref().unwrap_or(&params.requirement))?,
        reply_to: None,
        delay_ms: None,
    };
    let context = message::SendMessageContext {
        agents: &[],
        run: Some(&id),
        replied_to: None,
    };
    let (_, message_changes) = message::decide_send_message(&first, context, caller, now)?;
    changes.writes.extend(message_changes.writes);
    changes.events.extend(message_changes.events);
    Ok((run, changes))
}

fn text_payload(text: &str) -> Result<RawJson, Refusal> {
    RawJson::from_value(&text).map_err(|error| SocietyRefusal::NotPlainText { error }.into())
}

fn check_start(
    params: &StartRunParams,
    policy: &PermissionPolicy,
    caller: &Caller,
) -> Result<(), Refusal> {
    if let Some(run) = &caller.run {
        return Err(Refusal::from(SocietyRefusal::MemberCannotStartRun {
            agent: caller.id.clone(),
            run: run.to_string(),
        }));
    }
    policy.check(caller, Permission::ManageAgents)?;
    let requirement = params.requirement.trim();
    let message_bytes = params.message.as_ref().map_or(0, String::len);
    if requirement.is_empty() || params.requirement.len().max(message_bytes) > MAX_REQUIREMENT_BYTES
    {
        return Err(Refusal::from(SocietyRefusal::InvalidRequirement));
    }
    let longest_list = params.roles.len().max(params.approve.len());
    let team = params.team.as_deref().unwrap_or_default();
    if longest_list > MAX_LISTED || team.len() > MAX_LISTED || team.chars().any(char::is_control) {
        return Err(Refusal::from(SocietyRefusal::TooManyListed));
    }
    Ok(())
}

fn create_roles(
    params: &StartRunParams,
    caller: &Caller,
    now: &Timestamp,
) -> Result<Vec<SocietyRole>, Refusal> {
    let mut created: Vec<SocietyRole> = Vec::new();
    for role_params in &params.roles {
        let role = society_role::create_role(role_params, &caller.id, now)?;
        if created.iter().any(|existing| existing.id == role.id) {
            return Err(Refusal::from(SocietyRefusal::RoleTwice {
                role: crate::id::quote_untrusted(&role.name),
            }));
        }
        created.push(role);
    }
    Ok(created)
}
