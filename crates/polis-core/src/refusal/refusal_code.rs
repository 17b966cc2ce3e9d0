//! Error codes: the type, and the table of the codes that several crates use.
//!
//! A code that only one surface has is declared in the crate of that surface, with [`refusal_codes`](crate::refusal_codes)
//! too. The doc comments are the descriptions in the reference; the titles that people see are in the message
//! catalogue.

use std::fmt;

use serde::Serialize;

/// Class of a refusal; it determines the exit code of the command line and the HTTP status.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
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

/// Code of a refusal or failure, for programs.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct RefusalCode(&'static CodeSpec);

/// What a code stands for.
#[derive(Debug, PartialEq, Eq, Hash)]
pub struct CodeSpec {
    /// The code as programs see it.
    pub name: &'static str,
    /// The class of the refusal.
    pub kind: RefusalKind,
    /// The meaning in a sentence.
    pub description: &'static str,
}

impl RefusalCode {
    /// Creates a code from its specification. Codes are declared in tables only.
    #[doc(hidden)]
    pub const fn from_spec(spec: &'static CodeSpec) -> Self {
        Self(spec)
    }

    /// Returns the code as programs see it.
    pub fn as_str(self) -> &'static str {
        self.0.name
    }

    /// Returns the class of the refusal.
    pub fn kind(self) -> RefusalKind {
        self.0.kind
    }

    /// Describes the meaning in a sentence.
    pub fn description(self) -> &'static str {
        self.0.description.trim_ascii()
    }
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

impl fmt::Debug for RefusalCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// Declares codes as constants of a type, with the list of all of them, `ALL`.
#[macro_export]
macro_rules! refusal_codes {
    ($owner:ident { $(#[doc = $description:literal] $name:ident = $text:literal, $kind:ident;)+ }) => {
        impl $owner {
            $(
                #[doc = $description]
                pub const $name: $crate::RefusalCode =
                    $crate::RefusalCode::from_spec(&$crate::refusal::CodeSpec {
                        name: $text,
                        kind: $crate::RefusalKind::$kind,
                        description: $description,
                    });
            )+

            /// All codes declared here, in the order of the reference.
            pub const ALL: &'static [$crate::RefusalCode] = &[$(Self::$name),+];

            /// Returns the code declared here that has this name.
            pub fn from_name(name: &str) -> Option<$crate::RefusalCode> {
                Self::ALL.iter().copied().find(|code| code.as_str() == name)
            }
        }
    };
}

refusal_codes! {
    RefusalCode {
        /// The arguments are not a valid request.
        INVALID_INPUT = "invalid_input", Invalid;
        /// Not a decimal task number.
        INVALID_TASK_ID = "invalid_task_id", Invalid;
        /// Not usable as an agent's name.
        INVALID_AGENT_ID = "invalid_agent_id", Invalid;
        /// Not a role of this installation.
        INVALID_ROLE = "invalid_role", Invalid;
        /// A task cannot require this role.
        INVALID_REQUIRED_ROLE = "invalid_required_role", Invalid;
        /// Not one of the task types.
        INVALID_TASK_TYPE = "invalid_task_type", Invalid;
        /// Not a task status.
        INVALID_STATUS = "invalid_status", Invalid;
        /// Empty, too long, or with control characters.
        INVALID_SUBJECT = "invalid_subject", Invalid;
        /// A text is too long or contains characters that cannot be stored.
        INVALID_TEXT = "invalid_text", Invalid;
        /// The metadata is not a JSON object, too large, or nested too deeply.
        INVALID_METADATA = "invalid_metadata", Invalid;
        /// A section's name or content would not be parsed back as it was given.
        INVALID_SECTION = "invalid_section", Invalid;
        /// Several sections have this name.
        AMBIGUOUS_SECTION = "ambiguous_section", Invalid;
        /// The supervisor is unknown, retired, or in a lower layer.
        INVALID_SUPERVISOR = "invalid_supervisor", Invalid;
        /// The configuration file is invalid.
        INVALID_CONFIG = "invalid_config", Invalid;
        /// Not the name of a board.
        INVALID_BOARD = "invalid_board", Invalid;
        /// Not a valid path on the blackboard.
        INVALID_PATH = "invalid_path", Invalid;
        /// The board would become larger than is allowed.
        BOARD_TOO_LARGE = "board_too_large", Invalid;
        /// The text is not UTF-8.
        NOT_UTF8 = "not_utf8", Invalid;
        /// The text cannot be run as a shell command.
        INVALID_COMMAND = "invalid_command", Invalid;
        /// Zero, negative, not a number, or longer than is allowed.
        INVALID_TIMEOUT = "invalid_timeout", Invalid;
        /// Not a valid search pattern.
        INVALID_PATTERN = "invalid_pattern", Invalid;
        /// The directory cannot be a workspace.
        INVALID_WORKSPACE = "invalid_workspace", Invalid;
        /// A directory was expected, but the path is something else.
        NOT_A_DIRECTORY = "not_a_directory", Invalid;
        /// A file was expected, but the path is a directory.
        IS_A_DIRECTORY = "is_a_directory", Invalid;
        /// The file is larger than is allowed.
        FILE_TOO_LARGE = "file_too_large", Invalid;
        /// The file is not text in UTF-8.
        NOT_TEXT = "not_text", Invalid;
        /// Not a valid token scope.
        INVALID_SCOPE = "invalid_scope", Invalid;
        /// Not a valid webhook URL or event filter.
        INVALID_WEBHOOK = "invalid_webhook", Invalid;
        /// The message is empty, too long or nested too deeply.
        INVALID_MESSAGE = "invalid_message", Invalid;
        /// The artifact is invalid, too large or nested too deeply.
        INVALID_ARTIFACT = "invalid_artifact", Invalid;
        /// The idempotency key was used for another request.
        IDEMPOTENCY_KEY_REUSED = "idempotency_key_reused", Invalid;
        /// The request is larger than is allowed.
        REQUEST_TOO_LARGE = "request_too_large", Invalid;
        /// A strict import found errors in the files.
        IMPORT_FAULTS = "import_faults", Invalid;
        /// No token, or an invalid one.
        UNAUTHORIZED = "unauthorized", Forbidden;
        /// The token is valid, but its scope does not cover the request.
        INSUFFICIENT_SCOPE = "insufficient_scope", Forbidden;
        /// The request's `Origin` or `Host` header is not allowed.
        ORIGIN_FORBIDDEN = "origin_forbidden", Forbidden;
        /// The caller may not do this.
        PERMISSION_DENIED = "permission_denied", Forbidden;
        /// The path leads out of the workspace.
        PATH_TRAVERSAL_BLOCKED = "path_traversal_blocked", Forbidden;
        /// The command is on the block list.
        COMMAND_BLOCKED = "command_blocked", Forbidden;
        /// This system cannot provide the required sandbox tier.
        SANDBOX_UNAVAILABLE = "sandbox_unavailable", Forbidden;
        /// The new owner's role is not the required one.
        ROLE_MISMATCH = "role_mismatch", Forbidden;
        /// Only the team lead may use `forceAssign`.
        FORCE_ASSIGN_FORBIDDEN = "force_assign_forbidden", Forbidden;
        /// This type of task is completed only after approval.
        APPROVAL_REQUIRED = "approval_required", Forbidden;
        /// The caller is not a signer of the decision.
        NOT_A_SIGNER = "not_a_signer", Forbidden;
        /// No such task.
        TASK_NOT_FOUND = "task_not_found", NotFound;
        /// No such comment.
        COMMENT_NOT_FOUND = "comment_not_found", NotFound;
        /// No such section.
        SECTION_NOT_FOUND = "section_not_found", NotFound;
        /// No such agent.
        AGENT_NOT_FOUND = "agent_not_found", NotFound;
        /// No such run of the society.
        RUN_NOT_FOUND = "run_not_found", NotFound;
        /// No such role in this run.
        ROLE_NOT_FOUND = "role_not_found", NotFound;
        /// No such call approval.
        APPROVAL_NOT_FOUND = "approval_not_found", NotFound;
        /// The run has a role with this name that differs from the requested one.
        ROLE_EXISTS = "role_exists", Conflict;
        /// Hiring another agent would exceed a limit of the run.
        HIRE_LIMIT = "hire_limit", Conflict;
        /// Only an agent's superiors may dismiss, redirect or inspect it.
        NOT_DESCENDANT = "not_descendant", Forbidden;
        /// A budget is used up.
        BUDGET_EXHAUSTED = "budget_exhausted", Conflict;
        /// The brief or the role is incomplete or invalid.
        INVALID_BRIEF = "invalid_brief", Invalid;
        /// No such tool.
        TOOL_NOT_FOUND = "tool_not_found", NotFound;
        /// There is nothing at this address.
        ROUTE_NOT_FOUND = "route_not_found", NotFound;
        /// No agent with this name or role can receive messages.
        RECIPIENT_NOT_FOUND = "recipient_not_found", NotFound;
        /// No such message in the mailbox.
        MESSAGE_NOT_FOUND = "message_not_found", NotFound;
        /// No such artifact.
        ARTIFACT_NOT_FOUND = "artifact_not_found", NotFound;
        /// No such command in the history.
        COMMAND_NOT_FOUND = "command_not_found", NotFound;
        /// No such token.
        TOKEN_NOT_FOUND = "token_not_found", NotFound;
        /// No such webhook.
        WEBHOOK_NOT_FOUND = "webhook_not_found", NotFound;
        /// No such decision on the board.
        DECISION_NOT_FOUND = "decision_not_found", NotFound;
        /// No such milestone on the board.
        MILESTONE_NOT_FOUND = "milestone_not_found", NotFound;
        /// No polis project in this directory or above it.
        NOT_INITIALIZED = "not_initialized", NotFound;
        /// No task that the caller could claim.
        NOTHING_TO_CLAIM = "nothing_to_claim", NotFound;
        /// The agent has no workspace.
        WORKSPACE_NOT_ASSIGNED = "workspace_not_assigned", NotFound;
        /// The text to replace is not in the file.
        TEXT_NOT_FOUND = "text_not_found", NotFound;
        /// No such file.
        FILE_NOT_FOUND = "file_not_found", NotFound;
        /// The history does not contain this version, or no longer contains it.
        VERSION_NOT_FOUND = "version_not_found", NotFound;
        /// The board changed since the caller read it.
        VERSION_CONFLICT = "version_conflict", Conflict;
        /// Replacing the text of a board needs the version that the caller read.
        VERSION_REQUIRED = "version_required", Conflict;
        /// The lock has expired, or was released or taken over.
        LOCK_LOST = "lock_lost", Conflict;
        /// The file changed since the caller read it.
        HASH_MISMATCH = "hash_mismatch", Conflict;
        /// The text to replace is in the file more than once.
        TEXT_NOT_UNIQUE = "text_not_unique", Conflict;
        /// A file with this name exists.
        FILE_EXISTS = "file_exists", Conflict;
        /// The directory is not empty.
        DIRECTORY_NOT_EMPTY = "directory_not_empty", Conflict;
        /// The directory overlaps another workspace, or polis's own data.
        WORKSPACE_OVERLAPS = "workspace_overlaps", Conflict;
        /// The workspace is already in use; rebinding it would abandon its files.
        WORKSPACE_EXISTS = "workspace_exists", Conflict;
        /// The storage quota of the workspace is used up.
        QUOTA_EXCEEDED = "quota_exceeded", Conflict;
        /// A regular file was expected, but the path is a link, a pipe or a device.
        NOT_A_FILE = "not_a_file", Conflict;
        /// The task changed since the caller read it.
        VERSION_MISMATCH = "version_mismatch", Conflict;
        /// The state machine does not allow this transition.
        INVALID_TRANSITION = "invalid_transition", Conflict;
        /// The task or run is not in a state that allows this.
        WRONG_STATE = "wrong_state", Conflict;
        /// Tasks it depends on are not completed.
        TASK_BLOCKED = "task_blocked", Conflict;
        /// The dependency would close a cycle.
        DEPENDENCY_CYCLE = "dependency_cycle", Conflict;
        /// Another agent holds the task.
        ALREADY_CLAIMED = "already_claimed", Conflict;
        /// Another live session of the same agent holds the task.
        HELD_BY_OTHER_SESSION = "held_by_other_session", Conflict;
        /// The caller does not hold the task.
        NOT_OWNER = "not_owner", Conflict;
        /// The name is already used.
        AGENT_EXISTS = "agent_exists", Conflict;
        /// The agent still owns tasks, supervises agents or belongs to a run.
        AGENT_IN_USE = "agent_in_use", Conflict;
        /// An earlier request with this idempotency key is unfinished or was interrupted; its outcome is unknown.
        OUTCOME_UNKNOWN = "outcome_unknown", Conflict;
        /// Too many requests with this token.
        RATE_LIMITED = "rate_limited", Busy;
        /// Another agent holds the lock of the board.
        BOARD_LOCKED = "board_locked", Busy;
        /// Another process holds a lock on the file.
        FILE_BUSY = "file_busy", Busy;
        /// The command's timeout expired, and it was terminated.
        COMMAND_TIMEOUT = "command_timeout", Busy;
        /// The decision is not in a state that allows this vote.
        DECISION_CLOSED = "decision_closed", Conflict;
        /// The board has a milestone with this title.
        MILESTONE_EXISTS = "milestone_exists", Conflict;
        /// The store stayed locked until the deadline.
        STORE_BUSY = "store_busy", Busy;
        /// The file could not be read.
        READ_FAILED = "read_failed", Internal;
        /// The file could not be written.
        WRITE_FAILED = "write_failed", Internal;
        /// The command could not be run.
        COMMAND_FAILED = "command_failed", Internal;
        /// The store cannot be reached.
        STORE_UNAVAILABLE = "store_unavailable", Internal;
        /// The connection broke during a commit; the outcome is unknown.
        COMMIT_UNKNOWN = "commit_unknown", Internal;
        /// The store is read-only.
        STORE_READ_ONLY = "store_read_only", Forbidden;
        /// The disk is full.
        STORE_FULL = "store_full", Internal;
        /// The store's files are damaged.
        STORE_CORRUPT = "store_corrupt", Internal;
        /// The store was written by a newer polis.
        STORE_TOO_NEW = "store_too_new", Conflict;
        /// Any other internal error.
        INTERNAL = "internal", Internal;
    }
}
