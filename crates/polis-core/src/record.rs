//! Generic records: a name, a revision and a JSON body that the store does not interpret.
//!
//! The modules that own a kind define its content: [`crate::token`], [`crate::webhook`], [`crate::artifact`],
//! [`crate::society`], [`crate::session`]. Stored replies (idempotency keys) belong to the operations.

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
    /// A webhook.
    Webhook,
    /// An artifact.
    Artifact,
    /// The stored response to a request with an idempotency key.
    Reply,
    /// A run of the society.
    Run,
    /// A role of a run.
    Role,
    /// The identity of a member of a run.
    Member,
    /// The state of a member of a run.
    MemberState,
    /// A call that needs a person's approval.
    Approval,
    /// The lease of the worker that drives a run.
    Lease,
    /// A command that ended.
    Command,
    /// A running command.
    RunningCommand,
    /// The output of a command.
    CommandOutput,
    /// A live process or connection that acts as an agent.
    Session,
    /// Which session claimed a task.
    TaskClaimant,
}

impl RecordKind {
    /// All kinds.
    pub const ALL: [Self; 16] = [
        Self::Token,
        Self::SignIn,
        Self::Webhook,
        Self::Artifact,
        Self::Reply,
        Self::Run,
        Self::Role,
        Self::Member,
        Self::MemberState,
        Self::Approval,
        Self::Lease,
        Self::Command,
        Self::RunningCommand,
        Self::CommandOutput,
        Self::Session,
        Self::TaskClaimant,
    ];

    /// Returns the kind's name in a store.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Token => "token",
            Self::SignIn => "sign-in",
            Self::Webhook => "webhook",
            Self::Artifact => "artifact",
            Self::Reply => "reply",
            Self::Run => "run",
            Self::Role => "role",
            Self::Member => "member",
            Self::MemberState => "member-state",
            Self::Approval => "approval",
            Self::Lease => "lease",
            Self::Command => "command",
            Self::RunningCommand => "running-command",
            Self::CommandOutput => "command-output",
            Self::Session => "session",
            Self::TaskClaimant => "task-claimant",
        }
    }
}

/// A record's name.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordName {
    /// Its kind.
    pub kind: RecordKind,
    /// Its id within its kind.
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
    /// This text.
    Text(String),
    /// Computed from the receipt of the commit that writes it. A store may call the function several times
    /// while it retries; the last result is written.
    OfReceipt(Arc<dyn Fn(&Receipt) -> String + Send + Sync>),
}

impl RecordBody {
    /// Returns the text to write.
    pub fn text(&self, receipt: &Receipt) -> String {
        match self {
            Self::Text(text) => text.clone(),
            Self::OfReceipt(make) => make(receipt),
        }
    }
}

impl fmt::Debug for RecordBody {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            // A body may contain a secret, which must not be written to a log.
            Self::Text(text) => write!(f, "Text({} bytes)", text.len()),
            Self::OfReceipt(_) => f.write_str("OfReceipt"),
        }
    }
}

impl PartialEq for RecordBody {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(a), Self::Text(b)) => a == b,
            (Self::OfReceipt(a), Self::OfReceipt(b)) => Arc::ptr_eq(a, b),
            _ => false,
        }
    }
}

/// A record as read from a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its id within its kind.
    pub id: String,
    /// Number of times it was written.
    pub revision: u64,
    /// Its content, as JSON.
    pub body: String,
}
