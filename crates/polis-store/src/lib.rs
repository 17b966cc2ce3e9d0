//! Persistent storage for polis.
//!
//! [`embedded`] is SQLite in a single file, safely shared by any number of processes; [`postgres`] uses the
//! same tables in PostgreSQL. Both implement the ports of `polis-ops`. The parts they share (row conversion,
//! query building) are in the private modules of this crate.

mod board_row;
pub mod embedded;
mod message_row;
pub mod postgres;
mod prepared;
mod row;
mod schema;
mod sql;

pub use embedded::EmbeddedStore;
pub use postgres::PostgresStore;
