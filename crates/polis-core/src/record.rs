//! Records of the plain kinds: a name, a revision, a JSON body, and nothing a store must know more of.
//!
//! What they hold is the matter of the files that own each kind: [`crate::token`], [`crate::webhook`],
//! [`crate::artifact`], [`crate::society`], [`crate::session`]; replies belong to the operations.

use std::fmt;
use std::sync::Arc;

use crate::changeset::Receipt;

/// What kind of record it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum RecordKind {
    /// A token of an agent.
    Token,
    /// A key that a browser signs in with, once.
    SignIn,
    /// A place that events are sent to.
    Webhook,
    /// Something an agent handed over.
    Artifact,
    /// The answer to a request that may come again.
    Reply,
    /// A run of the society.
    Run,
    /// A role of a run.
    Role,
    /// Who a member of a run is.
    Member,
    /// How a member of a run stands.
    MemberState,
    /// A call that a person has to allow.
    Approval,
    /// Which worker has a run, and until when.
    Lease,
    /// A command that ended.
    Command,
    /// A command that runs.
    RunningCommand,
    /// What a command wrote.
    CommandOutput,
    /// A live process or connection that acts as an agent.
    Session,
    /// Which session claimed a task.
    TaskClaimant,
}

impl RecordKind {
    /// Every kind.
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

    /// The kind's name in a store.
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
    /// A record's name.
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
    /// What this makes of the receipt of the very commit that writes it. A store may ask several times
    /// while it tries; the last answer counts.
    OfReceipt(Arc<dyn Fn(&Receipt) -> String + Send + Sync>),
}

impl RecordBody {
    /// The text to write.
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
            // A body may be a secret's, and a log is not the place for it.
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

/// A record as a store has it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Stored {
    /// Its id within its kind.
    pub id: String,
    /// How often it was written.
    pub revision: u64,
    /// Its state.
    pub body: String,
}
