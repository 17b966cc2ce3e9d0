//! MCP: the tools, boards, tasks and files for any agent's program, over stdio and streamable HTTP.
//!
//! The protocol is `rmcp`'s matter: revision 2026-07-28 without sessions, 2025-11-25 and 2025-06-18 with
//! them. What a tool does is the table's (`polis_ops::tool`), what a caller may do the operations'.

mod call;
mod complete;
mod door;
mod gate;
mod house;
mod http;
mod instructions;
mod malformed;
mod media;
mod progress;
mod prompts;
mod refused;
mod resources;
mod server;
mod session_keeper;
mod stdio;
mod toolset;
mod uri;
mod watch;

pub use http::{Answered, HttpOptions, HttpService, service};
pub use session_keeper::keep_session;
pub use stdio::serve_stdio;
pub use toolset::Toolset;
