//! Start of a run: creates the run with its `root` member, its roles and its first message, in one commit.
//!
//! The requirement is the brief of `root` and, unless the request contains another message, also its first
//! message.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use super::brief::TaskBrief;
use super::budget::{Account, Limits};
use super::member::{self, Member, MemberState};
use super::name::{MemberKey, RunId};
use super::role::{self, CreateRole, SocietyRole};
use super::run::{self, Run};
use super::versioned;
use crate::caller::Caller;
use crate::changeset::Changeset;
use crate::event::{NewEvent, Subject, kind};
use crate::id::AgentId;
use crate::json::Raw;
use crate::message::{self, Recipients, SendMessage};
use crate::permission::{Permission, Policy};
use crate::refusal::{Code, Refusal};
use crate::refusal_serde::{maybe_object, objects};
use crate::time::Timestamp;

/// Maximum length of a requirement, in bytes.
const MAX_REQUIREMENT: usize = 128 * 1024;
/// Maximum number of roles and of tools in a request.
const MAX_LISTED: usize = 100;

/// The parameters of `start_run`.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct StartRun {
    /// What is asked for.
    pub requirement: String,
    /// What `root` is told, if it is more than the requirement: a team puts its roles around it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub message: Option<String>,
    /// The run's name; one is made if left out.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub task_id: Option<RunId>,
    /// The directory that becomes the workspace of root's child. Never read from a request: who comes over a network
    /// does not choose directories of this machine.
    #[serde(skip)]
    pub workspace_path: Option<String>,
    /// The team it is started with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub team: Option<String>,
    /// What everybody who works for it may spend together.
    #[serde(
        default,
        deserialize_with = "maybe_object",
        skip_serializing_if = "Option::is_none"
    )]
    pub budget: Option<Limits>,
    /// Roles that are there from the beginning; the one named `root` is root's own.
    #[serde(
        default,
        deserialize_with = "objects",
        skip_serializing_if = "Vec::is_empty"
    )]
    pub roles: Vec<CreateRole>,
    /// Tools that a person has to allow call by call, beyond those of the configuration.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub approve: Vec<String>,
}

/// Data of the `society.started` event.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    team: Option<&'a str>,
    by: &'a AgentId,
}

/// Decides the start of a run. `id` is its name, `directory` its workspace as bound, and `usual` provides the
/// limits that the request's budget does not set.
pub fn decide_start(
    params: &StartRun,
    id: RunId,
    directory: Option<String>,
    usual: Limits,
    policy: &Policy,
    caller: &Caller,
    now: i64,
) -> Result<(Run, Changeset), Refusal> {
    check(params, policy, caller)?;
    let at = Timestamp::from_millis(now);
    let mut run = Run::new(id.clone(), params.requirement.clone(), &caller.id, &at);
    run.workspace_path = directory;
    run.team.clone_from(&params.team);
    run.approve.clone_from(&params.approve);
    let roles = roles(params, caller, &at)?;
    let own = roles.iter().find(|role| role.name == AgentId::ROOT);
    let root = Member {
        agent: AgentId::root(),
        parent: None,
        role_id: own.map(|role| role.id.clone()),
        role: AgentId::ROOT.to_owned(),
        brief: TaskBrief::of(params.requirement.clone()),
        depth: 0,
        created_at: at.clone(),
        outside: false,
    };
    let account = Account::with(params.budget.unwrap_or_default().or(usual));
    let key = MemberKey::new(id.clone(), AgentId::root());
    let told = Told {
        team: params.team.as_deref(),
        by: &caller.id,
    };
    let mut changes = Changeset::by(caller, at)
        .write(versioned::add(run::record_name(&id), &run))
        .write(versioned::add(member::record_name(&key), &root))
        .write(versioned::add(
            member::state_name(&key),
            &MemberState::new(account),
        ))
        .event(NewEvent::of(
            kind::SOCIETY_STARTED,
            Subject::Run(id.clone()),
            &told,
        ));
    for role in &roles {
        changes
            .writes
            .push(versioned::add(role::record_name(&id, &role.id), role));
    }
    let first = SendMessage {
        to: Recipients::One(AgentId::ROOT.to_owned()),
        payload: text(params.message.as_ref().unwrap_or(&params.requirement))?,
        reply_to: None,
        delay_ms: None,
    };
    let known = message::Known {
        agents: &[],
        run: Some(&id),
        answered: None,
    };
    let (_, sent) = message::decide_send(&first, known, caller, now)?;
    changes.writes.extend(sent.writes);
    changes.events.extend(sent.events);
    Ok((run, changes))
}

fn text(said: &str) -> Result<Raw, Refusal> {
    Raw::of(&said).map_err(|why| Refusal::new(Code::InvalidBrief, why, "say it in plain text"))
}

fn check(params: &StartRun, policy: &Policy, caller: &Caller) -> Result<(), Refusal> {
    if let Some(run) = &caller.run {
        return Err(Refusal::new(
            Code::PermissionDenied,
            format!(
                "\"{}\" works for the run \"{run}\" and starts no other.",
                caller.id
            ),
            "hire with spawn_agent",
        ));
    }
    policy.check(caller, Permission::ManageAgents)?;
    let requirement = params.requirement.trim();
    let told = params.message.as_ref().map_or(0, String::len);
    if requirement.is_empty() || params.requirement.len().max(told) > MAX_REQUIREMENT {
        return Err(Refusal::new(
            Code::InvalidBrief,
            "The requirement is empty, or longer than 128 KiB.",
            "say what is wanted; put long texts into files of the workspace and name them",
        ));
    }
    let listed = params.roles.len().max(params.approve.len());
    let team = params.team.as_deref().unwrap_or_default();
    if listed > MAX_LISTED || team.len() > MAX_LISTED || team.chars().any(char::is_control) {
        return Err(Refusal::new(
            Code::InvalidInput,
            "There are more than 100 roles or tools, or the team's name is too long.",
            "give fewer; roles can be made later with create_role",
        ));
    }
    Ok(())
}

fn roles(params: &StartRun, caller: &Caller, now: &Timestamp) -> Result<Vec<SocietyRole>, Refusal> {
    let mut made: Vec<SocietyRole> = Vec::new();
    for asked in &params.roles {
        let role = role::make(asked, &caller.id, now)?;
        if made.iter().any(|there| there.id == role.id) {
            return Err(Refusal::new(
                Code::RoleExists,
                format!("Two roles are called {}.", crate::id::quoted(&role.name)),
                "give each role a name of its own",
            ));
        }
        made.push(role);
    }
    Ok(made)
}
