//! Store conformance suite: one test function per guarantee of the store ports, run over every store (SQLite,
//! PostgreSQL and in memory). One file per group of guarantees.
//!
//! Each function takes an empty store through a [`StoreFactory`](crate::StoreFactory) and panics if the guarantee is
//! violated. [`conformance_tests!`](crate::conformance_tests) (in `suites`) generates one test per function; a test
//! of this crate checks that the macro lists all of them.

mod agents;
mod blockers;
mod board_changes;
mod board_fixtures;
mod board_history;
mod board_leases;
mod boards;
mod commit_stream;
mod commits;
mod event_log;
mod field_round_trip;
mod generic_records;
mod messages;
mod model_comparison;
mod person_mail;
mod record_fixtures;
mod store_fixtures;
mod task_lists;
mod task_numbers;
mod turns;
mod unread_mailboxes;

pub use agents::*;
pub use blockers::*;
pub use board_changes::*;
pub use board_history::*;
pub use board_leases::*;
pub use boards::*;
pub use commit_stream::*;
pub use commits::*;
pub use event_log::*;
pub use field_round_trip::*;
pub use generic_records::*;
pub use messages::*;
pub use model_comparison::*;
pub use person_mail::*;
pub use task_lists::*;
pub use task_numbers::*;
pub use turns::*;
pub use unread_mailboxes::*;
