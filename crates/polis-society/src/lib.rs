//! The society: agents that think with a model, hire, brief, message and dismiss each other, and survive a crash.
//!
//! A member of a run is a pure machine and a short driver. Everything it must not forget is in the store; a
//! process that drives members can be killed at any moment, and another goes on. What a member may do is
//! decided by the operations (`polis-ops`); this crate decides when it thinks, what it is told, and what
//! becomes of the answer.

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
