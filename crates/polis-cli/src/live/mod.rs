//! A society as it is looked at while it works: what is shown is a pure state that progress is fed to.
//!
//! `screen` is the state, `block` draws it for a terminal, `line` says the same as lines for a file or a program,
//! `terminal` keeps the block at the bottom of a real one and reads what is typed. Nothing here asks a store.

pub(crate) mod block;
pub(crate) mod face;
pub(crate) mod line;
pub(crate) mod screen;
pub(crate) mod terminal;
mod words;

pub(crate) use words::{count, elapsed, money, tokens};

#[cfg(test)]
mod tests;
