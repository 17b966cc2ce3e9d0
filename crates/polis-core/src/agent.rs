//! Agent registry: registration and retirement of agents, with their role, layer and supervisor.
//!
//! [`decide_add`] and [`decide_retire`] check a request against the registry and return the changeset. They
//! refuse changes that would break the reporting tree or leave tasks without an owner.

use crate::event::kind;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::changeset::{Changeset, Expect, Write};
use crate::event::{NewEvent, Subject};
use crate::id::AgentId;
use crate::permission::{Permission, Policy};
use crate::refusal::{Code, Refusal};
use crate::role::{DEFAULT_ROLES, RoleSet, TEAM_LEAD};
use crate::society::RunId;
use crate::time::Timestamp;
use crate::workspace::record::{self, Binding};

/// How high an agent stands; boards are seen and written by layer.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum Layer {
    /// Decides.
    Top,
    /// Plans and divides.
    Mid,
    /// Carries out.
    Bottom,
}

impl Layer {
    /// Returns the layer as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Top => "top",
            Self::Mid => "mid",
            Self::Bottom => "bottom",
        }
    }

    pub(crate) fn below(self) -> Self {
        match self {
            Self::Top => Self::Mid,
            Self::Mid | Self::Bottom => Self::Bottom,
        }
    }
}

/// Whether an agent may act.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum AgentStatus {
    /// May act.
    Active,
    /// May not act any more; its name is not given out again.
    Retired,
}

/// One agent of the registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// Its name.
    pub id: AgentId,
    /// What people call it.
    pub name: String,
    /// Its role.
    pub role: String,
    /// Its layer.
    pub layer: Layer,
    /// Whom it reports to.
    pub supervisor: Option<AgentId>,
    /// Whether it may act.
    pub status: AgentStatus,
    /// The run of the society it was hired for.
    #[serde(default, rename = "taskId", skip_serializing_if = "Option::is_none")]
    pub run: Option<RunId>,
    /// When it was registered.
    pub created_at: Timestamp,
}

impl Agent {
    /// Returns whether the agent has no supervisor except `root`. Such an agent has its own workspace.
    pub fn is_child_of_root(&self) -> bool {
        self.supervisor.as_ref().is_none_or(AgentId::is_root)
    }
}

/// An agent with the revision of its registry entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// The agent.
    pub agent: Agent,
    /// Incremented by every write.
    pub revision: u64,
}

impl Registered {
    /// Returns a write that leaves the agent unchanged but conflicts with a concurrent retirement. A decision
    /// that relies on the agent being active includes it.
    pub fn touch(&self) -> Write {
        Write::PutAgent {
            expect: Expect::Revision(self.revision),
            agent: self.agent.clone(),
        }
    }
}

/// A request to register an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentAdd {
    /// The new agent's name.
    pub id: AgentId,
    /// What people call it; its id if left out.
    #[serde(default)]
    pub name: Option<String>,
    /// Its role.
    pub role: String,
    /// Its layer; from the supervisor or the role if left out.
    #[serde(default)]
    pub layer: Option<Layer>,
    /// Whom it reports to; nobody, or `root`, for the head of a team, which gets a workspace.
    #[serde(default)]
    pub supervisor: Option<AgentId>,
    /// The directory its workspace is bound to, on the machine of whoever types it. Never read from
    /// a request: who comes over a network does not choose directories of this machine.
    #[serde(skip)]
    pub workspace_path: Option<String>,
}

/// State that a registration is decided on.
#[derive(Debug, Clone, Copy)]
pub struct Known<'a> {
    /// All registered agents.
    pub agents: &'a [Agent],
    /// The supervisor named in the request, if it is registered.
    pub supervisor: Option<&'a Registered>,
    /// The directory named in the request.
    pub binding: Option<&'a Binding>,
}

/// Decides a registration. A team head gets its workspace in the same commit.
pub fn decide_add(
    request: &AgentAdd,
    known: Known<'_>,
    roles: &RoleSet,
    policy: &Policy,
    caller: &Caller,
    now: Timestamp,
) -> Result<(Agent, Changeset), Refusal> {
    policy.check(caller, Permission::ManageAgents)?;
    roles.check_agent(&request.role)?;
    if AgentId::FIXED.contains(&request.id.as_str()) {
        return Err(Refusal::new(
            Code::AgentExists,
            format!(
                "\"{}\" is a fixed name and cannot be registered.",
                request.id
            ),
            "choose another id",
        ));
    }
    if known.agents.iter().any(|agent| agent.id == request.id) {
        return Err(Refusal::new(
            Code::AgentExists,
            format!("Agent \"{}\" is already registered.", request.id),
            format!(
                "see it with `polis agent show {}`, or choose another id",
                request.id
            ),
        ));
    }
    // Files are named after agents, and some file systems are case-insensitive (`Dev` and `dev` are the same
    // file).
    let folded = request.id.as_str().to_lowercase();
    if let Some(like) = known
        .agents
        .iter()
        .find(|agent| agent.id.as_str().to_lowercase() == folded)
    {
        return Err(Refusal::new(
            Code::AgentExists,
            format!(
                "Agent \"{}\" differs from \"{}\" only by case.",
                request.id, like.id
            ),
            "choose another id",
        ));
    }
    let superior = known.supervisor.map(|found| &found.agent);
    let layer = request
        .layer
        .unwrap_or_else(|| default_layer(&request.role, superior));
    check_supervisor(request, superior, layer)?;
    let name = request
        .name
        .clone()
        .unwrap_or_else(|| request.id.to_string());
    if name.trim().is_empty() || name.chars().count() > 200 || name.chars().any(char::is_control) {
        return Err(Refusal::new(
            Code::InvalidText,
            "An agent's name is 1 to 200 characters without control characters.",
            "shorten or clean the name",
        ));
    }
    let agent = Agent {
        id: request.id.clone(),
        name,
        role: request.role.clone(),
        layer,
        supervisor: request.supervisor.clone(),
        status: AgentStatus::Active,
        run: None,
        created_at: now.clone(),
    };
    let mut changes = Changeset::by(caller, now)
        .write(Write::PutAgent {
            expect: Expect::Absent,
            agent: agent.clone(),
        })
        .event(NewEvent::of(
            kind::AGENT_ADDED,
            Subject::Agent(agent.id.clone()),
            &agent,
        ));
    changes
        .writes
        .extend(known.supervisor.map(Registered::touch));
    let changes = record::assign(&agent, known.binding, changes)?;
    Ok((agent, changes))
}

fn check_supervisor(
    request: &AgentAdd,
    found: Option<&Agent>,
    layer: Layer,
) -> Result<(), Refusal> {
    let Some(wanted) = request.supervisor.as_ref().filter(|id| !id.is_root()) else {
        return Ok(());
    };
    let refuse = |why: String, hint: &str| Err(Refusal::new(Code::InvalidSupervisor, why, hint));
    match found {
        None => refuse(
            format!("Supervisor \"{wanted}\" is not a registered agent."),
            "register the supervisor first: `polis agent add`",
        ),
        Some(agent) if agent.status == AgentStatus::Retired => refuse(
            format!("Supervisor \"{wanted}\" is retired."),
            "name an active agent",
        ),
        Some(agent) if agent.run.is_some() => refuse(
            format!("Supervisor \"{wanted}\" works for a run of the society, which hires its own."),
            "have it call spawn_agent, or name an agent outside of the society",
        ),
        Some(agent) if agent.layer > layer => refuse(
            format!(
                "Supervisor \"{wanted}\" is in the {} layer, below the {} layer of the new agent.",
                agent.layer.as_str(),
                layer.as_str()
            ),
            "name a supervisor of the same layer or a higher one",
        ),
        Some(_) => Ok(()),
    }
}

fn default_layer(role: &str, supervisor: Option<&Agent>) -> Layer {
    match supervisor {
        Some(agent) => agent.layer.below(),
        None if role == TEAM_LEAD => Layer::Top,
        None if DEFAULT_ROLES.contains(&role) => Layer::Mid,
        None => Layer::Bottom,
    }
}

/// Decides a retirement. `open_tasks` are the unfinished tasks the agent owns, `reports` the active agents
/// directly under it. Both must be empty, so that no task or agent is orphaned.
pub fn decide_retire(
    current: &Registered,
    open_tasks: &[crate::TaskId],
    reports: &[AgentId],
    policy: &Policy,
    caller: &Caller,
    now: Timestamp,
) -> Result<(Agent, Changeset), Refusal> {
    policy.check(caller, Permission::ManageAgents)?;
    let mut agent = current.agent.clone();
    if agent.status == AgentStatus::Retired {
        return Ok((agent, Changeset::by(caller, now)));
    }
    if let Some(run) = &agent.run {
        return Err(Refusal::new(
            Code::AgentInUse,
            format!(
                "Agent \"{}\" works for the run \"{run}\" of the society.",
                agent.id
            ),
            "dismiss it, with everybody below it, by terminate_agent (`polis society stop`)",
        ));
    }
    if let Some(task) = open_tasks.first() {
        return Err(Refusal::new(
            Code::AgentInUse,
            format!(
                "Agent \"{}\" still owns {} unfinished task(s), #{task} among them.",
                agent.id,
                open_tasks.len()
            ),
            format!("release it first: `polis task release {task}`"),
        ));
    }
    if let Some(report) = reports.first() {
        return Err(Refusal::new(
            Code::AgentInUse,
            format!(
                "Agent \"{}\" still supervises {} active agent(s), \"{report}\" among them.",
                agent.id,
                reports.len()
            ),
            format!("retire the agents below it first: `polis agent retire {report}`"),
        ));
    }
    agent.status = AgentStatus::Retired;
    let changes = Changeset::by(caller, now)
        .write(Write::PutAgent {
            expect: Expect::Revision(current.revision),
            agent: agent.clone(),
        })
        .event(NewEvent::of(
            kind::AGENT_RETIRED,
            Subject::Agent(agent.id.clone()),
            &agent,
        ));
    Ok((agent, changes))
}
