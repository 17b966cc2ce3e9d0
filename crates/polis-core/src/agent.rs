//! Agent registry: registration and retirement of agents, with their role, layer and supervisor.
//!
//! [`decide_add_agent`] and [`decide_retire_agent`] check a request against the registry and return the
//! changeset. They refuse changes that would break the reporting tree or leave tasks without an owner.
//! Members of a run are registered by `society::hire` instead.

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::caller::Caller;
use crate::changeset::{Changeset, StoreWrite, WritePrecondition};
use crate::event::{AgentRecordEvent, EventPayload, EventSubject, NewEvent};
use crate::id::AgentId;
use crate::permission::{Permission, PermissionPolicy};
use crate::refusal::{AgentRefusal, Refusal};
use crate::role::{DEFAULT_ROLES, RoleSet, TEAM_LEAD};
use crate::society::RunId;
use crate::timestamp::Timestamp;
use crate::workspace::workspace_record::{self, WorkspaceBinding};

/// Layer of an agent in the reporting tree. It decides which boards the agent reads and writes.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, JsonSchema,
)]
#[serde(rename_all = "lowercase")]
pub enum AgentLayer {
    /// Makes the decisions.
    Top,
    /// Plans and divides the work.
    Mid,
    /// Carries out the work.
    Bottom,
}

impl AgentLayer {
    /// Returns the layer as text.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Top => "top",
            Self::Mid => "mid",
            Self::Bottom => "bottom",
        }
    }

    pub(crate) fn lower_layer(self) -> Self {
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
    /// The agent may act.
    Active,
    /// The agent may no longer act. Its name is never reused.
    Retired,
}

/// One agent of the registry.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
pub struct Agent {
    /// Unique id, such as `backend-leader-1`.
    pub id: AgentId,
    /// Display name.
    pub name: String,
    /// Role of the agent.
    pub role: String,
    /// Layer of the agent.
    pub layer: AgentLayer,
    /// The agent it reports to.
    pub supervisor: Option<AgentId>,
    /// Whether the agent may act.
    pub status: AgentStatus,
    /// The run of the society it was hired for.
    #[serde(flatten, with = "crate::society::run_id_json::optional")]
    #[schemars(with = "crate::society::run_id_json::OptionalRunIdFields<RunId>")]
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
pub struct RegisteredAgent {
    /// The registry entry.
    pub agent: Agent,
    /// Incremented by every write.
    pub revision: u64,
}

impl RegisteredAgent {
    /// Returns a write that leaves the agent unchanged but conflicts with a concurrent retirement. A decision
    /// that relies on the agent being active includes it.
    pub fn touch(&self) -> StoreWrite {
        StoreWrite::PutAgent {
            expect: WritePrecondition::Revision(self.revision),
            agent: self.agent.clone(),
        }
    }
}

/// A request to register an agent.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize, JsonSchema)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct AgentAddParams {
    /// Id of the new agent.
    pub id: AgentId,
    /// Display name; default: the id.
    #[serde(default)]
    pub name: Option<String>,
    /// Role of the agent.
    pub role: String,
    /// Layer of the agent; default: one below the supervisor's, or that of the role.
    #[serde(default)]
    pub layer: Option<AgentLayer>,
    /// Supervisor; default: `root`. An agent directly below `root` gets its own workspace.
    #[serde(default)]
    pub supervisor: Option<AgentId>,
    /// Directory to bind the workspace to, given on the command line. It is never deserialized from a
    /// request: network clients must not choose directories of this machine.
    #[serde(skip)]
    pub workspace_path: Option<String>,
}

/// State that a registration is checked against.
#[derive(Debug, Clone, Copy)]
pub struct AgentAddContext<'a> {
    /// All registered agents.
    pub agents: &'a [Agent],
    /// The supervisor named in the request, if it is registered.
    pub supervisor: Option<&'a RegisteredAgent>,
    /// The directory named in the request.
    pub binding: Option<&'a WorkspaceBinding>,
}

/// Checks a registration request and returns the new agent with its changeset. An agent without a supervisor
/// other than `root` gets its workspace in the same commit. Fails with `permission_denied`, `invalid_role`,
/// `agent_exists`, `invalid_supervisor` or `invalid_text`, or if the workspace cannot be bound to the
/// directory.
pub fn decide_add_agent(
    request: &AgentAddParams,
    context: AgentAddContext<'_>,
    roles: &RoleSet,
    policy: &PermissionPolicy,
    caller: &Caller,
    now: Timestamp,
) -> Result<(Agent, Changeset), Refusal> {
    policy.check(caller, Permission::ManageAgents)?;
    roles.check_agent_role(&request.role)?;
    if AgentId::RESERVED_NAMES.contains(&request.id.as_str()) {
        return Err(Refusal::from(AgentRefusal::FixedName {
            agent: request.id.clone(),
        }));
    }
    if context.agents.iter().any(|agent| agent.id == request.id) {
        return Err(Refusal::from(AgentRefusal::AlreadyRegistered {
            agent: request.id.clone(),
        }));
    }
    // Files are named after agents, and some file systems are case-insensitive (`Dev` and `dev` are the same
    // file).
    let folded = request.id.as_str().to_lowercase();
    if let Some(similar) = context
        .agents
        .iter()
        .find(|agent| agent.id.as_str().to_lowercase() == folded)
    {
        return Err(Refusal::from(AgentRefusal::DiffersByCase {
            agent: request.id.clone(),
            other: similar.id.clone(),
        }));
    }
    let supervisor = context.supervisor.map(|found| &found.agent);
    let layer = request
        .layer
        .unwrap_or_else(|| default_layer(&request.role, supervisor));
    check_supervisor(request, supervisor, layer)?;
    let name = request
        .name
        .clone()
        .unwrap_or_else(|| request.id.to_string());
    if name.trim().is_empty() || name.chars().count() > 200 || name.chars().any(char::is_control) {
        return Err(Refusal::from(AgentRefusal::InvalidName));
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
    let mut changes = Changeset::new(caller, now)
        .with_write(StoreWrite::PutAgent {
            expect: WritePrecondition::Absent,
            agent: agent.clone(),
        })
        .with_event(agent_added_event(&agent));
    changes
        .writes
        .extend(context.supervisor.map(RegisteredAgent::touch));
    let changes = workspace_record::assign_workspace(&agent, context.binding, changes)?;
    Ok((agent, changes))
}

/// Creates the event of a registration.
pub(crate) fn agent_added_event(agent: &Agent) -> NewEvent {
    let data = Box::new(AgentRecordEvent {
        agent: agent.clone(),
    });
    NewEvent::new(
        EventSubject::Agent(agent.id.clone()),
        EventPayload::AgentAdded(data),
    )
}

/// Creates the event of a retirement.
pub(crate) fn agent_retired_event(agent: &Agent) -> NewEvent {
    let data = Box::new(AgentRecordEvent {
        agent: agent.clone(),
    });
    NewEvent::new(
        EventSubject::Agent(agent.id.clone()),
        EventPayload::AgentRetired(data),
    )
}

fn check_supervisor(
    request: &AgentAddParams,
    found: Option<&Agent>,
    layer: AgentLayer,
) -> Result<(), Refusal> {
    let Some(supervisor) = request.supervisor.as_ref().filter(|id| !id.is_root()) else {
        return Ok(());
    };
    let supervisor = supervisor.clone();
    let refusal = match found {
        None => AgentRefusal::SupervisorUnknown { supervisor },
        Some(agent) if agent.status == AgentStatus::Retired => {
            AgentRefusal::SupervisorRetired { supervisor }
        }
        Some(agent) if agent.run.is_some() => AgentRefusal::SupervisorInRun { supervisor },
        Some(agent) if agent.layer > layer => AgentRefusal::SupervisorBelow {
            supervisor,
            supervisor_layer: agent.layer.as_str().to_owned(),
            layer: layer.as_str().to_owned(),
        },
        Some(_) => return Ok(()),
    };
    Err(refusal.into())
}

fn default_layer(role: &str, supervisor: Option<&Agent>) -> AgentLayer {
    match supervisor {
        Some(agent) => agent.layer.lower_layer(),
        None if role == TEAM_LEAD => AgentLayer::Top,
        None if DEFAULT_ROLES.contains(&role) => AgentLayer::Mid,
        None => AgentLayer::Bottom,
    }
}

/// Checks the retirement of an agent and returns the retired agent with its changeset, which is empty if it
/// was retired already. `open_tasks` are the unfinished tasks the agent owns, `reports` the active agents
/// directly under it. Both must be empty, so that no task or agent is orphaned. Otherwise, and for members of
/// a run, fails with `agent_in_use`.
pub fn decide_retire_agent(
    current: &RegisteredAgent,
    open_tasks: &[crate::TaskId],
    reports: &[AgentId],
    policy: &PermissionPolicy,
    caller: &Caller,
    now: Timestamp,
) -> Result<(Agent, Changeset), Refusal> {
    policy.check(caller, Permission::ManageAgents)?;
    let mut agent = current.agent.clone();
    if agent.status == AgentStatus::Retired {
        return Ok((agent, Changeset::new(caller, now)));
    }
    if let Some(run) = &agent.run {
        return Err(Refusal::from(AgentRefusal::RetireMember {
            agent: agent.id,
            run: run.to_string(),
        }));
    }
    if let Some(task) = open_tasks.first() {
        return Err(Refusal::from(AgentRefusal::RetireOwner {
            agent: agent.id,
            count: open_tasks.len(),
            task: *task,
        }));
    }
    if let Some(report) = reports.first() {
        return Err(Refusal::from(AgentRefusal::RetireSupervisor {
            agent: agent.id,
            count: reports.len(),
            report: report.clone(),
        }));
    }
    agent.status = AgentStatus::Retired;
    let changes = Changeset::new(caller, now)
        .with_write(StoreWrite::PutAgent {
            expect: WritePrecondition::Revision(current.revision),
            agent: agent.clone(),
        })
        .with_event(agent_retired_event(&agent));
    Ok((agent, changes))
}
