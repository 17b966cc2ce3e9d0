//! Refusals: typed errors that a rule returns instead of a change.
//!
//! The [`RefusalCode`] is for programs and is the same on every surface; internal failures have codes too.
//! The [`Reason`] is the sentence as data: the id of a message and its arguments. Its texts, the sentence and
//! the next step, are in the message catalogue in every language and for every surface, and only surfaces
//! render them. Surfaces also translate the [`RefusalKind`] (to an exit code or an HTTP status).
//!
//! Each area declares its refusals in a table ([`refusal_table`](crate::refusal_table)).

mod agent;
mod artifact;
mod board;
mod decision;
mod message;
mod non_string_value;
mod reason;
mod refusal_code;
mod section;
mod society;
mod task;
mod task_file;
mod token;
mod webhook;
mod workspace;

use serde::Serialize;

pub use agent::AgentRefusal;
pub use artifact::ArtifactRefusal;
pub use board::{AccessReason, BlackboardRule, BoardRefusal};
pub use decision::DecisionRefusal;
pub use message::MessageRefusal;
pub use non_string_value::NonStringValue;
pub use reason::{ListArg, ListStyle, Reason, ReasonArg, ReasonSpec};
pub use refusal_code::{CodeSpec, RefusalCode, RefusalKind};
pub use section::SectionRefusal;
pub use society::{RoleDifference, SocietyRefusal};
pub use task::{CycleStep, TaskRefusal, TextField};
pub use task_file::TaskFileProblem;
pub use token::TokenRefusal;
pub use webhook::WebhookRefusal;
pub use workspace::WorkspaceRefusal;

use crate::timestamp::Timestamp;
use crate::workspace::command_policy::SandboxTier;

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
