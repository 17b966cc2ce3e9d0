//! Agent runtime ("society"): agents that reason with a language model, hire, brief, message and dismiss each other,
//! and survive a crash.
//!
//! Each member of a run is a pure state machine ([`machine`]) plus a short driver that performs its effects. All state
//! that must survive is in the store: a process that drives members can be killed at any moment, and another one
//! resumes its work. What a member may do is decided by the operations (`polis-ops`). This crate decides when a member
//! calls its model, what the prompt contains, and how the response is processed.

pub mod compact;
pub mod context;
mod driver;
pub mod lease;
pub mod machine;
pub mod message;
pub mod model;
pub mod process_identity;
pub mod progress;
pub mod prompt;
pub mod society;
pub mod telemetry;
pub mod toolbox;
pub mod words;
mod worker;

pub use society::{Society, SocietySettings};
