//! Terminal user interface (TUI) of polis: one screen with tabs that shows a team's activity live.
//!
//! The core is pure: [`app`] is the state and its update function, [`page_content`] converts the results of
//! operations to rows and lines, [`draw`] renders them into a frame. [`event_loop`] is the thin I/O layer
//! that reads keys, follows the event log, calls operations and starts the external editor. `polis tui` calls
//! [`run_tui`].

pub mod app;
pub mod draw;
pub mod event_loop;
pub mod page_content;
pub mod refusal_tables;

pub use app::{Tab, TuiApp};
pub use event_loop::{TuiConfig, run_tui};
