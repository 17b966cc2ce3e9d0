//! polis in a terminal: one screen with tabs for what a team does, live.
//!
//! The core is pure: [`app`] is the state and how messages change it, [`show`] makes rows and lines of what
//! the operations answered, [`draw`] puts them into a frame. [`mod@run`] is the thin rest that reads keys, follows
//! the log, calls operations and starts an editor.

pub mod app;
pub mod draw;
pub mod run;
pub mod show;

pub use app::{App, Tab};
pub use run::{Screen, run};
