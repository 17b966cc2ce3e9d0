//! Refusals about tasks.

use super::reason::ListArg;
use crate::{AgentId, TaskId};

crate::refusal_table! {
    /// Refusals about tasks.
    pub enum TaskRefusal {
        InvalidId = "task-invalid-id", InvalidTaskId { text: String };
        NoLease = "task-no-lease", InvalidInput { task: TaskId };
        LeaseOutOfRange = "task-lease-out-of-range", InvalidInput { lease: u64 };
        EmptyComment = "task-empty-comment", InvalidText;
        CommentNotFound = "task-comment-not-found", CommentNotFound { number: u64, task: TaskId };
        DependencyCycle = "task-dependency-cycle", DependencyCycle { path: ListArg };
        NotFound = "task-not-found", TaskNotFound { id: TaskId };
        ForceAssignForbidden = "task-force-assign-forbidden", ForceAssignForbidden;
        HeldBy = "task-held-by", NotOwner {
            task: TaskId, status: String, owner: String, agent: AgentId,
        };
        HeldByNone = "task-held-by-none", NotOwner { task: TaskId, status: String, agent: AgentId };
        CompletedKeepsOwner = "task-completed-keeps-owner", WrongState { task: TaskId };
        OwnerRetired = "task-owner-retired", AgentNotFound { owner: AgentId };
        RoleMismatch = "task-role-mismatch", RoleMismatch { required: String, role: String };
        OwnerRoleMismatch = "task-owner-role-mismatch", RoleMismatch {
            required: String, owner: AgentId, role: String,
        };
        OwnerNotRegistered = "task-owner-not-registered", RoleMismatch {
            required: String, owner: AgentId,
        };
        AlreadyClaimed = "task-already-claimed", AlreadyClaimed { task: TaskId, owner: String };
        InvalidStatus = "task-invalid-status", InvalidStatus { name: String };
        TransitionStartFirst = "task-transition-start-first", InvalidTransition {
            from: String, to: String, allowed: String, lead_only: bool,
        };
        TransitionReleaseInstead = "task-transition-release-instead", InvalidTransition {
            from: String, to: String, allowed: String, lead_only: bool,
        };
        TransitionAskLeadToDelete = "task-transition-ask-lead-to-delete", InvalidTransition {
            from: String, to: String, allowed: String, lead_only: bool,
        };
        TransitionCreateNew = "task-transition-create-new", InvalidTransition {
            from: String, to: String, allowed: String, lead_only: bool,
        };
        NotBegun = "task-not-begun", WrongState { task: TaskId };
        VersionMismatch = "task-version-mismatch", VersionMismatch {
            expected: u64, current: u64, task: TaskId,
        };
        SearchTooLong = "task-search-too-long", InvalidInput { max_search_bytes: usize };
        InvalidType = "task-invalid-type", InvalidTaskType { name: String, types: Vec<String> };
        EmptyLine = "task-empty-line", InvalidSubject { field: TextField };
        LineTooLong = "task-line-too-long", InvalidSubject {
            field: TextField, chars: usize, max_subject_chars: usize,
        };
        LineControl = "task-line-control", InvalidSubject { field: TextField, character: String };
        TextTooLong = "task-text-too-long", InvalidText {
            field: TextField, bytes: usize, max_text_bytes: usize,
        };
        TextControl = "task-text-control", InvalidText { field: TextField, character: String };
        MetadataTooLarge = "task-metadata-too-large", InvalidMetadata {
            size: usize, max_metadata_bytes: usize,
        };
        MetadataSurrogate = "task-metadata-surrogate", InvalidMetadata;
        MetadataTooDeep = "task-metadata-too-deep", InvalidMetadata {
            depth: usize, max_json_depth: usize,
        };
        Blocked = "task-blocked", TaskBlocked { task: TaskId, open: u32, blockers: Vec<String> };
        ApprovalRequired = "task-approval-required", ApprovalRequired {
            task: TaskId, task_type: String,
        };
        NothingToUpdate = "task-nothing-to-update", InvalidInput { task: TaskId };
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
