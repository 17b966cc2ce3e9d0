//! Refusals about workspaces, paths in them and commands.

use crate::AgentId;

crate::refusal_table! {
    /// Refusals about workspaces, paths in them and commands.
    pub enum WorkspaceRefusal {
        EmptyCommand = "workspace-empty-command", InvalidCommand;
        CommandHasNul = "workspace-command-has-nul", InvalidCommand;
        CommandTooLong = "workspace-command-too-long", InvalidCommand {
            bytes: usize, max_command_bytes: usize,
        };
        CommandBlocked = "workspace-command-blocked", CommandBlocked { reason: String };
        TimeoutOutOfRange = "workspace-timeout-out-of-range", InvalidTimeout {
            requested: String, ceiling: u64,
        };
        PathTooLong = "workspace-path-too-long", InvalidInput { max_path_bytes: usize };
        NameTooLong = "workspace-name-too-long", InvalidInput { max_name_bytes: usize };
        ReservedName = "workspace-reserved-name", InvalidInput { project_data_dir: String };
        UnfinishedName = "workspace-unfinished-name", InvalidInput { unfinished_prefix: String };
        PathIsEmpty = "workspace-path-is-empty", PathTraversalBlocked;
        PathHasNul = "workspace-path-has-nul", PathTraversalBlocked;
        PathIsAbsolute = "workspace-path-is-absolute", PathTraversalBlocked;
        PathHasBackslash = "workspace-path-has-backslash", PathTraversalBlocked;
        PathLeavesWorkspace = "workspace-path-leaves-workspace", PathTraversalBlocked;
        PathHasDriveLetter = "workspace-path-has-drive-letter", PathTraversalBlocked;
        PersonHasNone = "workspace-person-has-none", WorkspaceNotAssigned;
        NotInRegistry = "workspace-not-in-registry", WorkspaceNotAssigned { agent: AgentId };
        NotAssigned = "workspace-not-assigned", WorkspaceNotAssigned { agent: AgentId };
        OwnerNotRegistered = "workspace-owner-not-registered", WorkspaceNotAssigned {
            agent: AgentId,
        };
        OtherWorkspace = "workspace-other-workspace", PermissionDenied {
            agent: AgentId, requested: AgentId,
        };
        Overlaps = "workspace-overlaps", WorkspaceOverlaps { relation: String, owner: AgentId };
        NotATeamHead = "workspace-not-a-team-head", InvalidWorkspace { agent: AgentId };
        NotATeamHeadBelow = "workspace-not-a-team-head-below", InvalidWorkspace {
            agent: AgentId, supervisor: AgentId,
        };
        BoundElsewhere = "workspace-bound-elsewhere", WorkspaceExists { agent: AgentId };
        InUse = "workspace-in-use", WorkspaceExists { agent: AgentId };
    }
}
