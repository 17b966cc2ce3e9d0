//! Tests of the terminal interface from outside: frames, keys and their effects, and restoring the terminal.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod deeds;
mod edits;
mod filters;
mod frames;
mod hall;
mod keys;
mod later;
mod reads;
mod stage;
