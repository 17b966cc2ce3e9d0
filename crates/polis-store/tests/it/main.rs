//! Integration tests of the stores: the suites of `polis-testkit` over SQLite and PostgreSQL, plus
//! migrations, file mirroring, WAL length, concurrency and server failures.

#![expect(
    clippy::unwrap_used,
    reason = "everything here is test code: a panic is a failed test"
)]

mod conversations;
mod embedded;
mod many;
mod migrations;
mod mirror;
mod postgres;
mod server;
mod write_ahead_log;
