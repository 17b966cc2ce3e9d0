//! MCP server: tools, boards, tasks and files for any agent program, over stdio and streamable HTTP.
//!
//! `rmcp` implements the protocol: revision 2026-07-28 without sessions, 2025-11-25 and 2025-06-18 with
//! sessions. The tool table (`polis_ops::tool`) defines the tools; permissions are checked by the operations.

mod agent_session_renewal;
mod completion;
mod concurrency_limit;
mod http;
mod instructions;
mod listen_service;
mod malformed_request;
mod mcp_server;
mod mcp_state;
mod prompts;
mod resource;
mod stdio;
mod tool;

pub use agent_session_renewal::keep_session_alive;
pub use http::{McpHttpOptions, McpHttpResponse, McpHttpService, mcp_http_service};
pub use stdio::serve_stdio;
pub use tool::toolset::Toolset;
