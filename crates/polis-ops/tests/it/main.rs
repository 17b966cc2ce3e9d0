//! Integration tests of the operations and the tool registry: its cost, its guarantees and its results.

#![expect(
    clippy::unwrap_used,
    reason = "everything here is test code: a panic is a failed test"
)]

mod agent_sessions;
mod board_versions;
mod chinese_results;
mod command_history;
mod context_cost;
mod event_log;
mod overview;
mod parameter_errors;
mod refusal_text;
mod result_truncation;
mod retry_deadline;
mod task_page;
mod test_installation;
mod tool_registry;
mod tool_results;
mod tool_schema_properties;
mod unlisted_parameters;
