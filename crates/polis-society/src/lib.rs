//! Agent runtime ("society"): agents that reason with a language model, hire, brief, message and dismiss each
//! other, and survive a crash.
//!
//! [`Society`] runs in a process: its scheduler takes leases of runs and starts a driver for each member that
//! has work. A driver performs the effects of the member's pure state machine ([`machine`]). All state that
//! must survive is in the store: a process that drives members can be killed at any moment, and another one
//! resumes its work. What a member may do is decided by the operations (`polis-ops`). This crate decides when
//! a member calls its model, what the prompt contains, and how the response is processed.

pub mod chat_message;
pub mod compaction;
pub mod context_window;
mod driver;
pub mod machine;
pub mod model;
pub mod process_identity;
pub mod progress_event;
pub mod prompt;
pub mod refusal_tables;
pub mod run_lease;
pub mod runtime_messages;
mod scheduler;
pub mod society_handle;
pub mod telemetry;
pub mod toolbox;

pub use society_handle::{Society, WorkerSettings};
