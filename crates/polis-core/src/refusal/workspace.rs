//! Refusals about workspaces, paths in them and commands.

use crate::AgentId;

crate::refusal_table! {
    /// Refusals about workspaces, paths in them and commands.
    pub enum WorkspaceRefusal {
        EmptyCommand = "workspace-empty-command", INVALID_COMMAND;
        CommandHasNul = "workspace-command-has-nul", INVALID_COMMAND;
        CommandTooLong = "workspace-command-too-long", INVALID_COMMAND {
            bytes: usize, max_command_bytes: usize,
        };
        CommandBlocked = "workspace-command-blocked", COMMAND_BLOCKED { reason: String };
        TimeoutOutOfRange = "workspace-timeout-out-of-range", INVALID_TIMEOUT {
            requested: String, ceiling: u64,
        };
        PathTooLong = "workspace-path-too-long", INVALID_INPUT { max_path_bytes: usize };
        NameTooLong = "workspace-name-too-long", INVALID_INPUT { max_name_bytes: usize };
        ReservedName = "workspace-reserved-name", INVALID_INPUT { project_data_dir: String };
        UnfinishedName = "workspace-unfinished-name", INVALID_INPUT { unfinished_prefix: String };
        PathIsEmpty = "workspace-path-is-empty", PATH_TRAVERSAL_BLOCKED;
        PathHasNul = "workspace-path-has-nul", PATH_TRAVERSAL_BLOCKED;
        PathIsAbsolute = "workspace-path-is-absolute", PATH_TRAVERSAL_BLOCKED;
        PathHasBackslash = "workspace-path-has-backslash", PATH_TRAVERSAL_BLOCKED;
        PathLeavesWorkspace = "workspace-path-leaves-workspace", PATH_TRAVERSAL_BLOCKED;
        PathHasDriveLetter = "workspace-path-has-drive-letter", PATH_TRAVERSAL_BLOCKED;
        PersonHasNone = "workspace-person-has-none", WORKSPACE_NOT_ASSIGNED;
        NotInRegistry = "workspace-not-in-registry", WORKSPACE_NOT_ASSIGNED { agent: AgentId };
        NotAssigned = "workspace-not-assigned", WORKSPACE_NOT_ASSIGNED { agent: AgentId };
        OwnerNotRegistered = "workspace-owner-not-registered", WORKSPACE_NOT_ASSIGNED {
            agent: AgentId,
        };
        OtherWorkspace = "workspace-other-workspace", PERMISSION_DENIED {
            agent: AgentId, requested: AgentId,
        };
        Overlaps = "workspace-overlaps", WORKSPACE_OVERLAPS { relation: String, owner: AgentId };
        NotATeamHead = "workspace-not-a-team-head", INVALID_WORKSPACE { agent: AgentId };
        NotATeamHeadBelow = "workspace-not-a-team-head-below", INVALID_WORKSPACE {
            agent: AgentId, supervisor: AgentId,
        };
        BoundElsewhere = "workspace-bound-elsewhere", WORKSPACE_EXISTS { agent: AgentId };
        InUse = "workspace-in-use", WORKSPACE_EXISTS { agent: AgentId };
    }
}
