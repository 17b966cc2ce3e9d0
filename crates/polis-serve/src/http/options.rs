//! Server options: allowed hosts and origins (CORS), rate limits, size limits and timeouts. The values are
//! read from the command line and the configuration by the caller.

use std::time::Duration;

/// Settings of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ServerOptions {
    /// Allowed host names, in addition to loopback and the listening address.
    pub hosts: Vec<String>,
    /// Origins allowed to send cross-origin requests (CORS).
    pub origins: Vec<String>,
    /// Whether the web interface is mounted next to the API; it has its own session authentication.
    pub serves_web_pages: bool,
    /// Maximum requests per second and token.
    pub requests_per_second: u32,
    /// Maximum burst of requests per token.
    pub burst: u32,
    /// Maximum number of wrong tokens per minute and address.
    pub auth_failures_per_minute: u32,
    /// Maximum size of a request body in bytes.
    pub max_body_bytes: usize,
    /// Maximum number of connections.
    pub max_connections: usize,
    /// Maximum number of concurrent requests.
    pub max_requests: usize,
    /// Timeout for the head of a request, including idle time before it.
    pub header_timeout: Duration,
    /// Timeout for the request body.
    pub body_timeout: Duration,
    /// Write timeout: how long a client may read nothing of a response.
    pub write_timeout: Duration,
    /// Timeout of an operation; commands have their own timeouts.
    pub operation_timeout: Duration,
    /// Grace period of a shutdown for accepted requests.
    pub grace_period: Duration,
    /// Whether every request is logged, not only failed and slow ones.
    pub access_log: bool,
    /// Duration from which a request is logged as slow.
    pub slow_threshold: Duration,
}

impl Default for ServerOptions {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            origins: Vec::new(),
            serves_web_pages: false,
            requests_per_second: 10_000,
            burst: 20_000,
            auth_failures_per_minute: 60,
            max_body_bytes: 12 << 20,
            max_connections: 4_096,
            max_requests: 1_024,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            operation_timeout: Duration::from_secs(90),
            grace_period: Duration::from_secs(20),
            access_log: false,
            slow_threshold: Duration::from_secs(1),
        }
    }
}
