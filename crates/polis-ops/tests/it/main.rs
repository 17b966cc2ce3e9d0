//! Integration tests of the tool table: its cost, its guarantees and its results.

#![expect(
    clippy::unwrap_used,
    reason = "everything here is test code: a panic is a failed test"
)]

mod answers;
mod board_versions;
mod brief;
mod budget;
mod codes;
mod commands;
mod json_schema;
mod log;
mod now;
mod refusals;
mod sessions;
mod shapes;
mod sheet;
mod table;
mod world;
