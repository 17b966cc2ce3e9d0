//! Integration tests of the server surfaces, as client programs use them: over the in-memory store, with and
//! without sockets.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod events_access;
mod events_ground;
mod events_processes;
mod events_slow;
mod events_stream;
mod events_webhook;
mod events_webhook_shared;
mod http_answers;
mod http_conditions;
mod http_gate;
mod http_keys;
mod http_wire;
mod mcp_house;
mod mcp_replay;
mod mcp_sessions;
mod mcp_stateless;
mod receiver;
mod town;
