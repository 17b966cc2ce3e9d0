//! Hires an agent into a run: resolves the role, chooses an unused name, and binds the workspace directory for the
//! first hire. A caller outside of any run becomes the head of a run named after it.

use polis_core::society::brief::TaskBrief;
use polis_core::society::dismiss::Someone;
use polis_core::society::hire::{self, Hired, Known, Parent, SpawnAgent};
use polis_core::society::member::Member;
use polis_core::society::role::{self, SocietyRole};
use polis_core::society::run::{self, Run};
use polis_core::society::{Kept, MemberKey, RunId};
use polis_core::workspace::record::Binding;
use polis_core::{AgentId, Caller, Code, Permission, Refusal, Registered, Standing};

use super::start_run::check_own_directory;
use crate::error::OpError;
use crate::polis::{Attempt, Polis};

/// Fails if the caller may not hire. Members of a run may, within its limits; other callers have to be registered and
/// need the permission to manage agents.
pub(super) fn may_hire(polis: &Polis, caller: &Caller) -> Result<(), Refusal> {
    if caller.run.is_some() {
        return Ok(());
    }
    polis
        .settings
        .policy
        .check(caller, Permission::ManageAgents)?;
    if caller.standing == Standing::Unregistered {
        return Err(Refusal::new(
            Code::InvalidSupervisor,
            format!(
                "\"{}\" is not a registered agent, and cannot hire.",
                caller.id
            ),
            "register it first: `polis agent add`",
        ));
    }
    Ok(())
}

/// Hires an agent for the caller's run; the caller is its parent. A caller outside of any run hires for the run named
/// after it.
pub async fn spawn_agent(
    polis: &Polis,
    caller: &AgentId,
    params: &SpawnAgent,
) -> Result<Hired, OpError> {
    let caller = &polis.caller(caller).await?;
    may_hire(polis, caller)?;
    params.task_brief.check()?;
    let run = &polis.hiring_run(caller).await?;
    let decide = || -> Attempt<'_, Hired> {
        Box::pin(async move {
            // Read the run first, so that the commit conflicts if it changes afterwards.
            let kept: Option<Kept<Run>> = polis.kept(&run::record_name(run)).await?;
            let role = role_of(polis, run, params).await?;
            let key = MemberKey::new(run.clone(), caller.id.clone());
            let entry: Option<Registered> = match caller.id.is_root() {
                true => None,
                false => polis.store.agent(&caller.id).await?,
            };
            let parent = polis.somebody(&key).await?;
            let now = polis.now();
            let (member, state) = match parent {
                Some(Someone { member, state }) => (member, Some(state)),
                None if caller.run.is_none() => (outsider(caller, &now), None),
                None => return Err(run::not_found(run).into()),
            };
            let id = free_name(polis, params.name.as_deref(), &role.name).await?;
            let mut new_run = Run::new(run.clone(), String::new(), &caller.id, &now);
            new_run.head = caller.id.clone();
            let decide = |binding: Option<&Binding>| {
                let parent = Parent {
                    member: &member,
                    state: state.as_ref(),
                    entry: entry.as_ref(),
                };
                let known = Known {
                    run: kept.as_ref(),
                    role: &role,
                    parent,
                    id: &id,
                    binding,
                    limits: &polis.settings.society.hire,
                };
                hire::decide_hire(params, &new_run, known, caller, &now)
            };
            let decided = decide(None)?;
            let directory = kept
                .as_ref()
                .and_then(|run| run.value.workspace_path.as_ref());
            let Some(directory) = directory.filter(|_| caller.id.is_root()) else {
                return Ok(decided);
            };
            let directory = polis.files.bind(directory).await?;
            let binding = check_own_directory(polis, directory, run).await?;
            Ok(decide(Some(&binding))?)
        })
    };
    polis.settle(decide, |hired, _| hired).await
}

/// Returns the member record of a caller outside of any run: the head of a run of its own.
fn outsider(caller: &Caller, now: &polis_core::Timestamp) -> Member {
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

async fn role_of(polis: &Polis, run: &RunId, params: &SpawnAgent) -> Result<SocietyRole, OpError> {
    let Some(named) = params.role_id.as_ref().or(params.role.as_ref()) else {
        return Err(Refusal::new(
            Code::InvalidBrief,
            "It was not said which role the new agent has.",
            "give roleId, from create_role or find_role_by_name",
        )
        .into());
    };
    match polis.role(run, named).await? {
        Some(role) => Ok(role),
        None => Err(role::not_found(named).into()),
    }
}

/// Returns a name that was never used: the requested one, or the requested name or the role's name with the next
/// number. Numbers are assigned in order and never reused, so the first free one is found by exponential and binary
/// search. If a concurrent hire takes the name first, the commit conflicts.
async fn free_name(polis: &Polis, wanted: Option<&str>, role: &str) -> Result<AgentId, OpError> {
    if let Some(id) = wanted.and_then(hire::wanted_name)
        && polis.store.agent(&id).await?.is_none()
    {
        return Ok(id);
    }
    let role = wanted.unwrap_or(role);
    let (mut taken, mut free) = (0, 1);
    while is_taken(polis, role, free).await? {
        taken = free;
        free = free.saturating_mul(2);
    }
    while free - taken > 1 {
        let middle = taken + (free - taken) / 2;
        match is_taken(polis, role, middle).await? {
            true => taken = middle,
            false => free = middle,
        }
    }
    Ok(hire::agent_name(role, free))
}

async fn is_taken(polis: &Polis, role: &str, number: u64) -> Result<bool, OpError> {
    let name = hire::agent_name(role, number);
    Ok(polis.store.agent(&name).await?.is_some())
}
