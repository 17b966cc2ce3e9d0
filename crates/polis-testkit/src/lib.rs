//! What the tests of polis share; never shipped.
//!
//! [`MemoryStore`] is the model: the ports in the simplest code there is. [`conformance`] has one
//! function for each promise of the ports, [`task_cases`] the test cases of document 004 by their
//! numbers, [`messaging`] what agents send each other, [`society`] who is hired and dismissed, and [`linear`] checks recorded histories of concurrent clients, and [`model_server`] is the model that tests think with. [`terminal_pane`] is a terminal in tmux, `browser` a real one, for those who ask for the feature. Each runs over every
//! store through [`conformance_tests!`], [`case_tests!`], [`exchange_tests!`], [`society_tests!`] and [`history_tests!`].

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
