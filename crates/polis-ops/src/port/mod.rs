//! Ports: the interfaces that operations need from outside, implemented by adapters. They cover the store
//! ([`Store`]: one write port and several read ports), workspace files, task files for import and export, the
//! sandboxed terminal, processes, randomness and time.
//!
//! The traits are object-safe and have no default bodies, so an adapter cannot inherit a wrong result. The
//! guarantees of the store ports are tested by `polis_testkit::conformance` against every store; the crash
//! tests of the stores add those that need a killed process.

mod clock;
mod error;
mod files;
mod processes;
mod random;
mod store;
mod task_files;
mod terminal;

use std::pin::Pin;

pub use clock::Clock;
pub use error::PortError;
pub use files::{WorkspaceFileAccess, WorkspaceLocation};
pub use processes::ProcessInspector;
pub use random::RandomSource;
pub use store::{
    AgentReader, BoardFileChange, BoardFileGuard, BoardReader, BoardState, BoardText,
    CandidateQuery, ChangesetSource, CommentQuery, CommitOutcome, EventLogQuery, EventLogReader,
    Ledger, MailboxKey, MailboxQuery, MessageReader, PersonMailQuery, Receipt, RecordReader,
    StatusCounts, StoredTurn, TaskQuery, TaskReader, TurnReader, WorkspaceReader,
};
pub use task_files::{TaskFile, TaskFileSink, TaskFiles};
pub use terminal::{
    OutputWatcher, SandboxLayer, SandboxLayerDetail, SandboxReport, SandboxedTerminal,
};

/// Future returned by a port's method.
pub type PortFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, PortError>> + Send + 'a>>;

/// All store ports together.
pub trait Store:
    Ledger
    + TaskReader
    + AgentReader
    + WorkspaceReader
    + BoardReader
    + RecordReader
    + MessageReader
    + TurnReader
    + EventLogReader
    + Send
    + Sync
    + std::fmt::Debug
{
}

impl<T> Store for T where
    T: Ledger
        + TaskReader
        + AgentReader
        + WorkspaceReader
        + BoardReader
        + RecordReader
        + MessageReader
        + TurnReader
        + EventLogReader
        + Send
        + Sync
        + std::fmt::Debug
{
}
