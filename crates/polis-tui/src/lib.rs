//! Terminal user interface of polis: one screen with tabs that shows a team's activity live.
//!
//! The core is pure: [`app`] is the state and its update function, [`show`] converts the results of
//! operations to rows and lines, [`draw`] renders them into a frame. [`mod@run`] is the thin I/O layer that
//! reads keys, follows the log, calls operations and starts an editor.

pub mod app;
pub mod draw;
pub mod run;
pub mod show;

pub use app::{App, Tab};
pub use run::{Screen, run};
