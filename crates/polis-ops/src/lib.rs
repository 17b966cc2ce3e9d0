//! Application layer of polis: the operations ([`op`]), the ports they need ([`port`]) and the tool registry
//! ([`tool`]).
//!
//! An operation loads the data that its rule needs through a port, calls a decision function of `polis-core`,
//! and commits the resulting changes. Every surface (command line, MCP, HTTP, society) calls these functions,
//! so permissions are checked in one place. This crate contains no SQL, HTTP, file system access or runtime:
//! those are ports.

pub mod app;
mod cache;
mod claim_hints;
pub mod commit_hook;
pub mod error;
pub mod idempotency;
mod loading;
pub mod no_workspaces;
pub mod op;
mod pagination;
pub mod port;
pub mod refusal_tables;
pub mod request;
mod text_range;
pub mod tool;

pub use app::{App, BoardSettings, InstallationSettings, SocietySettings};
pub use commit_hook::{CommitHook, ResponseBuilder};
pub use error::OpError;
pub use no_workspaces::NoWorkspaces;
pub use port::{CommitOutcome, PortError, PortFuture, Receipt, Store};
pub use request::Request;
