//! MCP tools: which of them a client gets, their execution, progress and results.

pub(crate) mod progress_notifications;
pub(crate) mod tool_call;
pub(crate) mod tool_results;
pub(crate) mod toolset;
