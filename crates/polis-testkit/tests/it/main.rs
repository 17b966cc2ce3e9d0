//! Runs the suites over the in-memory model store, and tests properties of the operations on it.

#![expect(
    clippy::unwrap_used,
    reason = "everything here is test code: a panic is a failed test"
)]

mod faults;
mod listed;
mod memory;
mod requests;
mod transfer;
mod workspace_log;
mod workspaces;
