//! Refusals of the rules in [`crate::society`]: runs, members, hiring, briefs, roles and approvals of tool
//! calls. Only codes and message ids; the texts are in the message catalogue.

use super::reason::ListArg;
use crate::AgentId;

crate::refusal_table! {
    /// Refusals about runs, members, hiring and roles of a run.
    pub enum SocietyRefusal {
        BriefWithoutObjective = "society-brief-without-objective", INVALID_BRIEF;
        BriefTooLong = "society-brief-too-long", INVALID_BRIEF;
        OnlyPersonDecidesCalls = "society-only-person-decides-calls", PERMISSION_DENIED;
        CallDecided = "society-call-decided", WRONG_STATE { outcome: String };
        ApprovalNotFound = "society-approval-not-found", APPROVAL_NOT_FOUND { id: String };
        NotDescendant = "society-not-descendant", NOT_DESCENDANT { other: AgentId, caller: AgentId };
        DismissedCannotHire = "society-dismissed-cannot-hire", PERMISSION_DENIED { agent: AgentId };
        RootHasChild = "society-root-has-child", HIRE_LIMIT { child: AgentId };
        TooDeep = "society-too-deep", HIRE_LIMIT { agent: AgentId, depth: u64, maximum: u64 };
        TooManyAgents = "society-too-many-agents", HIRE_LIMIT { limit: u64 };
        HiringTooFast = "society-hiring-too-fast", HIRE_LIMIT { limit: u64 };
        InvalidAgentName = "society-invalid-agent-name", INVALID_TEXT;
        RunStopped = "society-run-stopped", WRONG_STATE { run: String };
        RunDone = "society-run-done", WRONG_STATE { run: String };
        RunNotFound = "society-run-not-found", RUN_NOT_FOUND { run: String };
        InvalidRunId = "society-invalid-run-id", INVALID_INPUT { text: String };
        RoleDiffers = "society-role-differs", ROLE_EXISTS {
            role: String, differences: ListArg, role_id: String,
        };
        RoleNotFound = "society-role-not-found", ROLE_NOT_FOUND { name: String };
        InvalidRoleName = "society-invalid-role-name", INVALID_BRIEF;
        InvalidRolePrompt = "society-invalid-role-prompt", INVALID_BRIEF;
        TooManyRoleTools = "society-too-many-role-tools", INVALID_BRIEF;
        InvalidTemperature = "society-invalid-temperature", INVALID_BRIEF;
        NotPlainText = "society-not-plain-text", INVALID_BRIEF { error: String };
        MemberCannotStartRun = "society-member-cannot-start-run", PERMISSION_DENIED {
            agent: AgentId, run: String,
        };
        InvalidRequirement = "society-invalid-requirement", INVALID_BRIEF;
        TooManyListed = "society-too-many-listed", INVALID_INPUT;
        RoleTwice = "society-role-twice", ROLE_EXISTS { role: String };
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
