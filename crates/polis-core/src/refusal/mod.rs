//! Refusals: typed errors that a rule returns instead of a change, and the list of all error codes.
//!
//! The [`RefusalCode`] is for programs and is the same on every surface; internal failures have codes too.
//! The [`Reason`] is the sentence as data: the id of a message and its arguments. Its texts, the sentence and
//! the next step, are in the message catalogue in every language and for every surface, and only surfaces
//! render them. Surfaces also translate the [`RefusalKind`] (to an exit code or an HTTP status). The doc
//! comments of the codes are the descriptions in the reference.
//!
//! Each area declares its refusals in a table ([`refusal_table`](crate::refusal_table)).

mod agent;
mod artifact;
mod board;
mod decision;
mod message;
mod non_string_value;
mod reason;
mod section;
mod society;
mod task;
mod task_file;
mod token;
mod webhook;
mod workspace;

use std::fmt;

use serde::Serialize;

pub use agent::AgentRefusal;
pub use artifact::ArtifactRefusal;
pub use board::{AccessReason, BlackboardRule, BoardRefusal};
pub use decision::DecisionRefusal;
pub use message::MessageRefusal;
pub use non_string_value::NonStringValue;
pub use reason::{ListArg, ListStyle, Reason, ReasonArg, ReasonSpec};
pub use section::SectionRefusal;
pub use society::{RoleDifference, SocietyRefusal};
pub use task::{CycleStep, TaskRefusal, TextField};
pub use task_file::TaskFileProblem;
pub use token::TokenRefusal;
pub use webhook::WebhookRefusal;
pub use workspace::WorkspaceRefusal;

use crate::timestamp::Timestamp;
use crate::workspace::command_policy::SandboxTier;

/// Class of a refusal; it determines the exit code of the command line and the HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RefusalKind {
    /// An internal failure.
    Internal,
    /// The request is invalid.
    Invalid,
    /// The caller is not allowed to do this.
    Forbidden,
    /// The object does not exist.
    NotFound,
    /// The object is not in the required state.
    Conflict,
    /// Another caller holds it, or a timeout expired.
    Busy,
}

macro_rules! codes {
    ($(#[doc = $about:literal] $name:ident = $text:literal, $kind:ident;)+) => {
        /// All codes of refusals and failures.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum RefusalCode { $(#[doc = $about] $name,)+ }

        impl RefusalCode {
            /// All codes, in the order of the reference.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Returns the code as programs see it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// Returns the class of the refusal.
            pub fn kind(self) -> RefusalKind {
                match self { $(Self::$name => RefusalKind::$kind,)+ }
            }

            /// Returns the code with this name.
            pub fn from_name(name: &str) -> Option<Self> {
                Self::ALL.iter().copied().find(|code| code.as_str() == name)
            }

            /// Describes the meaning in a sentence.
            pub fn description(self) -> &'static str {
                match self { $(Self::$name => $about.trim_ascii(),)+ }
            }
        }
    };
}

codes! {
    /// The arguments are not a valid request.
    InvalidInput = "invalid_input", Invalid;
    /// Not a decimal task number.
    InvalidTaskId = "invalid_task_id", Invalid;
    /// Not usable as an agent's name.
    InvalidAgentId = "invalid_agent_id", Invalid;
    /// Not a role of this installation.
    InvalidRole = "invalid_role", Invalid;
    /// A task cannot require this role.
    InvalidRequiredRole = "invalid_required_role", Invalid;
    /// Not one of the task types.
    InvalidTaskType = "invalid_task_type", Invalid;
    /// Not a task status.
    InvalidStatus = "invalid_status", Invalid;
    /// Empty, too long, or with control characters.
    InvalidSubject = "invalid_subject", Invalid;
    /// A text is too long or contains characters that cannot be stored.
    InvalidText = "invalid_text", Invalid;
    /// The metadata is not a JSON object, too large, or nested too deeply.
    InvalidMetadata = "invalid_metadata", Invalid;
    /// A section's name or content would not be parsed back as it was given.
    InvalidSection = "invalid_section", Invalid;
    /// Several sections have this name.
    AmbiguousSection = "ambiguous_section", Invalid;
    /// The supervisor is unknown, retired, or in a lower layer.
    InvalidSupervisor = "invalid_supervisor", Invalid;
    /// The configuration file is invalid.
    InvalidConfig = "invalid_config", Invalid;
    /// The permissions file is invalid.
    InvalidRbac = "invalid_rbac", Invalid;
    /// Not the name of a board.
    InvalidBoard = "invalid_board", Invalid;
    /// Not a valid path on the blackboard.
    InvalidPath = "invalid_path", Invalid;
    /// The board would become larger than is allowed.
    BoardTooLarge = "board_too_large", Invalid;
    /// The text is not UTF-8.
    NotUtf8 = "not_utf8", Invalid;
    /// The text cannot be run as a shell command.
    InvalidCommand = "invalid_command", Invalid;
    /// Zero, negative, not a number, or longer than is allowed.
    InvalidTimeout = "invalid_timeout", Invalid;
    /// Not a valid search pattern.
    InvalidPattern = "invalid_pattern", Invalid;
    /// The directory cannot be a workspace.
    InvalidWorkspace = "invalid_workspace", Invalid;
    /// A directory was expected, but the path is something else.
    NotADirectory = "not_a_directory", Invalid;
    /// A file was expected, but the path is a directory.
    IsADirectory = "is_a_directory", Invalid;
    /// The file is larger than is allowed.
    FileTooLarge = "file_too_large", Invalid;
    /// The file is not text in UTF-8.
    NotText = "not_text", Invalid;
    /// Not a valid token scope.
    InvalidScope = "invalid_scope", Invalid;
    /// Not a valid webhook URL or event filter.
    InvalidWebhook = "invalid_webhook", Invalid;
    /// The message is empty, too long or nested too deeply.
    InvalidMessage = "invalid_message", Invalid;
    /// The artifact is invalid, too large or nested too deeply.
    InvalidArtifact = "invalid_artifact", Invalid;
    /// The idempotency key was used for another request.
    IdempotencyKeyReused = "idempotency_key_reused", Invalid;
    /// The request is larger than is allowed.
    RequestTooLarge = "request_too_large", Invalid;
    /// The content type of the request is not supported.
    UnsupportedMediaType = "unsupported_media_type", Invalid;
    /// The address does not support this method.
    MethodNotAllowed = "method_not_allowed", Invalid;
    /// A strict import found errors in the files.
    ImportFaults = "import_faults", Invalid;
    /// No token, or an invalid one.
    Unauthorized = "unauthorized", Forbidden;
    /// The token is valid, but its scope does not cover the request.
    InsufficientScope = "insufficient_scope", Forbidden;
    /// The request's `Origin` or `Host` header is not allowed.
    OriginForbidden = "origin_forbidden", Forbidden;
    /// The caller may not do this.
    PermissionDenied = "permission_denied", Forbidden;
    /// The path leads out of the workspace.
    PathTraversalBlocked = "path_traversal_blocked", Forbidden;
    /// The command is on the block list.
    CommandBlocked = "command_blocked", Forbidden;
    /// This system cannot provide the required sandbox tier.
    SandboxUnavailable = "sandbox_unavailable", Forbidden;
    /// The project was not created by this user on this machine, or is inside an agent's workspace.
    NotTrusted = "not_trusted", Forbidden;
    /// The new owner's role is not the required one.
    RoleMismatch = "role_mismatch", Forbidden;
    /// Only the team lead may use `forceAssign`.
    ForceAssignForbidden = "force_assign_forbidden", Forbidden;
    /// This type of task is completed only after approval.
    ApprovalRequired = "approval_required", Forbidden;
    /// The caller is not a signer of the decision.
    NotASigner = "not_a_signer", Forbidden;
    /// No such task.
    TaskNotFound = "task_not_found", NotFound;
    /// No such comment.
    CommentNotFound = "comment_not_found", NotFound;
    /// No such section.
    SectionNotFound = "section_not_found", NotFound;
    /// No such agent.
    AgentNotFound = "agent_not_found", NotFound;
    /// No such run of the society.
    RunNotFound = "run_not_found", NotFound;
    /// No such role in this run.
    RoleNotFound = "role_not_found", NotFound;
    /// No such team template.
    TeamNotFound = "team_not_found", NotFound;
    /// No model is configured, or none has the given name.
    ModelNotConfigured = "model_not_configured", Invalid;
    /// No such call approval.
    ApprovalNotFound = "approval_not_found", NotFound;
    /// The run has a role with this name that differs from the requested one.
    RoleExists = "role_exists", Conflict;
    /// Hiring another agent would exceed a limit of the run.
    HireLimit = "hire_limit", Conflict;
    /// Only an agent's superiors may dismiss, redirect or inspect it.
    NotDescendant = "not_descendant", Forbidden;
    /// A budget is used up.
    BudgetExhausted = "budget_exhausted", Conflict;
    /// The brief or the role is incomplete or invalid.
    InvalidBrief = "invalid_brief", Invalid;
    /// The same call was repeated with the same result too often.
    RepeatedCall = "repeated_call", Conflict;
    /// The process ended during the call; the outcome is unknown.
    CallInterrupted = "call_interrupted", Conflict;
    /// A person denied the call.
    CallDenied = "call_denied", Forbidden;
    /// No such tool.
    ToolNotFound = "tool_not_found", NotFound;
    /// There is nothing at this address.
    RouteNotFound = "route_not_found", NotFound;
    /// No agent with this name or role can receive messages.
    RecipientNotFound = "recipient_not_found", NotFound;
    /// No such message in the mailbox.
    MessageNotFound = "message_not_found", NotFound;
    /// No such artifact.
    ArtifactNotFound = "artifact_not_found", NotFound;
    /// No such command in the history.
    CommandNotFound = "command_not_found", NotFound;
    /// No such token.
    TokenNotFound = "token_not_found", NotFound;
    /// No such webhook.
    WebhookNotFound = "webhook_not_found", NotFound;
    /// No such decision on the board.
    DecisionNotFound = "decision_not_found", NotFound;
    /// No such milestone on the board.
    MilestoneNotFound = "milestone_not_found", NotFound;
    /// No polis project in this directory or above it.
    NotInitialized = "not_initialized", NotFound;
    /// No task that the caller could claim.
    NothingToClaim = "nothing_to_claim", NotFound;
    /// The agent has no workspace.
    WorkspaceNotAssigned = "workspace_not_assigned", NotFound;
    /// The text to replace is not in the file.
    TextNotFound = "text_not_found", NotFound;
    /// No such file.
    FileNotFound = "file_not_found", NotFound;
    /// The history does not contain this version, or no longer contains it.
    VersionNotFound = "version_not_found", NotFound;
    /// The board changed since the caller read it.
    VersionConflict = "version_conflict", Conflict;
    /// Replacing the text of a board needs the version that the caller read.
    VersionRequired = "version_required", Conflict;
    /// The lock has expired, or was released or taken over.
    LockLost = "lock_lost", Conflict;
    /// The file changed since the caller read it.
    HashMismatch = "hash_mismatch", Conflict;
    /// The text to replace is in the file more than once.
    TextNotUnique = "text_not_unique", Conflict;
    /// A file with this name exists.
    FileExists = "file_exists", Conflict;
    /// The directory is not empty.
    DirectoryNotEmpty = "directory_not_empty", Conflict;
    /// The directory overlaps another workspace, or polis's own data.
    WorkspaceOverlaps = "workspace_overlaps", Conflict;
    /// The workspace is already in use; rebinding it would abandon its files.
    WorkspaceExists = "workspace_exists", Conflict;
    /// The storage quota of the workspace is used up.
    QuotaExceeded = "quota_exceeded", Conflict;
    /// A regular file was expected, but the path is a link, a pipe or a device.
    NotAFile = "not_a_file", Conflict;
    /// The task changed since the caller read it.
    VersionMismatch = "version_mismatch", Conflict;
    /// The state machine does not allow this transition.
    InvalidTransition = "invalid_transition", Conflict;
    /// The task or run is not in a state that allows this.
    WrongState = "wrong_state", Conflict;
    /// Tasks it depends on are not completed.
    TaskBlocked = "task_blocked", Conflict;
    /// The dependency would close a cycle.
    DependencyCycle = "dependency_cycle", Conflict;
    /// Another agent holds the task.
    AlreadyClaimed = "already_claimed", Conflict;
    /// Another live session of the same agent holds the task.
    HeldByOtherSession = "held_by_other_session", Conflict;
    /// The caller does not hold the task.
    NotOwner = "not_owner", Conflict;
    /// The name is already used.
    AgentExists = "agent_exists", Conflict;
    /// The agent still owns tasks, supervises agents or belongs to a run.
    AgentInUse = "agent_in_use", Conflict;
    /// An earlier request with this idempotency key is unfinished or was interrupted; its outcome is unknown.
    OutcomeUnknown = "outcome_unknown", Conflict;
    /// Too many requests with this token.
    RateLimited = "rate_limited", Busy;
    /// The request took too long to arrive or to be processed.
    RequestTimeout = "request_timeout", Busy;
    /// Another agent holds the lock of the board.
    BoardLocked = "board_locked", Busy;
    /// Another process holds a lock on the file.
    FileBusy = "file_busy", Busy;
    /// The command's timeout expired, and it was terminated.
    CommandTimeout = "command_timeout", Busy;
    /// The decision is not in a state that allows this vote.
    DecisionClosed = "decision_closed", Conflict;
    /// The board has a milestone with this title.
    MilestoneExists = "milestone_exists", Conflict;
    /// The store stayed locked until the deadline.
    StoreBusy = "store_busy", Busy;
    /// The file could not be read.
    ReadFailed = "read_failed", Internal;
    /// The file could not be written.
    WriteFailed = "write_failed", Internal;
    /// The command could not be run.
    CommandFailed = "command_failed", Internal;
    /// The store cannot be reached.
    StoreUnavailable = "store_unavailable", Internal;
    /// The connection broke during a commit; the outcome is unknown.
    CommitUnknown = "commit_unknown", Internal;
    /// The store is read-only.
    StoreReadOnly = "store_read_only", Forbidden;
    /// The disk is full.
    StoreFull = "store_full", Internal;
    /// The store's files are damaged.
    StoreCorrupt = "store_corrupt", Internal;
    /// The store was written by a newer polis.
    StoreTooNew = "store_too_new", Conflict;
    /// Any other internal error.
    Internal = "internal", Internal;
}

impl Serialize for RefusalCode {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for RefusalCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// A refusal: the error of a request that a rule does not allow. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Refusal {
    /// Error code, for programs.
    pub code: RefusalCode,
    /// The sentence that describes the problem, and the next step, as data.
    pub reason: Reason,
    /// Structured data for programs.
    pub details: Option<Box<RefusalDetails>>,
}

/// Structured data of a refusal, in addition to its message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum RefusalDetails {
    /// A board is at another version.
    #[serde(rename_all = "camelCase")]
    Version {
        /// Version that the board is at.
        current_version: u64,
        /// Author of the current version.
        last_modified_by: String,
        /// When the current version was written.
        #[serde(skip_serializing_if = "Option::is_none")]
        last_modified_at: Option<Timestamp>,
        /// Diff between the version that the caller read and the current one.
        #[serde(skip_serializing_if = "Option::is_none")]
        diff: Option<String>,
        /// The result of a merge with conflicts, with conflict markers.
        #[serde(skip_serializing_if = "Option::is_none")]
        merge: Option<String>,
    },
    /// A board is locked.
    #[serde(rename_all = "camelCase")]
    Locked {
        /// Holder of the lock.
        holder: String,
        /// When the lock expires.
        expires_at: Timestamp,
    },
    /// A command was refused.
    #[serde(rename_all = "camelCase")]
    Blocked {
        /// The reason, as worded in requirement 001 (Chinese).
        reason: String,
    },
    /// A file differs from what the caller read.
    #[serde(rename_all = "camelCase")]
    Hash {
        /// SHA-256 of the current content.
        current_hash: String,
    },
    /// A command was terminated because its timeout expired.
    #[serde(rename_all = "camelCase")]
    TimedOut {
        /// Always true, so that programs can test for it.
        timed_out: bool,
        /// The timeout that expired, in milliseconds.
        timeout_ms: u64,
        /// Its standard output up to then.
        stdout: String,
        /// Its standard error up to then.
        stderr: String,
        /// How long it ran, in milliseconds.
        duration_ms: u64,
        /// How strongly it was sandboxed.
        sandbox: SandboxTier,
        /// Whether some of the output was omitted.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
        /// The file with the complete output, below `$POLIS_OUTPUT`.
        #[serde(skip_serializing_if = "Option::is_none")]
        spool: Option<String>,
    },
}

/// Messages of the tables of this crate.
pub const CORE_REASONS: &[&[ReasonSpec]] = &[
    AccessReason::SPECS,
    AgentRefusal::SPECS,
    ArtifactRefusal::SPECS,
    BlackboardRule::SPECS,
    BoardRefusal::SPECS,
    CycleStep::SPECS,
    DecisionRefusal::SPECS,
    crate::timestamp::DurationProblem::SPECS,
    MessageRefusal::SPECS,
    NonStringValue::SPECS,
    RoleDifference::SPECS,
    SectionRefusal::SPECS,
    SocietyRefusal::SPECS,
    TaskFileProblem::SPECS,
    TaskRefusal::SPECS,
    TextField::SPECS,
    TokenRefusal::SPECS,
    WebhookRefusal::SPECS,
    WorkspaceRefusal::SPECS,
];

impl Refusal {
    /// Creates a refusal. Most are created from a variant of a table, which determines the code.
    pub fn new(code: RefusalCode, reason: Reason) -> Self {
        Self {
            code,
            reason,
            details: None,
        }
    }

    /// Adds structured data for programs.
    #[must_use]
    pub fn with_details(mut self, details: RefusalDetails) -> Self {
        self.details = Some(Box::new(details));
        self
    }
}
