//! Server surfaces of polis: MCP over stdio and HTTP, a JSON API, live events (SSE) and webhooks.
//!
//! They are built on the tool table (`polis_ops::tool`) and the operations. The code that starts a server
//! chooses the store, files and sandbox behind them; this crate contains no adapters.

pub mod caller_identity;
pub mod events;
pub mod http;
pub mod mcp;
pub mod metrics;
pub mod refusal_tables;

pub use caller_identity::CallerIdentity;
