//! Shared test support for polis; not shipped.
//!
//! [`MemoryStore`] is the model: the simplest possible implementation of the ports. [`conformance`] has one
//! function per guarantee of the ports, [`task_cases`] the numbered test cases of the task specification (document
//! 004), [`messaging`] messages, artifacts and tokens, [`society`] runs, hiring and dismissal; [`linear`]
//! checks recorded histories of concurrent clients for linearizability. These suites run over every store
//! through [`conformance_tests!`], [`case_tests!`], [`exchange_tests!`], [`society_tests!`] and
//! [`history_tests!`].
//!
//! [`model_server`] is a scripted chat-completions server, [`terminal_pane`] a terminal in tmux, and `browser` a
//! headless browser, behind the feature of that name.

#![expect(
    clippy::unwrap_used,
    reason = "everything here is test code: a panic is a failed test"
)]

mod boards;
#[cfg(feature = "browser")]
pub mod browser;
pub mod clock;
pub mod conformance;
pub mod linear;
mod listing;
pub mod memory;
pub mod messaging;
pub mod model_server;
mod port;
pub mod postgres;
pub mod seeded_rng;
pub mod society;
mod suites;
pub mod task_cases;
pub mod task_files;
pub mod terminal_pane;
pub mod test_store;
pub mod workspaces;

pub use clock::{CountedChance, FixedClock};
pub use memory::MemoryStore;
pub use port::lasting_port;
pub use seeded_rng::Dice;
pub use task_files::MemoryFiles;
pub use terminal_pane::Pane;
pub use test_store::{Ground, MemoryGround, run};
pub use workspaces::MemoryWorkspaces;
