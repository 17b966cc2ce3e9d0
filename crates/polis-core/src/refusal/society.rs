//! Refusals of the rules in [`crate::society`]: runs, members, hiring, briefs, roles and approvals of tool
//! calls. Only codes and message ids; the texts are in the message catalogue.

use super::reason::ListArg;
use crate::AgentId;

crate::refusal_table! {
    /// Refusals about runs, members, hiring and roles of a run.
    pub enum SocietyRefusal {
        BriefWithoutObjective = "society-brief-without-objective", InvalidBrief;
        BriefTooLong = "society-brief-too-long", InvalidBrief;
        OnlyPersonDecidesCalls = "society-only-person-decides-calls", PermissionDenied;
        CallDecided = "society-call-decided", WrongState { outcome: String };
        ApprovalNotFound = "society-approval-not-found", ApprovalNotFound { id: String };
        NotDescendant = "society-not-descendant", NotDescendant { other: AgentId, caller: AgentId };
        DismissedCannotHire = "society-dismissed-cannot-hire", PermissionDenied { agent: AgentId };
        RootHasChild = "society-root-has-child", HireLimit { child: AgentId };
        TooDeep = "society-too-deep", HireLimit { agent: AgentId, depth: u64, maximum: u64 };
        TooManyAgents = "society-too-many-agents", HireLimit { limit: u64 };
        HiringTooFast = "society-hiring-too-fast", HireLimit { limit: u64 };
        InvalidAgentName = "society-invalid-agent-name", InvalidText;
        RunStopped = "society-run-stopped", WrongState { run: String };
        RunDone = "society-run-done", WrongState { run: String };
        RunNotFound = "society-run-not-found", RunNotFound { run: String };
        InvalidRunId = "society-invalid-run-id", InvalidInput { text: String };
        RoleDiffers = "society-role-differs", RoleExists {
            role: String, differences: ListArg, role_id: String,
        };
        RoleNotFound = "society-role-not-found", RoleNotFound { name: String };
        InvalidRoleName = "society-invalid-role-name", InvalidBrief;
        InvalidRolePrompt = "society-invalid-role-prompt", InvalidBrief;
        TooManyRoleTools = "society-too-many-role-tools", InvalidBrief;
        InvalidTemperature = "society-invalid-temperature", InvalidBrief;
        NotPlainText = "society-not-plain-text", InvalidBrief { error: String };
        MemberCannotStartRun = "society-member-cannot-start-run", PermissionDenied {
            agent: AgentId, run: String,
        };
        InvalidRequirement = "society-invalid-requirement", InvalidBrief;
        TooManyListed = "society-too-many-listed", InvalidInput;
        RoleTwice = "society-role-twice", RoleExists { role: String };
    }
}

crate::phrase_table! {
    /// Ways in which a requested role differs from an existing one of the same name.
    pub enum RoleDifference {
        Prompt = "role-difference-prompt";
        Tools = "role-difference-tools";
        Model = "role-difference-model";
        Approve = "role-difference-approve";
    }
}
