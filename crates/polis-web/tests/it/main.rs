//! Integration tests of the web interface: HTTP requests to a server with pages, and assertions on the
//! returned HTML. No browser runs; `test_server` has the harness.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod agent_pages;
mod board_pages;
mod common_page_rules;
mod declared_routes;
mod events_page;
mod hostile_markdown;
mod live_updates;
mod login;
mod offered_actions;
mod overview;
mod page_fragments;
mod page_limits;
mod task_pages;
mod test_server;
mod workspace_pages;
