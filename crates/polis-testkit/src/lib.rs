//! Shared test support for polis, not shipped: test doubles, harnesses, and test suites that run over every
//! store (SQLite, PostgreSQL and in memory).
//!
//! [`MemoryStore`] is the in-memory store: the simplest possible implementation of the store ports, with
//! which the other stores are compared. [`conformance`] has one test function per guarantee of these ports,
//! [`task_cases`] the numbered test cases of the task requirements, [`messaging`] messages, artifacts, tokens
//! and idempotency keys, [`society`] runs, hiring, budgets and approvals; [`linearizability`] checks recorded
//! histories of concurrent clients for linearizability. These suites run over every store through
//! [`conformance_tests!`], [`task_case_tests!`], [`messaging_tests!`], [`society_tests!`] and
//! [`linearizability_tests!`].
//!
//! [`scripted_model`] is a scripted chat-completions server, [`test_terminal`] a terminal in tmux, and the
//! feature `browser` adds a headless browser.

#![expect(
    clippy::unwrap_used,
    reason = "everything here is test code: a panic is a failed test"
)]

pub mod clock;
pub mod conformance;
pub mod json_schema_validator;
pub mod linearizability;
pub mod memory;
mod memory_boards;
pub mod memory_task_files;
pub mod memory_workspaces;
pub mod messaging;
pub mod postgres;
pub mod sample_event;
pub mod sample_task;
pub mod scripted_model;
pub mod seeded_rng;
pub mod society;
pub mod store_factory;
mod suites;
pub mod task_cases;
mod task_queries;
mod tcp_port;
#[cfg(feature = "browser")]
pub mod test_browser;
pub mod test_terminal;

pub use clock::{CountingRandomSource, FixedClock};
pub use memory::MemoryStore;
pub use memory_task_files::MemoryTaskFiles;
pub use memory_workspaces::MemoryWorkspaces;
pub use seeded_rng::SeededRng;
pub use store_factory::{MemoryStoreFactory, StoreFactory, run_test};
pub use tcp_port::pick_non_ephemeral_port;
pub use test_terminal::TestTerminal;
