//! The operations of polis.
//!
//! An operation loads what its rule needs through a port, lets `polis-core` decide, and commits.
//! Every surface (command line, MCP, HTTP, society) calls these functions, so a permission is
//! decided in one place. No SQL, no HTTP, no file system, no runtime here: those are ports.

mod claim_hints;
pub mod commit_hook;
pub mod error;
pub mod idempotency;
pub mod no_workspaces;
pub mod op;
pub mod polis;
pub mod port;
pub mod tool;

pub use commit_hook::{Alongside, AnswerOf};
pub use error::OpError;
pub use no_workspaces::NoWorkspaces;
pub use polis::{BoardSettings, Polis, Settings, SocietyRules};
pub use port::{Outcome, PortError, PortFuture, Receipt, Store};
