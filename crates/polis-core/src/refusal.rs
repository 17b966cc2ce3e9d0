//! A refusal: what a rule answers instead of a change.
//!
//! The code is for programs and is the same on every surface; the message is the sentence the
//! source documents give; the hint names the next step. Surfaces only translate the [`Kind`].

use std::fmt;

use serde::Serialize;

/// What class of refusal it is; the command line's exit code and HTTP's status follow from it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Something inside failed.
    Internal,
    /// The request itself is wrong.
    Invalid,
    /// The caller may not.
    Forbidden,
    /// The thing is not there.
    NotFound,
    /// The thing is not in the state the request needs.
    Conflict,
    /// Somebody else holds it, or time ran out.
    Busy,
}

macro_rules! codes {
    ($(#[doc = $about:literal] $name:ident = $text:literal, $kind:ident;)+) => {
        /// Every refusal and failure there is, by its code.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
        pub enum Code { $(#[doc = $about] $name,)+ }

        impl Code {
            /// All codes, in the order of the reference.
            pub const ALL: &[Self] = &[$(Self::$name,)+];

            /// The code as programs see it.
            pub fn as_str(self) -> &'static str {
                match self { $(Self::$name => $text,)+ }
            }

            /// What class of refusal it is.
            pub fn kind(self) -> Kind {
                match self { $(Self::$name => Kind::$kind,)+ }
            }

            /// What it means, in a sentence.
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
    /// The agent's place in the tree makes no sense.
    InvalidSupervisor = "invalid_supervisor", Invalid;
    /// The configuration file has a fault.
    InvalidConfig = "invalid_config", Invalid;
    /// The permissions file has a fault.
    InvalidRbac = "invalid_rbac", Invalid;
    /// A strict import found faults.
    ImportFaults = "import_faults", Invalid;
    /// The caller may not do this.
    PermissionDenied = "permission_denied", Forbidden;
    /// The new owner's role is not the required one.
    RoleMismatch = "role_mismatch", Forbidden;
    /// `forceAssign` by someone else than the team lead.
    ForceAssignForbidden = "force_assign_forbidden", Forbidden;
    /// This type of task is completed only after approval.
    ApprovalRequired = "approval_required", Forbidden;
    /// No such task.
    TaskNotFound = "task_not_found", NotFound;
    /// No such comment.
    CommentNotFound = "comment_not_found", NotFound;
    /// No such agent.
    AgentNotFound = "agent_not_found", NotFound;
    /// No polis directory here or above.
    NotInitialized = "not_initialized", NotFound;
    /// Nothing the caller could claim.
    NothingToClaim = "nothing_to_claim", NotFound;
    /// The task changed since the caller read it.
    VersionMismatch = "version_mismatch", Conflict;
    /// The state machine has no such step.
    InvalidTransition = "invalid_transition", Conflict;
    /// The task is not in a state in which this can be done to it.
    WrongState = "wrong_state", Conflict;
    /// Tasks it depends on are not completed.
    TaskBlocked = "task_blocked", Conflict;
    /// The dependency would close a circle.
    DependencyCycle = "dependency_cycle", Conflict;
    /// Another agent holds the task.
    AlreadyClaimed = "already_claimed", Conflict;
    /// The caller does not hold the task.
    NotOwner = "not_owner", Conflict;
    /// The name is taken.
    AgentExists = "agent_exists", Conflict;
    /// The agent is still needed.
    AgentInUse = "agent_in_use", Conflict;
    /// The store stayed locked until the deadline.
    StoreBusy = "store_busy", Busy;
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

/// Why a request was not carried out. Nothing was changed.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, thiserror::Error)]
#[error("{message}")]
pub struct Refusal {
    /// For programs.
    pub code: Code,
    /// For people: what is wrong.
    pub message: String,
    /// For people: what to do next.
    pub hint: String,
}

impl Refusal {
    /// A refusal with its sentence and next step.
    pub fn new(code: Code, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            hint: hint.into(),
        }
    }
}
