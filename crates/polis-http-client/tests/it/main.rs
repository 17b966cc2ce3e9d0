//! Integration tests of the HTTP client, against servers over TCP and TLS and through proxies.

#![expect(clippy::unwrap_used, reason = "test code: a panic is a failed test")]

mod connections;
mod proxies;
mod responses;
mod test_http_server;
