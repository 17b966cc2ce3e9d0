//! Operation that hires an agent into a run: resolves the role, chooses an unused name, and binds the
//! workspace directory for the first hire. A caller outside of any run becomes the head of a run named after
//! it.

use polis_core::society::brief::TaskBrief;
use polis_core::society::dismiss::MemberWithState;
use polis_core::society::hire::{
    self, HireContext, HiringAgent, SpawnAgentParams, SpawnAgentResult,
};
use polis_core::society::member::Member;
use polis_core::society::run::{self, Run};
use polis_core::society::society_role::{self, SocietyRole};
use polis_core::society::{MemberKey, RunId, VersionedRecord};
use polis_core::workspace::workspace_record::WorkspaceBinding;
use polis_core::{AgentId, Caller, CallerKind, Permission, Refusal, RegisteredAgent};
use polis_i18n::msg;

use super::start_run::load_run_binding;
use crate::app::App;
use crate::error::OpError;
use crate::op::society::load_member;
use crate::op::society::load_record;
use crate::op::society::roles::find_role;
use crate::op::society::roles::hiring_run_id;
use crate::port::Receipt;
use crate::refusal_tables::OperationRefusal;
use crate::request::{AttemptFuture, Request};

/// Fails if the caller may not hire. Members of a run may hire within its limits; other callers have to be
/// registered and need the permission to manage agents.
pub(super) fn check_may_hire(app: &App, caller: &Caller) -> Result<(), Refusal> {
    if caller.run.is_some() {
        return Ok(());
    }
    app.settings
        .policy
        .check(caller, Permission::ManageAgents)?;
    if caller.kind == CallerKind::Unregistered {
        return Err(Refusal::from(OperationRefusal::UnregisteredCannotHire {
            agent: caller.id.to_string(),
        }));
    }
    Ok(())
}

/// Hires an agent for the caller's run; the caller is its parent. A caller outside of any run hires for the
/// run named after it. Fails if the caller may not hire, the role does not exist, or the hire is refused (see
/// [`hire::decide_hire_agent`]).
pub async fn spawn_agent(
    request: &Request,
    params: &SpawnAgentParams,
) -> Result<SpawnAgentResult, OpError> {
    let caller = &request.resolve_caller().await?;
    check_may_hire(&request.app, caller)?;
    params.task_brief.check()?;
    let run = &hiring_run_id(caller)?;
    let decide = || -> AttemptFuture<'_, SpawnAgentResult> {
        Box::pin(async move {
            // Read the run first, so that the commit conflicts if it changes afterwards.
            let run_record: Option<VersionedRecord<Run>> =
                load_record(&request.app, &run::run_record_name(run)).await?;
            let role = load_role(&request.app, run, params).await?;
            let key = MemberKey::new(run.clone(), caller.id.clone());
            let entry: Option<RegisteredAgent> = if caller.id.is_root() {
                None
            } else {
                request.caller_entry().await?
            };
            let parent = load_member(&request.app, &key).await?;
            let now = request.app.now();
            let (member, state) = match parent {
                Some(MemberWithState { member, state }) => (member, Some(state)),
                None if caller.run.is_none() => (outside_head(caller, &now), None),
                None => return Err(run::run_not_found(run).into()),
            };
            let id = choose_agent_name(&request.app, params.name.as_deref(), &role.name).await?;
            let mut new_run = Run::new(run.clone(), String::new(), &caller.id, &now);
            new_run.head = caller.id.clone();
            let decide = |binding: Option<&WorkspaceBinding>| {
                let parent = HiringAgent {
                    member: &member,
                    state: state.as_ref(),
                    entry: entry.as_ref(),
                };
                let context = HireContext {
                    run: run_record.as_ref(),
                    role: &role,
                    parent,
                    new_id: &id,
                    binding,
                    limits: &request.app.settings.society.hire_limits,
                };
                hire::decide_hire_agent(params, &new_run, context, caller, &now)
            };
            let decided = decide(None)?;
            let directory = run_record
                .as_ref()
                .and_then(|run| run.value.workspace_path.as_ref());
            let Some(directory) = directory.filter(|_| caller.id.is_root()) else {
                return Ok(decided);
            };
            let directory = request.app.files.bind(directory).await?;
            let binding = load_run_binding(&request.app, directory, run).await?;
            Ok(decide(Some(&binding))?)
        })
    };
    let lang = request.app.settings.boards.language.into();
    let finish = move |mut result: SpawnAgentResult, _: &Receipt| {
        result.next = msg::tool_society_first_message(lang, &result.id);
        result
    };
    request.retry_on_conflict(decide, finish).await
}

/// Returns the member record of a caller outside of any run: the head of a run of its own.
fn outside_head(caller: &Caller, now: &polis_core::Timestamp) -> Member {
    Member {
        agent: caller.id.clone(),
        parent: None,
        role_id: None,
        role: caller.role.clone(),
        brief: TaskBrief::default(),
        depth: 0,
        created_at: now.clone(),
        outside: true,
    }
}

async fn load_role(
    app: &App,
    run: &RunId,
    params: &SpawnAgentParams,
) -> Result<SocietyRole, OpError> {
    let Some(role_name) = params.role_id.as_ref().or(params.role.as_ref()) else {
        return Err(Refusal::from(OperationRefusal::NoRoleGiven).into());
    };
    match find_role(app, run, role_name).await? {
        Some(role) => Ok(role),
        None => Err(society_role::role_not_found(role_name).into()),
    }
}

/// Returns a name that was never used: the requested one, or the requested name or the role's name with the
/// next number. Numbers are assigned in order and never reused, so the first free one is found by exponential
/// and binary search. If a concurrent hire takes the name first, the commit conflicts.
async fn choose_agent_name(
    app: &App,
    requested: Option<&str>,
    role: &str,
) -> Result<AgentId, OpError> {
    if let Some(id) = requested.and_then(hire::requested_agent_id)
        && app.store.agent(&id).await?.is_none()
    {
        return Ok(id);
    }
    let role = requested.unwrap_or(role);
    let (mut highest_taken, mut free) = (0, 1);
    while is_name_taken(app, role, free).await? {
        highest_taken = free;
        free = free.saturating_mul(2);
    }
    while free - highest_taken > 1 {
        let middle = highest_taken + (free - highest_taken) / 2;
        if is_name_taken(app, role, middle).await? {
            highest_taken = middle;
        } else {
            free = middle;
        }
    }
    Ok(hire::generate_agent_id(role, free))
}

async fn is_name_taken(app: &App, role: &str, number: u64) -> Result<bool, OpError> {
    let name = hire::generate_agent_id(role, number);
    Ok(app.store.agent(&name).await?.is_some())
}
