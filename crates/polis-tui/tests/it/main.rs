//! The screen from outside: frames as they are drawn, keys and what they ask for, and the terminal given back.

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
