//! Runs the suites over the in-memory store, and tests properties of the operations on it.

#![expect(
    clippy::unwrap_used,
    reason = "everything here is test code: a panic is a failed test"
)]

mod import_export;
mod memory_store;
mod regressions;
mod request_sequences;
mod suite_coverage;
mod workspace_assignment;
mod workspace_log;
