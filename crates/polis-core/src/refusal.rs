//! Refusals: typed errors that a rule returns instead of a change.
//!
//! The code is for programs and is the same on every surface. The message is the sentence given by the source
//! documents; the hint names the next step. Surfaces only translate the [`Kind`] (to an exit code or an HTTP
//! status).

use std::fmt;

use serde::Serialize;

use crate::time::Timestamp;
use crate::workspace::policy::Tier;

/// Class of a refusal; it determines the exit code of the command line and the HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
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
        pub enum Code { $(#[doc = $about] $name,)+ }

        impl Code {
            /// All codes, in the order of the reference.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// Returns the code as programs see it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// Returns the class of the refusal.
            pub fn kind(self) -> Kind {
                match self { $(Self::$name => Kind::$kind,)+ }
            }

            /// Describes the meaning in a sentence.
            pub fn about(self) -> &'static str {
                match self { $(Self::$name => $about.trim_ascii(),)+ }
            }
        }
    };
}

codes! {
    /// The arguments do not form a request.
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
    /// A text is too long or has characters that cannot be kept.
    InvalidText = "invalid_text", Invalid;
    /// Not a JSON object, too large, or too deep.
    InvalidMetadata = "invalid_metadata", Invalid;
    /// A section's name or content would not read back as it was given.
    InvalidSection = "invalid_section", Invalid;
    /// Several sections have this name.
    AmbiguousSection = "ambiguous_section", Invalid;
    /// The agent's place in the tree makes no sense.
    InvalidSupervisor = "invalid_supervisor", Invalid;
    /// The configuration file has a fault.
    InvalidConfig = "invalid_config", Invalid;
    /// The permissions file has a fault.
    InvalidRbac = "invalid_rbac", Invalid;
    /// Not the name of a board.
    InvalidBoard = "invalid_board", Invalid;
    /// Not a path of the blackboard.
    InvalidPath = "invalid_path", Invalid;
    /// The board would become larger than is allowed.
    BoardTooLarge = "board_too_large", Invalid;
    /// The text is not UTF-8.
    NotUtf8 = "not_utf8", Invalid;
    /// The text is not a line of shell that can be run.
    InvalidCommand = "invalid_command", Invalid;
    /// Zero, negative, not a number, or longer than is allowed.
    InvalidTimeout = "invalid_timeout", Invalid;
    /// Not a pattern that can be searched for.
    InvalidPattern = "invalid_pattern", Invalid;
    /// Not a directory that can be a workspace.
    InvalidWorkspace = "invalid_workspace", Invalid;
    /// A file or something else is where a directory was expected.
    NotADirectory = "not_a_directory", Invalid;
    /// A directory is where a file was expected.
    IsADirectory = "is_a_directory", Invalid;
    /// The file is larger than is allowed.
    FileTooLarge = "file_too_large", Invalid;
    /// The file is not text in UTF-8.
    NotText = "not_text", Invalid;
    /// Not a scope of a token.
    InvalidScope = "invalid_scope", Invalid;
    /// Not an address that events can be sent to.
    InvalidWebhook = "invalid_webhook", Invalid;
    /// Not a message that can be sent.
    InvalidMessage = "invalid_message", Invalid;
    /// Not an artifact that can be kept.
    InvalidArtifact = "invalid_artifact", Invalid;
    /// The key was used for another request.
    IdempotencyKeyReused = "idempotency_key_reused", Invalid;
    /// The request is larger than is allowed.
    RequestTooLarge = "request_too_large", Invalid;
    /// The request's content is not of a type that is understood here.
    UnsupportedMediaType = "unsupported_media_type", Invalid;
    /// The address does not take this method.
    MethodNotAllowed = "method_not_allowed", Invalid;
    /// A strict import found faults.
    ImportFaults = "import_faults", Invalid;
    /// No token, or not one that counts.
    Unauthorized = "unauthorized", Forbidden;
    /// The token is good, but not for this.
    InsufficientScope = "insufficient_scope", Forbidden;
    /// The request comes from a page or a name that is not ours.
    OriginForbidden = "origin_forbidden", Forbidden;
    /// The caller may not do this.
    PermissionDenied = "permission_denied", Forbidden;
    /// The path leads out of the workspace.
    PathTraversalBlocked = "path_traversal_blocked", Forbidden;
    /// The command is on the list of dangerous ones.
    CommandBlocked = "command_blocked", Forbidden;
    /// This system cannot confine commands as strongly as is required.
    SandboxUnavailable = "sandbox_unavailable", Forbidden;
    /// The project was not created by this user on this machine, or lies in an agent's workspace.
    NotTrusted = "not_trusted", Forbidden;
    /// The new owner's role is not the required one.
    RoleMismatch = "role_mismatch", Forbidden;
    /// `forceAssign` by someone else than the team lead.
    ForceAssignForbidden = "force_assign_forbidden", Forbidden;
    /// This type of task is completed only after approval.
    ApprovalRequired = "approval_required", Forbidden;
    /// The caller is not among those who sign.
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
    /// No such team of roles.
    TeamNotFound = "team_not_found", NotFound;
    /// No model is configured, or not the one that was named.
    ModelNotConfigured = "model_not_configured", Invalid;
    /// No such call waits to be allowed.
    ApprovalNotFound = "approval_not_found", NotFound;
    /// The run has a role of this name that differs from the requested one.
    RoleExists = "role_exists", Conflict;
    /// Hiring another agent would go beyond a limit of the run.
    HireLimit = "hire_limit", Conflict;
    /// Only those above an agent may dismiss it, redirect it or look into it.
    NotDescendant = "not_descendant", Forbidden;
    /// A budget is used up.
    BudgetExhausted = "budget_exhausted", Conflict;
    /// The brief or the role lacks something it must say.
    InvalidBrief = "invalid_brief", Invalid;
    /// The same call with the same arguments came to the same again and again.
    RepeatedCall = "repeated_call", Conflict;
    /// The process ended while the call was carried out; nobody knows how far it came.
    CallInterrupted = "call_interrupted", Conflict;
    /// A person did not allow the call.
    CallDenied = "call_denied", Forbidden;
    /// No such tool.
    ToolNotFound = "tool_not_found", NotFound;
    /// There is nothing at this address.
    RouteNotFound = "route_not_found", NotFound;
    /// Nobody of this name or role can get messages.
    RecipientNotFound = "recipient_not_found", NotFound;
    /// No such message in the mailbox.
    MessageNotFound = "message_not_found", NotFound;
    /// No such artifact.
    ArtifactNotFound = "artifact_not_found", NotFound;
    /// No such command is remembered.
    CommandNotFound = "command_not_found", NotFound;
    /// No such token.
    TokenNotFound = "token_not_found", NotFound;
    /// No such webhook.
    WebhookNotFound = "webhook_not_found", NotFound;
    /// No such decision on the board.
    DecisionNotFound = "decision_not_found", NotFound;
    /// No such milestone on the board.
    MilestoneNotFound = "milestone_not_found", NotFound;
    /// No polis directory here or above.
    NotInitialized = "not_initialized", NotFound;
    /// Nothing the caller could claim.
    NothingToClaim = "nothing_to_claim", NotFound;
    /// The agent has no workspace.
    WorkspaceNotAssigned = "workspace_not_assigned", NotFound;
    /// The text to replace is not in the file.
    TextNotFound = "text_not_found", NotFound;
    /// No such file.
    FileNotFound = "file_not_found", NotFound;
    /// History does not have this version, or not any more.
    VersionNotFound = "version_not_found", NotFound;
    /// The board changed since the caller read it.
    VersionConflict = "version_conflict", Conflict;
    /// The board has text, and replacing it needs the version that the caller read.
    VersionRequired = "version_required", Conflict;
    /// The lock ended, and was given back or taken over.
    LockLost = "lock_lost", Conflict;
    /// The file changed since the caller read it.
    HashMismatch = "hash_mismatch", Conflict;
    /// The text to replace is in the file more than once.
    TextNotUnique = "text_not_unique", Conflict;
    /// There is a file of this name.
    FileExists = "file_exists", Conflict;
    /// The directory is not empty.
    DirectoryNotEmpty = "directory_not_empty", Conflict;
    /// The directory overlaps another workspace, or polis's own data.
    WorkspaceOverlaps = "workspace_overlaps", Conflict;
    /// The workspace is elsewhere already, and would leave its files behind.
    WorkspaceExists = "workspace_exists", Conflict;
    /// The workspace holds as much as it may.
    QuotaExceeded = "quota_exceeded", Conflict;
    /// Something that is not a file is where a file was expected, such as a link or a pipe.
    NotAFile = "not_a_file", Conflict;
    /// The task changed since the caller read it.
    VersionMismatch = "version_mismatch", Conflict;
    /// The state machine has no such step.
    InvalidTransition = "invalid_transition", Conflict;
    /// The task or run is not in a state in which this can be done to it.
    WrongState = "wrong_state", Conflict;
    /// Tasks it depends on are not completed.
    TaskBlocked = "task_blocked", Conflict;
    /// The dependency would close a circle.
    DependencyCycle = "dependency_cycle", Conflict;
    /// Another agent holds the task.
    AlreadyClaimed = "already_claimed", Conflict;
    /// Another live session of the same agent holds the task.
    HeldByOtherSession = "held_by_other_session", Conflict;
    /// The caller does not hold the task.
    NotOwner = "not_owner", Conflict;
    /// The name is taken.
    AgentExists = "agent_exists", Conflict;
    /// The agent is still needed.
    AgentInUse = "agent_in_use", Conflict;
    /// An earlier request with this key is not finished, or was cut off; what it did is not known.
    OutcomeUnknown = "outcome_unknown", Conflict;
    /// Too many requests with this token.
    RateLimited = "rate_limited", Busy;
    /// The request took too long to arrive or to be carried out.
    RequestTimeout = "request_timeout", Busy;
    /// Somebody else has the board locked.
    BoardLocked = "board_locked", Busy;
    /// Somebody else holds the file locked.
    FileBusy = "file_busy", Busy;
    /// The command's time was up, and it was ended.
    CommandTimeout = "command_timeout", Busy;
    /// The decision is not in a state in which this can be done to it.
    DecisionClosed = "decision_closed", Conflict;
    /// The board has a milestone of this title.
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
    /// The connection broke while committing and the outcome could not be learned.
    CommitUnknown = "commit_unknown", Internal;
    /// The store cannot be written.
    StoreReadOnly = "store_read_only", Forbidden;
    /// The disk is full.
    StoreFull = "store_full", Internal;
    /// The store's files are damaged.
    StoreCorrupt = "store_corrupt", Internal;
    /// The store was written by a newer polis.
    StoreTooNew = "store_too_new", Conflict;
    /// Anything else that failed inside.
    Internal = "internal", Internal;
}

impl Serialize for Code {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.as_str())
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Why a request was refused. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Refusal {
    /// For programs.
    pub code: Code,
    /// For people: what is wrong.
    pub message: String,
    /// For people: what to do next.
    pub hint: String,
    /// Structured data for programs.
    #[serde(flatten, skip_serializing_if = "Option::is_none")]
    pub details: Option<Box<Details>>,
}

/// Structured data of a refusal, in addition to its message.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
#[serde(untagged)]
pub enum Details {
    /// A board is at another version.
    #[serde(rename_all = "camelCase")]
    Version {
        /// The current version.
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
        /// The reason, as given in the source documents.
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
        /// Always true.
        timed_out: bool,
        /// The timeout.
        timeout_ms: u64,
        /// Its standard output up to then.
        stdout: String,
        /// Its standard error up to then.
        stderr: String,
        /// How long it ran.
        duration_ms: u64,
        /// How strongly it was sandboxed.
        sandbox: Tier,
        /// Whether some of the output was omitted.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        truncated: bool,
        /// The file with the complete output, below `$POLIS_OUTPUT`.
        #[serde(skip_serializing_if = "Option::is_none")]
        spool: Option<String>,
    },
}

impl Refusal {
    /// Creates a refusal with its message and hint.
    pub fn new(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: hint.into(),
            details: None,
        }
    }

    /// Adds structured data for programs.
    #[must_use]
    pub fn with(mut self, details: Details) -> Self {
        self.details = Some(Box::new(details));
        self
    }
}
