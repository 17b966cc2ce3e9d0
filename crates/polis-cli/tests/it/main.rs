//! Integration tests of the command line as scripts and agents use it: the real program, real files, real
//! processes.
//!
//! A case that holds for every store is written once and named in [`harness::test_project::on_both_stores`];
//! its PostgreSQL variant runs if `POLIS_TEST_PG_URL` names a server.

#![expect(clippy::unwrap_used, reason = "a test that cannot continue fails")]

mod board;
mod board_faults;
mod demo;
mod document;
mod harness;
mod mcp;
mod output;
mod project;
mod server;
mod society;
mod task;
mod tui;
mod web;
mod workspace;
