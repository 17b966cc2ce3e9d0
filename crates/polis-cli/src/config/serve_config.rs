//! `[serve]`: listen address, TLS, allowed hosts and origins (CORS), rate limit and other limits of a server.

use std::time::Duration;

use polis_core::number::saturating_cast;
use polis_core::refusal::Reason;
use polis_core::timestamp::parse_duration;
use polis_serve::http::{ServerOptions, host_allow_list};
use serde::Serialize;
use toml_edit::Item;

use super::Config;
use super::config_keys::{ConfigKey, parse_bool, parse_count, parse_string, parse_string_list};
use super::sandbox_config::parse_size;
use crate::refusal_tables::ConfigProblem;

/// `[serve]`, with defaults filled in.
#[derive(Debug, Clone, Serialize)]
pub(crate) struct ServeConfig {
    /// Address to listen on.
    pub(crate) listen: String,
    /// Certificate chain file (PEM); empty: no TLS.
    pub(crate) tls_cert: String,
    /// Private key file of the certificate.
    pub(crate) tls_key: String,
    hosts: Vec<String>,
    origins: Vec<String>,
    rate: u32,
    burst: u32,
    wrong_tokens: u32,
    max_body: String,
    max_connections: u32,
    max_requests: u32,
    header_timeout: String,
    body_timeout: String,
    write_timeout: String,
    operation_timeout: String,
    grace: String,
    access_log: bool,
    slow: String,
}

impl Default for ServeConfig {
    fn default() -> Self {
        Self {
            listen: "127.0.0.1:7707".to_owned(),
            tls_cert: String::new(),
            tls_key: String::new(),
            hosts: Vec::new(),
            origins: Vec::new(),
            rate: 10_000,
            burst: 20_000,
            wrong_tokens: 60,
            max_body: "12MiB".to_owned(),
            max_connections: 4_096,
            max_requests: 1_024,
            header_timeout: "30s".to_owned(),
            body_timeout: "30s".to_owned(),
            write_timeout: "30s".to_owned(),
            operation_timeout: "90s".to_owned(),
            grace: "20s".to_owned(),
            access_log: false,
            slow: "1s".to_owned(),
        }
    }
}

impl ServeConfig {
    /// Returns the server's options.
    pub(crate) fn server_options(&self) -> ServerOptions {
        let defaults = ServerOptions::default();
        let time = |text: &str, default: Duration| {
            let millis = parse_duration(text).ok().map(i64::unsigned_abs);
            millis.map_or(default, Duration::from_millis)
        };
        let size = |count: u32| saturating_cast::<usize>(count);
        let max_body = parse_size(&self.max_body).ok();
        ServerOptions {
            serves_web_pages: true,
            hosts: self.hosts.clone(),
            origins: self.origins.clone(),
            requests_per_second: self.rate,
            burst: self.burst,
            auth_failures_per_minute: self.wrong_tokens,
            max_body_bytes: max_body
                .and_then(|bytes| usize::try_from(bytes).ok())
                .unwrap_or(defaults.max_body_bytes),
            max_connections: size(self.max_connections),
            max_requests: size(self.max_requests),
            header_timeout: time(&self.header_timeout, defaults.header_timeout),
            body_timeout: time(&self.body_timeout, defaults.body_timeout),
            write_timeout: time(&self.write_timeout, defaults.write_timeout),
            operation_timeout: time(&self.operation_timeout, defaults.operation_timeout),
            grace_period: time(&self.grace, defaults.grace_period),
            access_log: self.access_log,
            slow_threshold: time(&self.slow, defaults.slow_threshold),
        }
    }
}

fn parse_checked_list(
    value: &Item,
    sound: fn(&str) -> bool,
    problem: fn(String) -> ConfigProblem,
) -> Result<Vec<String>, Reason> {
    let list = parse_string_list(value)?;
    match list.iter().find(|entry| !sound(entry)) {
        Some(bad) => Err(problem(format!("{bad:?}")).into()),
        None => Ok(list),
    }
}

fn parse_positive_duration(value: &Item) -> Result<String, Reason> {
    let text = parse_string(value)?;
    if parse_duration(&text)? <= 0 {
        return Err(ConfigProblem::ExpectedPositiveDuration.into());
    }
    Ok(text)
}

macro_rules! key {
    ($name:literal, $takes:literal, $default:literal, $about:literal, $field:ident, $read:expr) => {
        ConfigKey {
            name: concat!("serve.", $name),
            accepted_values: $takes,
            default: $default,
            description: $about,
            set: |config: &mut Config, value| {
                let read: fn(&Item) -> Result<_, Reason> = $read;
                config.serve.$field = read(value)?;
                Ok(())
            },
        }
    };
}

/// The keys of `[serve]`.
pub(super) const SERVE_KEYS: &[ConfigKey] = &[
    key!(
        "listen",
        "an address and a port, or unix:PATH",
        "\"127.0.0.1:7707\"",
        "Address that `polis serve` listens on. --listen takes precedence.",
        listen,
        parse_string
    ),
    key!(
        "tls_cert",
        "a file, or \"\" for no TLS",
        "\"\"",
        "Certificate chain file (PEM). --tls-cert takes precedence.",
        tls_cert,
        parse_string
    ),
    key!(
        "tls_key",
        "a file, or \"\" for no TLS",
        "\"\"",
        "Private key file of the certificate (PEM). --tls-key takes precedence.",
        tls_key,
        parse_string
    ),
    key!(
        "hosts",
        "a list of names, with or without a port",
        "[]",
        "Host names that the server accepts in addition to localhost and its own address; requests with any other Host header are refused.",
        hosts,
        |value| parse_checked_list(value, host_allow_list::is_valid_host, |name| {
            ConfigProblem::NotAHost { name }
        })
    ),
    key!(
        "origins",
        "a list such as [\"https://example.org\"]",
        "[]",
        "Origins whose pages may send requests (CORS); all others are refused.",
        origins,
        |value| parse_checked_list(value, host_allow_list::is_valid_origin, |name| {
            ConfigProblem::NotAnOrigin { name }
        })
    ),
    key!(
        "rate",
        "a number from 1 to 1000000",
        "10000",
        "Rate limit: requests per second for each token.",
        rate,
        |value| parse_count(value, 1_000_000)
    ),
    key!(
        "burst",
        "a number from 1 to 1000000",
        "20000",
        "Burst size of the rate limit.",
        burst,
        |value| parse_count(value, 1_000_000)
    ),
    key!(
        "wrong_tokens",
        "a number from 1 to 1000000",
        "60",
        "Maximum wrong tokens per address and minute. Malformed tokens are refused without being counted.",
        wrong_tokens,
        |value| parse_count(value, 1_000_000)
    ),
    key!(
        "max_body",
        "a size",
        "\"12MiB\"",
        "Maximum size of a request body.",
        max_body,
        |value| {
            let size = parse_string(value)?;
            parse_size(&size).map(|_| size)
        }
    ),
    key!(
        "max_connections",
        "a number from 1 to 100000",
        "4096",
        "Maximum number of connections; further ones wait until one closes.",
        max_connections,
        |value| parse_count(value, 100_000)
    ),
    key!(
        "max_requests",
        "a number from 1 to 100000",
        "1024",
        "Maximum number of concurrent requests; further ones get 503.",
        max_requests,
        |value| parse_count(value, 100_000)
    ),
    key!(
        "header_timeout",
        "a duration",
        "\"30s\"",
        "Maximum time for the head of a request to arrive, including the idle time before it.",
        header_timeout,
        parse_positive_duration
    ),
    key!(
        "body_timeout",
        "a duration",
        "\"30s\"",
        "Maximum time for the body of a request to arrive.",
        body_timeout,
        parse_positive_duration
    ),
    key!(
        "write_timeout",
        "a duration",
        "\"30s\"",
        "Maximum time for which a client may read nothing of a response.",
        write_timeout,
        parse_positive_duration
    ),
    key!(
        "operation_timeout",
        "a duration",
        "\"90s\"",
        "Maximum time of an operation; commands have their own timeouts.",
        operation_timeout,
        parse_positive_duration
    ),
    key!(
        "grace",
        "a duration",
        "\"20s\"",
        "Grace period of a shutdown: how long it waits for accepted requests before it ends them.",
        grace,
        parse_positive_duration
    ),
    key!(
        "access_log",
        "true or false",
        "false",
        "Whether every request is logged, not only failed and slow ones. --access-log turns it on.",
        access_log,
        parse_bool
    ),
    key!(
        "slow",
        "a duration",
        "\"1s\"",
        "Duration from which a request is logged as slow.",
        slow,
        parse_positive_duration
    ),
];
