//! Integration tests of the stores: the suites of `polis-testkit` over SQLite and PostgreSQL, plus
//! migrations, file mirroring, WAL length, concurrency and server failures.

#![expect(
    clippy::unwrap_used,
    reason = "everything here is test code: a panic is a failed test"
)]

mod conversation_storage;
mod embedded_concurrency;
mod embedded_conformance;
mod file_mirror;
mod migrations;
mod postgres_conformance;
mod postgres_server;
mod write_ahead_log;
