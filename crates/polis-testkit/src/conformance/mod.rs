//! The store conformance suite: one function per guarantee of the ports.
//!
//! Each takes an empty store through a [`Ground`](crate::Ground) and panics if the guarantee is violated.
//! [`conformance_tests!`](crate::conformance_tests) generates one test per function; a test of this crate
//! checks that the macro lists all of them.

mod against_model;
mod agents;
mod blockers;
mod board_changes;
mod board_history;
mod board_leases;
mod board_sample;
mod boards;
mod commits;
mod lists;
mod log;
mod messages;
mod numbers;
mod person_mail;
mod plain_records;
mod plain_sample;
mod records;
mod sample;
mod streams;
mod turns;
mod waiting;

pub use against_model::*;
pub use agents::*;
pub use blockers::*;
pub use board_changes::*;
pub use board_history::*;
pub use board_leases::*;
pub use boards::*;
pub use commits::*;
pub use lists::*;
pub use log::*;
pub use messages::*;
pub use numbers::*;
pub use person_mail::*;
pub use plain_records::*;
pub use records::*;
pub use streams::*;
pub use turns::*;
pub use waiting::*;
