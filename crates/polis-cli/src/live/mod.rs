//! Live view of a running society: progress events are fed into a pure state, which is rendered.
//!
//! `screen` is the state, `block` renders it as a status block for a terminal, `line` formats events as lines or JSON
//! documents, `terminal` keeps the block at the bottom of a real terminal and reads typed input, and `face` chooses
//! between them. Nothing here queries a store.

pub(crate) mod line;
mod number_format;
pub(crate) mod renderer;
pub(crate) mod run_state;
pub(crate) mod status_block;
pub(crate) mod terminal;

pub(crate) use number_format::{count, elapsed, money, tokens};

#[cfg(test)]
mod tests;
