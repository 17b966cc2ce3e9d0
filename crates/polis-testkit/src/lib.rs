//! What the tests of polis share; never shipped.
//!
//! [`MemoryStore`] is the model: the ports in the simplest code there is. [`conformance`] has one
//! function for each promise of the ports, [`cases`] the test cases of document 004 by their
//! numbers, [`exchange`] what agents send each other, [`society`] who is hired and dismissed, and [`linear`] checks recorded histories of concurrent clients, and [`model_server`] is the model that tests think with. [`pane`] is a terminal in tmux, `browser` a real one, for those who ask for the feature. Each runs over every
//! store through [`conformance_tests!`], [`case_tests!`], [`exchange_tests!`], [`society_tests!`] and [`history_tests!`].

#![expect(
    clippy::unwrap_used,
    reason = "everything here is test code: a panic is a failed test"
)]

mod boards;
#[cfg(feature = "browser")]
pub mod browser;
pub mod cases;
pub mod clock;
pub mod conformance;
pub mod dice;
pub mod exchange;
pub mod ground;
pub mod linear;
mod listing;
pub mod memory;
pub mod model_server;
pub mod pane;
mod port;
pub mod postgres;
pub mod society;
mod suites;
pub mod task_files;
pub mod workspaces;

pub use clock::{CountedChance, FixedClock};
pub use dice::Dice;
pub use ground::{Ground, MemoryGround, run};
pub use memory::MemoryStore;
pub use pane::Pane;
pub use port::lasting_port;
pub use task_files::MemoryFiles;
pub use workspaces::MemoryWorkspaces;
