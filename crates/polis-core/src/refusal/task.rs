//! Refusals about tasks.

use super::reason::ListArg;
use crate::{AgentId, TaskId};

crate::refusal_table! {
    /// Refusals about tasks.
    pub enum TaskRefusal {
        InvalidId = "task-invalid-id", INVALID_TASK_ID { text: String };
        NoLease = "task-no-lease", INVALID_INPUT { task: TaskId };
        LeaseOutOfRange = "task-lease-out-of-range", INVALID_INPUT { lease: u64 };
        EmptyComment = "task-empty-comment", INVALID_TEXT;
        CommentNotFound = "task-comment-not-found", COMMENT_NOT_FOUND { number: u64, task: TaskId };
        DependencyCycle = "task-dependency-cycle", DEPENDENCY_CYCLE { path: ListArg };
        NotFound = "task-not-found", TASK_NOT_FOUND { id: TaskId };
        ForceAssignForbidden = "task-force-assign-forbidden", FORCE_ASSIGN_FORBIDDEN;
        HeldBy = "task-held-by", NOT_OWNER {
            task: TaskId, status: String, owner: String, agent: AgentId,
        };
        HeldByNone = "task-held-by-none", NOT_OWNER { task: TaskId, status: String, agent: AgentId };
        CompletedKeepsOwner = "task-completed-keeps-owner", WRONG_STATE { task: TaskId };
        OwnerRetired = "task-owner-retired", AGENT_NOT_FOUND { owner: AgentId };
        RoleMismatch = "task-role-mismatch", ROLE_MISMATCH { required: String, role: String };
        OwnerRoleMismatch = "task-owner-role-mismatch", ROLE_MISMATCH {
            required: String, owner: AgentId, role: String,
        };
        OwnerNotRegistered = "task-owner-not-registered", ROLE_MISMATCH {
            required: String, owner: AgentId,
        };
        AlreadyClaimed = "task-already-claimed", ALREADY_CLAIMED { task: TaskId, owner: String };
        InvalidStatus = "task-invalid-status", INVALID_STATUS { name: String };
        TransitionStartFirst = "task-transition-start-first", INVALID_TRANSITION {
            from: String, to: String, allowed: String, lead_only: bool,
        };
        TransitionReleaseInstead = "task-transition-release-instead", INVALID_TRANSITION {
            from: String, to: String, allowed: String, lead_only: bool,
        };
        TransitionAskLeadToDelete = "task-transition-ask-lead-to-delete", INVALID_TRANSITION {
            from: String, to: String, allowed: String, lead_only: bool,
        };
        TransitionCreateNew = "task-transition-create-new", INVALID_TRANSITION {
            from: String, to: String, allowed: String, lead_only: bool,
        };
        NotBegun = "task-not-begun", WRONG_STATE { task: TaskId };
        VersionMismatch = "task-version-mismatch", VERSION_MISMATCH {
            expected: u64, current: u64, task: TaskId,
        };
        SearchTooLong = "task-search-too-long", INVALID_INPUT { max_search_bytes: usize };
        InvalidType = "task-invalid-type", INVALID_TASK_TYPE { name: String, types: Vec<String> };
        EmptyLine = "task-empty-line", INVALID_SUBJECT { field: TextField };
        LineTooLong = "task-line-too-long", INVALID_SUBJECT {
            field: TextField, chars: usize, max_subject_chars: usize,
        };
        LineControl = "task-line-control", INVALID_SUBJECT { field: TextField, character: String };
        TextTooLong = "task-text-too-long", INVALID_TEXT {
            field: TextField, bytes: usize, max_text_bytes: usize,
        };
        TextControl = "task-text-control", INVALID_TEXT { field: TextField, character: String };
        MetadataTooLarge = "task-metadata-too-large", INVALID_METADATA {
            size: usize, max_metadata_bytes: usize,
        };
        MetadataSurrogate = "task-metadata-surrogate", INVALID_METADATA;
        MetadataTooDeep = "task-metadata-too-deep", INVALID_METADATA {
            depth: usize, max_json_depth: usize,
        };
        Blocked = "task-blocked", TASK_BLOCKED { task: TaskId, open: u32, blockers: Vec<String> };
        ApprovalRequired = "task-approval-required", APPROVAL_REQUIRED {
            task: TaskId, task_type: String,
        };
        UnknownPriority = "task-unknown-priority", INVALID_INPUT {
            name: String, priorities: Vec<String>,
        };
        PrioritiesDisagree = "task-priorities-disagree", INVALID_INPUT {
            priority: String, value: String,
        };
        UnknownSort = "task-unknown-sort", INVALID_INPUT { name: String, orders: Vec<String> };
        CursorOfOtherSort = "task-cursor-of-other-sort", INVALID_INPUT {
            cursor: String, sort: String,
        };
        NothingToUpdate = "task-nothing-to-update", INVALID_INPUT { task: TaskId };
    }
}

crate::phrase_table! {
    /// Steps of a dependency cycle that are not numbered tasks.
    pub enum CycleStep {
        NewTask = "cycle-step-new-task";
    }
}

crate::phrase_table! {
    /// Texts whose length and characters are checked.
    pub enum TextField {
        Subject = "text-field-subject";
        Description = "text-field-description";
        ActiveForm = "text-field-active-form";
        Comment = "text-field-comment";
        Note = "text-field-note";
        Reason = "text-field-reason";
        Decision = "text-field-decision";
        Milestone = "text-field-milestone";
        MilestoneTitle = "text-field-milestone-title";
        MilestoneDescription = "text-field-milestone-description";
    }
}
