//! Where polis keeps its state.
//!
//! [`embedded`] is SQLite in one file, shared safely by any number of processes; [`postgres`] is
//! the same tables in PostgreSQL. Both fill in the ports of `polis-ops`; what they share (rows,
//! the shape of queries) is written once, beside them.

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
