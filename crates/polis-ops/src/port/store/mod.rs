//! Ports of the store: the ledger, which is the only write port, and a read port for each kind of data.
//!
//! A method of a read port fails only if the store does, for example with `store_unavailable` or `store_corrupt`;
//! [`BoardReader::board`] also fails if the file of a board is unusable.

mod agents;
mod boards;
mod events;
mod ledger;
mod messages;
mod records;
mod tasks;
mod turns;
mod workspaces;

pub use agents::AgentReader;
pub use boards::{BoardFileChange, BoardFileGuard, BoardReader, BoardState, BoardText};
pub use events::{EventLogQuery, EventLogReader};
pub use ledger::{ChangesetSource, CommitOutcome, Ledger, Receipt};
pub use messages::{MailboxKey, MailboxQuery, MessageReader, PersonMailQuery};
pub use records::RecordReader;
pub use tasks::{CandidateQuery, CommentQuery, StatusCounts, TaskQuery, TaskReader};
pub use turns::{StoredTurn, TurnReader};
pub use workspaces::WorkspaceReader;
