//! Persistent storage: implements the store ports of `polis-ops` over SQLite and over PostgreSQL.
//!
//! [`embedded`] is SQLite in a single file, safely shared by any number of processes, with the boards also as
//! Markdown files; [`postgres`] uses the same tables in PostgreSQL and has no board files. The parts they
//! share (row conversion, query building) are in the private modules of this crate.

mod board_row;
pub mod embedded;
mod message_row;
pub mod postgres;
mod prepared_changeset;
mod schema_version;
mod sql;
pub mod store_failure;
mod task_row;

pub use embedded::EmbeddedStore;
pub use postgres::PostgresStore;
