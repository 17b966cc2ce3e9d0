//! Refusals about agents: their ids, roles and permissions, their registration, supervision and retirement, and the
//! sessions that hold their tasks.

use crate::{AgentId, TaskId};

crate::refusal_table! {
    /// Refusals about the registration, supervision and retirement of agents.
    pub enum AgentRefusal {
        FixedName = "agent-fixed-name", AGENT_EXISTS { agent: AgentId };
        AlreadyRegistered = "agent-already-registered", AGENT_EXISTS { agent: AgentId };
        DiffersByCase = "agent-differs-by-case", AGENT_EXISTS { agent: AgentId, other: AgentId };
        InvalidName = "agent-invalid-name", INVALID_TEXT;
        SupervisorUnknown = "agent-supervisor-unknown", INVALID_SUPERVISOR { supervisor: AgentId };
        SupervisorRetired = "agent-supervisor-retired", INVALID_SUPERVISOR { supervisor: AgentId };
        SupervisorInRun = "agent-supervisor-in-run", INVALID_SUPERVISOR { supervisor: AgentId };
        SupervisorBelow = "agent-supervisor-below", INVALID_SUPERVISOR {
            supervisor: AgentId, supervisor_layer: String, layer: String,
        };
        RetireMember = "agent-retire-member", AGENT_IN_USE { agent: AgentId, run: String };
        RetireOwner = "agent-retire-owner", AGENT_IN_USE {
            agent: AgentId, count: usize, task: TaskId,
        };
        RetireSupervisor = "agent-retire-supervisor", AGENT_IN_USE {
            agent: AgentId, count: usize, report: AgentId,
        };
        RetiredCaller = "agent-retired-caller", PERMISSION_DENIED { id: AgentId };
        InvalidId = "agent-invalid-id", INVALID_AGENT_ID { text: String };
        InvalidRole = "agent-invalid-role", INVALID_ROLE { role: String, roles: Vec<String> };
        InvalidRequiredRole = "agent-invalid-required-role", INVALID_REQUIRED_ROLE {
            role: String, roles: Vec<String>,
        };
        NoPermission = "agent-no-permission", PERMISSION_DENIED {
            agent: AgentId, role: String, permission: String,
        };
        NoPermissionByDefault = "agent-no-permission-by-default", PERMISSION_DENIED {
            agent: AgentId, role: String, permission: String,
        };
        HeldByOtherSession = "agent-held-by-other-session", HELD_BY_OTHER_SESSION {
            task: TaskId, agent: AgentId,
        };
    }
}
