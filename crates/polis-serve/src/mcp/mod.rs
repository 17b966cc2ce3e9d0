//! MCP server: tools, boards, tasks and files for any agent program, over stdio and streamable HTTP.
//!
//! `rmcp` implements the protocol: revision 2026-07-28 without sessions, 2025-11-25 and 2025-06-18 with
//! sessions. The tool table (`polis_ops::tool`) defines the tools; permissions are checked by the operations.

mod call;
mod completion;
mod concurrency_limit;
mod http;
mod instructions;
mod listen_service;
mod malformed;
mod mcp_state;
mod media;
mod progress;
mod prompts;
mod resources;
mod server;
mod session_keeper;
mod stdio;
mod subscriptions;
mod tool_results;
mod toolset;
mod uri;

pub use http::{Answered, HttpOptions, HttpService, service};
pub use session_keeper::keep_session;
pub use stdio::serve_stdio;
pub use toolset::Toolset;
