//! A society as it is looked at while it works: what is shown is a pure state that progress is fed to.
//!
//! `screen` is the state, `block` draws it for a terminal, `line` says the same as lines for a file or a program,
//! `terminal` keeps the block at the bottom of a real one and reads what is typed. Nothing here asks a store.

pub(crate) mod line;
mod number_format;
pub(crate) mod renderer;
pub(crate) mod run_state;
pub(crate) mod status_block;
pub(crate) mod terminal;

pub(crate) use number_format::{count, elapsed, money, tokens};

#[cfg(test)]
mod tests;
