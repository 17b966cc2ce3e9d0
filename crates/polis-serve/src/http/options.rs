//! What a server is told when it starts: names, limits, times. Where the values come from is the
//! command line's and the configuration's matter.

use std::time::Duration;

/// The settings of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// Names it answers to beside loopback and its own address.
    pub hosts: Vec<String>,
    /// Origins whose pages may ask it.
    pub origins: Vec<String>,
    /// Whether pages for people are mounted beside the API; they ask for a session of their own.
    pub pages: bool,
    /// How many requests a token may send in a second.
    pub rate: u32,
    /// How many of them at once.
    pub burst: u32,
    /// How many wrong tokens an address may send in a minute.
    pub failures: u32,
    /// The largest body of a request, in bytes.
    pub max_body: usize,
    /// How many connections there may be.
    pub max_connections: usize,
    /// How many requests may be under way.
    pub max_requests: usize,
    /// How long the head of a request may take to arrive, idle time before it included.
    pub header_timeout: Duration,
    /// How long the body may take.
    pub body_timeout: Duration,
    /// How long a reader may take nothing of an answer.
    pub write_timeout: Duration,
    /// How long an operation may take; commands have times of their own.
    pub operation_timeout: Duration,
    /// How long a shutdown waits for what was accepted.
    pub grace: Duration,
    /// Whether every request is logged, not only failures and slow ones.
    pub access_log: bool,
    /// From when on a request is slow.
    pub slow: Duration,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            hosts: Vec::new(),
            origins: Vec::new(),
            pages: false,
            rate: 10_000,
            burst: 20_000,
            failures: 60,
            max_body: 12 << 20,
            max_connections: 4_096,
            max_requests: 1_024,
            header_timeout: Duration::from_secs(30),
            body_timeout: Duration::from_secs(30),
            write_timeout: Duration::from_secs(30),
            operation_timeout: Duration::from_secs(90),
            grace: Duration::from_secs(20),
            access_log: false,
            slow: Duration::from_secs(1),
        }
    }
}
