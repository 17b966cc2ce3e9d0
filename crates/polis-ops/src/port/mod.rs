//! What the operations need from outside: where changes go, where reads come from, the time.
//!
//! Object-safe, without default bodies: an adapter cannot inherit a wrong answer. Each sentence
//! that promises something has a test of its name in `polis_testkit::conformance`, run over every
//! store.

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

/// What a port's method answers, some time.
pub type PortFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, PortError>> + Send + 'a>>;

/// Everything a store offers.
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
