//! The registry of agents: who there is, in which role and layer, and under whom.

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
use crate::time::Timestamp;

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
    /// The layer as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Top => "top",
            Self::Mid => "mid",
            Self::Bottom => "bottom",
        }
    }

    fn below(self) -> Self {
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
    /// When it was registered.
    pub created_at: Timestamp,
}

/// An agent as the registry keeps it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registered {
    /// The agent.
    pub agent: Agent,
    /// One more with every write.
    pub revision: u64,
}

impl Registered {
    /// A write that changes nothing, but conflicts with a retirement decided at the same time: who
    /// relies on the agent being active touches its record.
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
    /// Whom it reports to.
    #[serde(default)]
    pub supervisor: Option<AgentId>,
}

/// Decides a registration. `existing` are all agents there are, `supervisor` the one named.
pub fn decide_add(
    request: &AgentAdd,
    existing: &[Agent],
    supervisor: Option<&Registered>,
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
    if existing.iter().any(|agent| agent.id == request.id) {
        return Err(Refusal::new(
            Code::AgentExists,
            format!("Agent \"{}\" is already registered.", request.id),
            format!(
                "see it with `polis agent show {}`, or choose another id",
                request.id
            ),
        ));
    }
    // Files are named by agents, and not every file system tells `Dev` from `dev`.
    let folded = request.id.as_str().to_lowercase();
    if let Some(like) = existing
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
    let superior = supervisor.map(|found| &found.agent);
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
    changes.writes.extend(supervisor.map(Registered::touch));
    Ok((agent, changes))
}

fn check_supervisor(
    request: &AgentAdd,
    found: Option<&Agent>,
    layer: Layer,
) -> Result<(), Refusal> {
    let Some(wanted) = &request.supervisor else {
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

/// Decides a retirement. `open_tasks` are the unfinished tasks it owns, `reports` the active
/// agents directly under it; both must be gone first, so nothing is orphaned.
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
