//! Integration tests of the terminal UI: rendered frames, keys and their effects over an in-memory store, and
//! the program in a real terminal (tmux).

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod external_editor;
mod frames;
mod key_actions;
mod key_bindings;
mod list_filters;
mod page_loading;
mod postponed_input;
mod test_tui;
mod tui_in_tmux;
