//! polis for agents: MCP over stdio and HTTP, a JSON API, live events, webhooks.
//!
//! Surfaces over the table of tools (`polis_ops::tool`) and the operations. Which store, which files and
//! which sandbox are behind them is decided by who calls this; there are no adapters here.

pub mod events;
pub mod http;
pub mod identity;
pub mod mcp;
pub mod metrics;

pub use identity::Identity;
