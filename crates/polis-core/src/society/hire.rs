//! Hiring of agents: limits, naming, and the changeset of a hire.
//!
//! Every hire rewrites the run's record at the revision it was decided on. So the limits of a run hold with any
//! number of concurrent hires, and an agent that is dismissed concurrently cannot hire.

use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, Serialize};

use super::brief::TaskBrief;
use super::budget::{Account, Limits};
use super::member::{self, Member, MemberState, MemberStatus};
use super::name::{MemberKey, RunId};
use super::role::SocietyRole;
use super::run::{self, HireLimits, Run, RunStatus};
use super::versioned::{self, Kept};
use crate::agent::{Agent, AgentStatus, Layer, Registered};
use crate::caller::Caller;
use crate::changeset::{Changeset, Expect, Write};
use crate::event::{NewEvent, Subject, kind};
use crate::id::AgentId;
use crate::refusal::{Code, Refusal};
use crate::refusal_serde::{maybe_object, object};
use crate::role::TEAM_LEAD;
use crate::time::Timestamp;
use crate::workspace::record::{self, Binding};

/// Window of the hiring rate limit (milliseconds).
const MINUTE: i64 = 60_000;
/// Maximum length of the part of an agent's name that is derived from its role, in bytes.
const MAX_SLUG: usize = 60;

/// The parameters of `spawn_agent`. Who hires is the caller.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct SpawnAgent {
    /// The role's id, from create_role or find_role_by_name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub role_id: Option<String>,
    /// Or the role's name.
    #[serde(default, alias = "roleName", skip_serializing_if = "Option::is_none")]
    pub role: Option<String>,
    /// What it has to do.
    #[serde(alias = "brief", deserialize_with = "brief_or_text")]
    #[schemars(with = "Given")]
    pub task_brief: TaskBrief,
    /// What it is called; its id is made of this, or of its role.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// What it and those below it may spend, of what its parent may.
    #[serde(
        default,
        deserialize_with = "maybe_object",
        skip_serializing_if = "Option::is_none"
    )]
    pub budget: Option<Limits>,
}

/// A brief, or a text that is its objective.
#[derive(Deserialize, JsonSchema)]
#[serde(
    untagged,
    expecting = "expected a brief: an object with objective, constraints, inputs, outputs, completionCriteria"
)]
enum Given {
    Text(String),
    Brief(#[serde(deserialize_with = "object")] TaskBrief),
}

fn brief_or_text<'de, D: Deserializer<'de>>(deserializer: D) -> Result<TaskBrief, D::Error> {
    Ok(match Given::deserialize(deserializer)? {
        Given::Text(objective) => TaskBrief::of(objective),
        Given::Brief(brief) => brief,
    })
}

/// Who was hired.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Hired {
    /// Its name, for messages and for dismissing it.
    pub id: AgentId,
    /// The role's name.
    pub role: String,
    /// The role's id.
    pub role_id: String,
    /// Who hired it.
    pub parent_agent_id: AgentId,
    /// The run.
    #[serde(rename = "taskId")]
    pub run: RunId,
    /// What to do now.
    pub next: String,
}

/// The hiring agent.
#[derive(Debug, Clone, Copy)]
pub struct Parent<'a> {
    /// Its identity in the run.
    pub member: &'a Member,
    /// Its state; `None` if this hire makes it the head of a new run.
    pub state: Option<&'a Kept<MemberState>>,
    /// Its registry entry; `root` and the person have none.
    pub entry: Option<&'a Registered>,
}

/// State that a hire is decided on.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// The run; `None` if it is created by this hire.
    pub run: Option<&'a Kept<Run>>,
    /// The role.
    pub role: &'a SocietyRole,
    /// The hiring agent.
    pub parent: Parent<'a>,
    /// A name that was never used before.
    pub id: &'a AgentId,
    /// The directory that the new agent's workspace is bound to.
    pub binding: Option<&'a Binding>,
    /// Limits on hiring.
    pub limits: &'a HireLimits,
}

/// Data of the `society.hired` event.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Told<'a> {
    agent: &'a AgentId,
    parent: &'a AgentId,
    role: &'a str,
    depth: u32,
}

/// Decides a hire. Fails if the brief is invalid, the run is stopped, the parent was dismissed, or a limit is
/// reached.
pub fn decide_hire(
    params: &SpawnAgent,
    new_run: &Run,
    known: Known<'_>,
    caller: &Caller,
    now: &Timestamp,
) -> Result<(Hired, Changeset), Refusal> {
    params.task_brief.check()?;
    let current = known.run.map_or(new_run, |run| &run.value);
    current.check_open()?;
    let parent = known.parent.member;
    let state = known.parent.state.map(|state| &state.value);
    if state.is_some_and(|state| state.status == MemberStatus::Gone) {
        return Err(Refusal::new(
            Code::PermissionDenied,
            format!("\"{}\" was dismissed and hires nobody.", parent.agent),
            "nothing is left to do",
        ));
    }
    let millis = now.millis().unwrap_or(0);
    check_limits(current, parent, state, known.limits, millis)?;
    let name = display_name(params, known.id)?;
    let entry = known.parent.entry.map(|found| &found.agent);
    let agent = Agent {
        id: known.id.clone(),
        name,
        role: known.role.name.clone(),
        layer: layer(&known.role.name, entry),
        supervisor: (!parent.agent.is_user()).then(|| parent.agent.clone()),
        status: AgentStatus::Active,
        run: Some(current.id.clone()),
        created_at: now.clone(),
    };
    let key = MemberKey::new(current.id.clone(), agent.id.clone());
    let new = Member {
        agent: agent.id.clone(),
        parent: Some(parent.agent.clone()),
        role_id: Some(known.role.id.clone()),
        role: known.role.name.clone(),
        brief: params.task_brief.clone(),
        depth: parent.depth + 1,
        created_at: now.clone(),
        outside: false,
    };
    let account = Account::with(params.budget.unwrap_or_default());
    let told = Told {
        agent: &agent.id,
        parent: &parent.agent,
        role: &agent.role,
        depth: new.depth,
    };
    let mut changes = Changeset::by(caller, now.clone())
        .write(Write::PutAgent {
            expect: Expect::Absent,
            agent: agent.clone(),
        })
        .event(NewEvent::of(
            kind::AGENT_ADDED,
            Subject::Agent(agent.id.clone()),
            &agent,
        ))
        .event(NewEvent::of(
            kind::SOCIETY_HIRED,
            Subject::Run(current.id.clone()),
            &told,
        ))
        .write(versioned::add(member::record_name(&key), &new))
        .write(versioned::add(
            member::state_name(&key),
            &MemberState::new(account),
        ));
    changes.writes.extend(count(current, known.run, millis));
    changes
        .writes
        .extend(beget(&current.id, &known.parent, &agent.id));
    changes
        .writes
        .extend(known.parent.entry.map(Registered::touch));
    let changes = record::assign(&agent, known.binding, changes)?;
    let hired = Hired {
        next: format!(
            "{} waits for its first message: send_message to it.",
            agent.id
        ),
        id: agent.id,
        role: known.role.name.clone(),
        role_id: known.role.id.clone(),
        parent_agent_id: parent.agent.clone(),
        run: current.id.clone(),
    };
    Ok((hired, changes))
}

/// Returns the write of the run with one more agent.
fn count(current: &Run, kept: Option<&Kept<Run>>, now: i64) -> Option<Write> {
    let mut run = current.clone();
    if run.status == RunStatus::Done {
        run.reopen(RunStatus::Active, &Timestamp::from_millis(now));
    }
    run.agents = run.agents.saturating_add(1);
    run.hired = run.hired.saturating_add(1);
    run.hired_at.retain(|at| *at > now.saturating_sub(MINUTE));
    run.hired_at.push(now);
    let name = run::record_name(&run.id);
    Some(match kept {
        Some(kept) => kept.put(name, &run),
        None => versioned::add(name, &run),
    })
}

/// Returns the writes of the parent with one more child. A parent that is not yet a member becomes one.
fn beget(run: &RunId, parent: &Parent<'_>, child: &AgentId) -> Vec<Write> {
    let key = MemberKey::new(run.clone(), parent.member.agent.clone());
    let name = member::state_name(&key);
    match parent.state {
        Some(kept) => {
            let mut state = kept.value.clone();
            state.children.push(child.clone());
            vec![kept.put(name, &state)]
        }
        None => {
            let mut state = MemberState::new(Account::default());
            state.children.push(child.clone());
            vec![
                versioned::add(member::record_name(&key), parent.member),
                versioned::add(name, &state),
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
        return Err(limit(
            format!("Root has one direct child in a run, and has hired \"{only}\"."),
            format!(
                "send \"{only}\" a message and let it hire, or dismiss it first with terminate_agent"
            ),
        ));
    }
    if parent.depth >= limits.depth {
        return Err(limit(
            format!(
                "\"{}\" is {} levels below root, and the tree may be {} deep.",
                parent.agent, parent.depth, limits.depth
            ),
            "do the work yourself, or ask who hired you to hire more",
        ));
    }
    if run.agents >= limits.agents {
        return Err(limit(
            format!("This run has {} agents, as many as it may.", run.agents),
            "dismiss those who are done with terminate_agent, or give the work to one who is there",
        ));
    }
    let since = now.saturating_sub(MINUTE);
    let lately = run.hired_at.iter().filter(|at| **at > since);
    if lately.count() >= usize::try_from(limits.a_minute).unwrap_or(usize::MAX) {
        return Err(limit(
            format!(
                "{} agents were hired within a minute, as many as may be.",
                limits.a_minute
            ),
            "go on with those you have, and hire later",
        ));
    }
    Ok(())
}

fn limit(message: String, hint: impl Into<String>) -> Refusal {
    Refusal::new(Code::HireLimit, message, hint)
}

fn display_name(params: &SpawnAgent, id: &AgentId) -> Result<String, Refusal> {
    let name = params.name.clone().unwrap_or_else(|| id.to_string());
    if name.trim().is_empty() || name.chars().count() > 200 || name.chars().any(char::is_control) {
        return Err(Refusal::new(
            Code::InvalidText,
            "An agent's name is 1 to 200 characters without control characters.",
            "shorten or clean the name, or leave it out",
        ));
    }
    Ok(name)
}

/// Returns the layer of a new agent: one below its parent's, or `Top` or `Mid` for a team head, which plans and
/// divides.
fn layer(role: &str, parent: Option<&Agent>) -> Layer {
    match parent {
        Some(agent) => agent.layer.below(),
        None if role == TEAM_LEAD => Layer::Top,
        None => Layer::Mid,
    }
}

/// Returns the id for a requested name, or `None` if it is not a valid id. Ids are lowercase, because some file
/// systems are case-insensitive.
pub fn wanted_name(name: &str) -> Option<AgentId> {
    let id: AgentId = name.trim().to_lowercase().parse().ok()?;
    (!AgentId::FIXED.contains(&id.as_str())).then_some(id)
}

/// Returns the name of the `number`th agent of a role (or with the same requested name). It is built from the
/// letters and digits of the role's name, so that people recognize the role.
pub fn agent_name(role: &str, number: u64) -> AgentId {
    let mut slug = String::new();
    for c in role.chars() {
        if c.is_alphanumeric() {
            let lower: String = c.to_lowercase().filter(|c| c.is_alphanumeric()).collect();
            if slug.len() + lower.len() > MAX_SLUG {
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
