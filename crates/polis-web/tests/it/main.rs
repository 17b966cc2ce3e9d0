//! Integration tests of the web interface.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod agents;
mod boards;
mod bounds;
mod door;
mod events;
mod live;
mod markdown;
mod now;
mod offers;
mod pages;
mod parts;
mod tasks;
mod town;
mod workspaces;
