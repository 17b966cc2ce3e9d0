//! Tables of the refusals about boards (names, access, leases, versions and size), of the rules for blackboard
//! paths, and of the reasons why access to a board is allowed or denied. Data only: the rules in `board` decide.

use super::Reason;
use crate::AgentId;

crate::refusal_table! {
    /// Refusals about boards: names, access, leases, versions and size.
    pub enum BoardRefusal {
        AccessDenied = "board-access-denied", PERMISSION_DENIED {
            agent: String, access: String, board: String, reason: Reason,
        };
        BlackboardAccessDenied = "board-blackboard-access-denied", PERMISSION_DENIED {
            agent: String, access: String, board: String, reason: Reason,
        };
        InvalidPath = "board-invalid-path", INVALID_PATH { path: String, rule: BlackboardRule };
        Locked = "board-locked", BOARD_LOCKED { board: String, holder: AgentId, until: String };
        InvalidLeaseTime = "board-invalid-lease-time", INVALID_INPUT;
        UnlockWithoutToken = "board-unlock-without-token", PERMISSION_DENIED;
        LeaseLost = "board-lease-lost", LOCK_LOST { board: String };
        InvalidName = "board-invalid-name", INVALID_BOARD { text: String };
        HasNul = "board-has-nul", INVALID_TEXT;
        TooLarge = "board-too-large", BOARD_TOO_LARGE { bytes: u64, max_board_bytes: u64 };
        VersionRequired = "board-version-required", VERSION_REQUIRED {
            board: String, author: String, at: String,
        };
        EntryHeading = "board-entry-heading", INVALID_SECTION { title: String };
        VersionConflict = "board-version-conflict", VERSION_CONFLICT {
            board: String, expected: u64, current: u64, author: String, at: String,
        };
        VersionConflictUnwritten = "board-version-conflict-unwritten", VERSION_CONFLICT {
            board: String, expected: u64, current: u64,
        };
        MergeConflict = "board-merge-conflict", VERSION_CONFLICT {
            board: String, expected: u64, current: u64, author: String, at: String,
        };
        SectionChanged = "board-section-changed", VERSION_CONFLICT { board: String, digest: String };
        SectionRemoved = "board-section-removed", VERSION_CONFLICT { board: String };
    }
}

crate::phrase_table! {
    /// Rules for paths of the blackboard.
    pub enum BlackboardRule {
        Empty = "blackboard-rule-empty";
        Absolute = "blackboard-rule-absolute";
        TooLong = "blackboard-rule-too-long";
        Leaves = "blackboard-rule-leaves";
        EmptyPart = "blackboard-rule-empty-part";
        TooDeep = "blackboard-rule-too-deep";
        Extension = "blackboard-rule-extension";
        NoStem = "blackboard-rule-no-stem";
        TasksFile = "blackboard-rule-tasks-file";
        TaskFile = "blackboard-rule-task-file";
        TaskId = "blackboard-rule-task-id";
        UpperCase = "blackboard-rule-upper-case";
        Characters = "blackboard-rule-characters";
        Hyphen = "blackboard-rule-hyphen";
    }
}

crate::problem_table! {
    /// Reasons why an agent may or may not access a board.
    pub enum AccessReason {
        Person = "access-person";
        NotRegistered = "access-not-registered" { agent: AgentId };
        GlobalReadable = "access-global-readable";
        TopReadable = "access-top-readable";
        UpperLayersAppend = "access-upper-layers-append";
        OnlyUpperLayersAppend = "access-only-upper-layers-append";
        TopLayerWrites = "access-top-layer-writes";
        OnlyTopLayerWrites = "access-only-top-layer-writes";
        OwnRole = "access-own-role";
        OnlyRoleWrites = "access-only-role-writes" { role: AgentId };
        OwnBoard = "access-own-board";
        OnlyOwnerWrites = "access-only-owner-writes" { owner: AgentId };
        TopLayerReadsMid = "access-top-layer-reads-mid";
        MidLayerReadsMid = "access-mid-layer-reads-mid";
        SuperiorsBoard = "access-superiors-board";
        NoSuperiorWithRole = "access-no-superior-with-role" { role: AgentId };
        TopLayerReadsBottom = "access-top-layer-reads-bottom";
        MidReadsAllBottom = "access-mid-reads-all-bottom";
        Subordinate = "access-subordinate" { owner: AgentId };
        NotASubordinate = "access-not-a-subordinate" { owner: AgentId };
        BottomLayerReadsOwn = "access-bottom-layer-reads-own";
        NotAWhiteboard = "access-not-a-whiteboard";
        BlackboardReadable = "access-blackboard-readable";
        PathGranted = "access-path-granted" { pattern: String, writer: String };
        PathNotGranted = "access-path-not-granted" { role: String, agent: AgentId };
    }
}
