//! Ports: the interfaces that operations need from outside, implemented by adapters. They cover the store (one write
//! port and several read ports), workspace files, the sandboxed terminal, processes, randomness and time.
//!
//! The traits are object-safe and have no default bodies, so an adapter cannot inherit a wrong result. Each guarantee
//! in the documentation has a test with its name in `polis_testkit::conformance`, which runs against every store.

mod agents;
mod boards;
mod clock;
mod error;
mod events;
mod files;
mod ledger;
mod messages;
mod processes;
mod random;
mod records;
mod task_files;
mod tasks;
mod terminal;
mod turns;
mod workspaces;

use std::pin::Pin;

pub use agents::Agents;
pub use boards::{BoardState, BoardText, Boards, Held, Noticed};
pub use clock::Clock;
pub use error::PortError;
pub use events::{EventQuery, Events};
pub use files::{Files, Site};
pub use ledger::{ChangesetSource, Ledger, Outcome, Receipt};
pub use messages::{Mailbox, MailboxQuery, Messages, PersonMailQuery};
pub use processes::Processes;
pub use random::Chance;
pub use records::Records;
pub use task_files::{TaskFile, TaskFileSink, TaskFiles};
pub use tasks::{CandidateQuery, CommentQuery, StatusCounts, TaskQuery, Tasks};
pub use terminal::{CommandOrder, OutputWatcher, SandboxLayer, SandboxReport, Stream, Terminal};
pub use turns::{StoredTurn, Turns};
pub use workspaces::Workspaces;

/// Future returned by a port's method.
pub type PortFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, PortError>> + Send + 'a>>;

/// All store ports together.
pub trait Store:
    Ledger
    + Tasks
    + Agents
    + Workspaces
    + Boards
    + Records
    + Messages
    + Turns
    + Events
    + Send
    + Sync
    + std::fmt::Debug
{
}

impl<T> Store for T where
    T: Ledger
        + Tasks
        + Agents
        + Workspaces
        + Boards
        + Records
        + Messages
        + Turns
        + Events
        + Send
        + Sync
        + std::fmt::Debug
{
}
