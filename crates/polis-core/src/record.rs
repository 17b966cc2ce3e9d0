//! Generic records: JSON documents with a name ([`RecordKind`] and id) and a revision, which the store does not
//! interpret. A body may be computed from the receipt of the commit that writes it ([`RecordBody`]).
//!
//! The modules that own a kind define its content: [`crate::token`], [`crate::webhook`], [`crate::artifact`],
//! [`crate::society`], [`crate::agent_session`]. Stored replies (idempotency keys) and the command history
//! belong to `polis-ops`, run leases to `polis-society`.

use std::fmt;
use std::sync::Arc;

use crate::changeset::Receipt;

/// Kind of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordKind {
    /// An agent's API token.
    Token,
    /// A one-time sign-in key for a browser.
    SignIn,
    /// A webhook with its filter and delivery position.
    Webhook,
    /// An artifact, which never changes.
    Artifact,
    /// The stored response to a request with an idempotency key.
    IdempotencyResponse,
    /// A run of the society.
    Run,
    /// A role of a run.
    SocietyRole,
    /// The identity of a member of a run.
    Member,
    /// The state of a member of a run.
    MemberState,
    /// A call that needs a person's approval.
    CallApproval,
    /// The lease of the worker that drives a run.
    RunLease,
    /// A command that ended.
    Command,
    /// A command that is still running.
    RunningCommand,
    /// The output of a command.
    CommandOutput,
    /// A live process or connection that acts as an agent.
    AgentSession,
    /// Which session claimed a task.
    TaskClaimant,
}

impl RecordKind {
    /// All kinds, in the order of their declaration.
    pub const ALL: [Self; 16] = [
        Self::Token,
        Self::SignIn,
        Self::Webhook,
        Self::Artifact,
        Self::IdempotencyResponse,
        Self::Run,
        Self::SocietyRole,
        Self::Member,
        Self::MemberState,
        Self::CallApproval,
        Self::RunLease,
        Self::Command,
        Self::RunningCommand,
        Self::CommandOutput,
        Self::AgentSession,
        Self::TaskClaimant,
    ];

    /// Returns the kind's name in a store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::SignIn => "sign-in",
            Self::Webhook => "webhook",
            Self::Artifact => "artifact",
            Self::IdempotencyResponse => "reply",
            Self::Run => "run",
            Self::SocietyRole => "role",
            Self::Member => "member",
            Self::MemberState => "member-state",
            Self::CallApproval => "approval",
            Self::RunLease => "lease",
            Self::Command => "command",
            Self::RunningCommand => "running-command",
            Self::CommandOutput => "command-output",
            Self::AgentSession => "session",
            Self::TaskClaimant => "task-claimant",
        }
    }
}

/// A record's name: unique within a store.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordName {
    /// Kind of the record.
    pub kind: RecordKind,
    /// Id of the record within its kind.
    pub id: String,
}

impl RecordName {
    /// Creates a record's name.
    pub fn new(kind: RecordKind, id: impl Into<String>) -> Self {
        Self {
            kind,
            id: id.into(),
        }
    }
}

/// A record's new state.
#[derive(Clone)]
pub enum RecordBody {
    /// Known when the changeset is created.
    Text(String),
    /// Computed from the receipt of the commit that writes it. A store may call the function several times
    /// while it retries; the last result is written.
    FromReceipt(Arc<dyn Fn(&Receipt) -> String + Send + Sync>),
}

impl RecordBody {
    /// Returns the text to write.
    pub fn to_text(&self, receipt: &Receipt) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::FromReceipt(make) => make(receipt),
        }
    }
}

impl fmt::Debug for RecordBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A body may contain a secret, which must not be written to a log.
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::FromReceipt(_) => f.write_str("FromReceipt"),
        }
    }
}

impl PartialEq for RecordBody {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::FromReceipt(a), Self::FromReceipt(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// A record as read from a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredRecord {
    /// Id of the record within its kind.
    pub id: String,
    /// Number of times it was written.
    pub revision: u64,
    /// Content of the record, as JSON.
    pub body: String,
}
