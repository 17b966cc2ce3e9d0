//! The suites of `polis-testkit` over the real stores.

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
