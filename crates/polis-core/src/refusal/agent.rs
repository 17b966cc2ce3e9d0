//! Refusals about the registration, supervision and retirement of agents.

use crate::{AgentId, TaskId};

crate::refusal_table! {
    /// Refusals about the registration, supervision and retirement of agents.
    pub enum AgentRefusal {
        FixedName = "agent-fixed-name", AgentExists { agent: AgentId };
        AlreadyRegistered = "agent-already-registered", AgentExists { agent: AgentId };
        DiffersByCase = "agent-differs-by-case", AgentExists { agent: AgentId, other: AgentId };
        InvalidName = "agent-invalid-name", InvalidText;
        SupervisorUnknown = "agent-supervisor-unknown", InvalidSupervisor { supervisor: AgentId };
        SupervisorRetired = "agent-supervisor-retired", InvalidSupervisor { supervisor: AgentId };
        SupervisorInRun = "agent-supervisor-in-run", InvalidSupervisor { supervisor: AgentId };
        SupervisorBelow = "agent-supervisor-below", InvalidSupervisor {
            supervisor: AgentId, supervisor_layer: String, layer: String,
        };
        RetireMember = "agent-retire-member", AgentInUse { agent: AgentId, run: String };
        RetireOwner = "agent-retire-owner", AgentInUse {
            agent: AgentId, count: usize, task: TaskId,
        };
        RetireSupervisor = "agent-retire-supervisor", AgentInUse {
            agent: AgentId, count: usize, report: AgentId,
        };
        RetiredCaller = "agent-retired-caller", PermissionDenied { id: AgentId };
        InvalidId = "agent-invalid-id", InvalidAgentId { text: String };
        InvalidRole = "agent-invalid-role", InvalidRole { role: String, roles: Vec<String> };
        InvalidRequiredRole = "agent-invalid-required-role", InvalidRequiredRole {
            role: String, roles: Vec<String>,
        };
        NoPermission = "agent-no-permission", PermissionDenied {
            agent: AgentId, role: String, permission: String,
        };
        NoPermissionByDefault = "agent-no-permission-by-default", PermissionDenied {
            agent: AgentId, role: String, permission: String,
        };
        HeldByOtherSession = "agent-held-by-other-session", HeldByOtherSession {
            task: TaskId, agent: AgentId,
        };
    }
}
