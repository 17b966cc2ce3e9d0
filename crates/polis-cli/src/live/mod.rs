//! Live view of a run: progress events update a state that does no I/O, and the state is rendered.
//!
//! `run_state` is the state, `status_block` renders it as a block for a terminal, `progress_line` formats
//! events as lines or JSON documents, `live_terminal` keeps the block at the bottom of a real terminal and
//! reads typed input, and `renderer` chooses between them. Nothing here queries a store.

pub(crate) mod live_terminal;
mod number_format;
pub(crate) mod progress_line;
pub(crate) mod renderer;
pub(crate) mod run_state;
pub(crate) mod status_block;

pub(crate) use number_format::{format_elapsed, format_money, format_tokens};

#[cfg(test)]
mod tests;
