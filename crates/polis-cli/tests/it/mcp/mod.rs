//! Tests of `polis mcp` as clients use it: a real process, its stdin and stdout, with sessions and stateless.

pub(crate) mod client;
mod commands;
mod documents;
mod eras;
mod exposed;
mod hostile_trees;
mod sessions;
mod subscriptions;
mod tools;
mod wire;
