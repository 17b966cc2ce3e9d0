//! The operations of polis (application layer).
//!
//! An operation loads the data that its rule needs through a port, calls a decision function of `polis-core`, and
//! commits the resulting changes. Every surface (command line, MCP, HTTP, society) calls these functions, so
//! permissions are checked in one place. This crate contains no SQL, HTTP, file system access or runtime: those are
//! ports.

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
