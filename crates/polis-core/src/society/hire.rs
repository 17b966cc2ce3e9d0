//! Hiring of agents for a run: checks the limits, names the new agent, and returns the changeset of the hire.
//!
//! [`decide_hire_agent`] checks a `spawn_agent` request; the hire that starts a run creates the run's record
//! too. Every hire rewrites that record at the revision it was decided on. So the limits of a run hold with
//! any number of concurrent hires, and an agent that is dismissed concurrently cannot hire.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::brief::TaskBrief;
use super::budget::{BudgetAccount, BudgetLimits};
use super::member::{self, Member, MemberState, MemberStatus};
use super::run::{self, HireLimits, Run, RunStatus};
use super::run_id::{MemberKey, RunId};
use super::society_role::SocietyRole;
use super::versioned::{self, VersionedRecord};
use crate::agent::{Agent, AgentLayer, AgentStatus, RegisteredAgent, agent_added_event};
use crate::caller::Caller;
use crate::changeset::{Changeset, StoreWrite, WritePrecondition};
use crate::event::{EventPayload, EventSubject, MemberHiredEvent, NewEvent};
use crate::id::AgentId;
use crate::number::saturating_cast;
use crate::refusal::{Refusal, SocietyRefusal};
use crate::refusal_serde::{deserialize_object, deserialize_optional_object};
use crate::role::TEAM_LEAD;
use crate::timestamp::Timestamp;
use crate::workspace::workspace_record::{self, WorkspaceBinding};

/// Window of the hiring rate limit (milliseconds).
const HIRE_RATE_WINDOW_MS: i64 = 60_000;
/// Maximum length of the part of an agent's name that is derived from its role, in bytes.
const MAX_SLUG_BYTES: usize = 60;

/// The parameters of `spawn_agent`. The caller is the hiring agent.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SpawnAgentParams {
    /// Id of the role, from create_role or find_role_by_name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_id: Option<String>,
    /// Name of the role, instead of its id.
    #[serde(default, alias = "roleName", skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// Brief of the new agent: what it has to do.
    #[serde(alias = "brief", deserialize_with = "brief_or_text")]
    #[schemars(with = "BriefOrText")]
    pub task_brief: TaskBrief,
    /// Display name, from which the id is derived; default: the role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Budget of the agent and all agents below it, within its parent's budget.
    #[serde(
        default,
        deserialize_with = "deserialize_optional_object",
        skip_serializing_if = "Option::is_none"
    )]
    pub budget: Option<BudgetLimits>,
}

/// A brief, or a text that is its objective.
#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a brief: an object with objective, constraints, inputs, outputs, completionCriteria"
)]
enum BriefOrText {
    Text(String),
    Brief(#[serde(deserialize_with = "deserialize_object")] TaskBrief),
}

fn brief_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TaskBrief, D::Error> {
    Ok(match BriefOrText::deserialize(deserializer)? {
        BriefOrText::Text(objective) => TaskBrief::from_objective(objective),
        BriefOrText::Brief(brief) => brief,
    })
}

/// Result of `spawn_agent`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct SpawnAgentResult {
    /// Id of the new agent, for messages and for dismissing it.
    pub id: AgentId,
    /// Name of its role.
    pub role: String,
    /// Id of its role.
    pub role_id: String,
    /// The agent that hired it.
    pub parent_agent_id: AgentId,
    /// The run.
    #[serde(flatten, with = "crate::society::run_id_json")]
    #[schemars(with = "crate::society::run_id_json::RunIdFields<RunId>")]
    pub run: RunId,
    /// The next step.
    // The operation adds it, in the language of the project.
    pub next: String,
}

/// The hiring agent.
#[derive(Debug, Clone, Copy)]
pub struct HiringAgent<'a> {
    /// Its identity in the run.
    pub member: &'a Member,
    /// Its state; `None` if this hire makes it the head of a new run.
    pub state: Option<&'a VersionedRecord<MemberState>>,
    /// Its registry entry; `root` and the person have none.
    pub entry: Option<&'a RegisteredAgent>,
}

/// State that a hire is checked against.
#[derive(Debug, Clone, Copy)]
pub struct HireContext<'a> {
    /// The run; `None` if it is created by this hire.
    pub run: Option<&'a VersionedRecord<Run>>,
    /// Role of the new agent.
    pub role: &'a SocietyRole,
    /// The agent that hires, which becomes the parent.
    pub parent: HiringAgent<'a>,
    /// Id of the new agent: a name that was never used before.
    pub new_id: &'a AgentId,
    /// The directory that the new agent's workspace is bound to.
    pub binding: Option<&'a WorkspaceBinding>,
    /// Limits on hiring.
    pub limits: &'a HireLimits,
}

/// Checks a hire and returns the new agent's ids with the changeset. `new_run` is used if the hire creates
/// the run. Fails if the brief or the name is invalid, the run is stopped, the parent was dismissed, or a
/// limit is reached (`hire_limit`).
pub fn decide_hire_agent(
    params: &SpawnAgentParams,
    new_run: &Run,
    context: HireContext<'_>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<(SpawnAgentResult, Changeset), Refusal> {
    params.task_brief.check()?;
    let current = context.run.map_or(new_run, |run| &run.value);
    current.check_open()?;
    let parent = context.parent.member;
    let state = context.parent.state.map(|state| &state.value);
    if state.is_some_and(|state| state.status == MemberStatus::Dismissed) {
        return Err(Refusal::from(SocietyRefusal::DismissedCannotHire {
            agent: parent.agent.clone(),
        }));
    }
    let millis = now.unix_millis();
    check_limits(current, parent, state, context.limits, millis)?;
    let name = display_name(params, context.new_id)?;
    let entry = context.parent.entry.map(|found| &found.agent);
    let agent = Agent {
        id: context.new_id.clone(),
        name,
        role: context.role.name.clone(),
        layer: new_agent_layer(&context.role.name, entry),
        supervisor: (!parent.agent.is_user()).then(|| parent.agent.clone()),
        status: AgentStatus::Active,
        run: Some(current.id.clone()),
        created_at: now.clone(),
    };
    let key = MemberKey::new(current.id.clone(), agent.id.clone());
    let new = Member {
        agent: agent.id.clone(),
        parent: Some(parent.agent.clone()),
        role_id: Some(context.role.id.clone()),
        role: context.role.name.clone(),
        brief: params.task_brief.clone(),
        depth: parent.depth + 1,
        created_at: now.clone(),
        outside: false,
    };
    let account = BudgetAccount::with_limits(params.budget.unwrap_or_default());
    let data = MemberHiredEvent {
        agent: agent.id.clone(),
        parent: parent.agent.clone(),
        role: agent.role.clone(),
        depth: new.depth,
    };
    let mut changes = Changeset::new(caller, now.clone())
        .with_write(StoreWrite::PutAgent {
            expect: WritePrecondition::Absent,
            agent: agent.clone(),
        })
        .with_event(agent_added_event(&agent))
        .with_event(NewEvent::new(
            EventSubject::Run(current.id.clone()),
            EventPayload::SocietyHired(data),
        ))
        .with_write(versioned::new_record_write(
            member::member_record_name(&key),
            &new,
        ))
        .with_write(versioned::new_record_write(
            member::member_state_record_name(&key),
            &MemberState::new(account),
        ));
    changes
        .writes
        .extend(run_write(current, context.run, millis));
    changes
        .writes
        .extend(parent_writes(&current.id, &context.parent, &agent.id));
    changes
        .writes
        .extend(context.parent.entry.map(RegisteredAgent::touch));
    let changes = workspace_record::assign_workspace(&agent, context.binding, changes)?;
    let result = SpawnAgentResult {
        next: String::new(),
        id: agent.id,
        role: context.role.name.clone(),
        role_id: context.role.id.clone(),
        parent_agent_id: parent.agent.clone(),
        run: current.id.clone(),
    };
    Ok((result, changes))
}

/// Returns the write of the run with one more agent.
fn run_write(current: &Run, stored: Option<&VersionedRecord<Run>>, now: i64) -> Option<StoreWrite> {
    let mut run = current.clone();
    if run.status == RunStatus::Done {
        run.reopen(RunStatus::Active, &Timestamp::from_millis(now));
    }
    run.agents = run.agents.saturating_add(1);
    run.hired = run.hired.saturating_add(1);
    run.hired_at
        .retain(|at| *at > now.saturating_sub(HIRE_RATE_WINDOW_MS));
    run.hired_at.push(now);
    let name = run::run_record_name(&run.id);
    Some(match stored {
        Some(stored) => stored.update_write(name, &run),
        None => versioned::new_record_write(name, &run),
    })
}

/// Returns the writes of the parent with one more child. A parent that is not yet a member becomes one.
fn parent_writes(run: &RunId, parent: &HiringAgent<'_>, child: &AgentId) -> Vec<StoreWrite> {
    let key = MemberKey::new(run.clone(), parent.member.agent.clone());
    let name = member::member_state_record_name(&key);
    match parent.state {
        Some(stored) => {
            let mut state = stored.value.clone();
            state.children.push(child.clone());
            vec![stored.update_write(name, &state)]
        }
        None => {
            let mut state = MemberState::new(BudgetAccount::default());
            state.children.push(child.clone());
            vec![
                versioned::new_record_write(member::member_record_name(&key), parent.member),
                versioned::new_record_write(name, &state),
            ]
        }
    }
}

fn check_limits(
    run: &Run,
    parent: &Member,
    state: Option<&MemberState>,
    limits: &HireLimits,
    now: i64,
) -> Result<(), Refusal> {
    let only = state.and_then(|state| state.children.first());
    if let Some(only) = only.filter(|_| parent.agent.is_root()) {
        return Err(SocietyRefusal::RootHasChild {
            child: only.clone(),
        }
        .into());
    }
    if parent.depth >= limits.depth {
        return Err(SocietyRefusal::TooDeep {
            agent: parent.agent.clone(),
            depth: parent.depth.into(),
            maximum: limits.depth.into(),
        }
        .into());
    }
    if run.agents >= limits.agents {
        return Err(SocietyRefusal::TooManyAgents {
            limit: limits.agents.into(),
        }
        .into());
    }
    let since = now.saturating_sub(HIRE_RATE_WINDOW_MS);
    let recent = run.hired_at.iter().filter(|at| **at > since);
    if recent.count() >= saturating_cast::<usize>(limits.per_minute) {
        return Err(SocietyRefusal::HiringTooFast {
            limit: limits.per_minute.into(),
        }
        .into());
    }
    Ok(())
}

fn display_name(params: &SpawnAgentParams, id: &AgentId) -> Result<String, Refusal> {
    let name = params.name.clone().unwrap_or_else(|| id.to_string());
    if name.trim().is_empty() || name.chars().count() > 200 || name.chars().any(char::is_control) {
        return Err(Refusal::from(SocietyRefusal::InvalidAgentName));
    }
    Ok(name)
}

/// Returns the layer of a new agent: one below its parent's, or `Top` or `Mid` for a team head, which plans
/// and divides.
fn new_agent_layer(role: &str, parent: Option<&Agent>) -> AgentLayer {
    match parent {
        Some(agent) => agent.layer.lower_layer(),
        None if role == TEAM_LEAD => AgentLayer::Top,
        None => AgentLayer::Mid,
    }
}

/// Returns the id for a requested name, or `None` if it is not a valid id. Ids are lowercase, because some
/// file systems are case-insensitive.
pub fn requested_agent_id(name: &str) -> Option<AgentId> {
    let id: AgentId = name.trim().to_lowercase().parse().ok()?;
    (!AgentId::RESERVED_NAMES.contains(&id.as_str())).then_some(id)
}

/// Returns the name of the `number`th agent of a role (or with the same requested name). It is built from the
/// letters and digits of the role's name, so that people can tell the role.
pub fn generate_agent_id(role: &str, number: u64) -> AgentId {
    let mut slug = String::new();
    for c in role.chars() {
        if c.is_alphanumeric() {
            let lower: String = c.to_lowercase().filter(|c| c.is_alphanumeric()).collect();
            if slug.len() + lower.len() > MAX_SLUG_BYTES {
                break;
            }
            slug.push_str(&lower);
        } else if !slug.is_empty() && !slug.ends_with('-') {
            slug.push('-');
        }
    }
    let slug = slug.trim_end_matches('-');
    let name = if slug.is_empty() { "agent" } else { slug };
    // The name consists of letters, digits and hyphens and is short, so parsing cannot fail.
    (format!("{name}-{number}").parse()).unwrap_or_else(|_| AgentId::external())
}

#[cfg(test)]
mod tests;
