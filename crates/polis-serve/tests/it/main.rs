//! Integration tests of the server surfaces (HTTP API, event streams, webhooks, MCP over HTTP), as client
//! programs use them: mostly over the in-memory store, with and without sockets.

#![expect(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

mod event_multiple_processes;
mod event_slow_readers;
mod event_stream_access;
mod event_stream_requests;
mod http_admission;
mod http_conditional_requests;
mod http_idempotency;
mod http_language;
mod http_middleware;
mod http_responses;
mod http_sockets;
mod mcp_replay;
mod mcp_sessions;
mod mcp_stateless;
mod test_event_server;
mod test_mcp_server;
mod test_server;
mod webhook_delivery;
mod webhook_multiple_servers;
mod webhook_receiver;
