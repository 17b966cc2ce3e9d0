//! `[serve]`: listen address, TLS, allowed hosts and origins (CORS), rate limit and other limits of a server.

use std::time::Duration;

use polis_core::time::parse_duration;
use polis_serve::http::{Options, host};
use serde::Serialize;
use toml::de::DeValue;

use super::Config;
use super::keys::{Key, count, switch, text, texts};
use super::sandbox::parse_size;

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
    pub(crate) fn options(&self) -> Options {
        let usual = Options::default();
        let time = |text: &str, usual: Duration| {
            let millis = parse_duration(text).ok().map(i64::unsigned_abs);
            millis.map_or(usual, Duration::from_millis)
        };
        let size = |count: u32| usize::try_from(count).unwrap_or(usize::MAX);
        let max_body = parse_size(&self.max_body).ok();
        Options {
            pages: true,
            hosts: self.hosts.clone(),
            origins: self.origins.clone(),
            rate: self.rate,
            burst: self.burst,
            failures: self.wrong_tokens,
            max_body: max_body
                .and_then(|bytes| usize::try_from(bytes).ok())
                .unwrap_or(usual.max_body),
            max_connections: size(self.max_connections),
            max_requests: size(self.max_requests),
            header_timeout: time(&self.header_timeout, usual.header_timeout),
            body_timeout: time(&self.body_timeout, usual.body_timeout),
            write_timeout: time(&self.write_timeout, usual.write_timeout),
            operation_timeout: time(&self.operation_timeout, usual.operation_timeout),
            grace: time(&self.grace, usual.grace),
            access_log: self.access_log,
            slow: time(&self.slow, usual.slow),
        }
    }
}

fn listed(value: &DeValue<'_>, sound: fn(&str) -> bool, what: &str) -> Result<Vec<String>, String> {
    let list = texts(value)?;
    match list.iter().find(|entry| !sound(entry)) {
        Some(bad) => Err(format!("{bad:?} is not {what}")),
        None => Ok(list),
    }
}

fn time(value: &DeValue<'_>) -> Result<String, String> {
    let text = text(value)?;
    match parse_duration(&text) {
        Ok(millis) if millis > 0 => Ok(text),
        Ok(_) => Err("expected a length of time greater than nothing".to_owned()),
        Err(why) => Err(why),
    }
}

macro_rules! key {
    ($name:literal, $takes:literal, $default:literal, $about:literal, $field:ident, $read:expr) => {
        Key {
            name: concat!("serve.", $name),
            takes: $takes,
            default: $default,
            about: $about,
            set: |config: &mut Config, value| {
                let read: fn(&DeValue<'_>) -> Result<_, String> = $read;
                config.serve.$field = read(value)?;
                Ok(())
            },
        }
    };
}

/// The keys of `[serve]`.
pub(super) const KEYS: &[Key] = &[
    key!(
        "listen",
        "an address and a port, or unix:PATH",
        "\"127.0.0.1:7707\"",
        "Where `polis serve` listens. --listen wins over it.",
        listen,
        text
    ),
    key!(
        "tls_cert",
        "a file, or \"\" for no TLS",
        "\"\"",
        "The certificate chain, in PEM. --tls-cert wins over it.",
        tls_cert,
        text
    ),
    key!(
        "tls_key",
        "a file, or \"\" for no TLS",
        "\"\"",
        "The certificate's key, in PEM. --tls-key wins over it.",
        tls_key,
        text
    ),
    key!(
        "hosts",
        "a list of names, with or without a port",
        "[]",
        "Names the server answers to beside localhost and its own address: any other Host is refused.",
        hosts,
        |value| listed(value, host::is_host, "a host's name")
    ),
    key!(
        "origins",
        "a list such as [\"https://example.org\"]",
        "[]",
        "Origins whose pages may ask the server: all others are refused.",
        origins,
        |value| listed(
            value,
            host::is_origin,
            "an origin such as https://example.org"
        )
    ),
    key!(
        "rate",
        "a number from 1 to 1000000",
        "10000",
        "How many requests a second a token may send.",
        rate,
        |value| count(value, 1_000_000)
    ),
    key!(
        "burst",
        "a number from 1 to 1000000",
        "20000",
        "How many of them may come at once.",
        burst,
        |value| count(value, 1_000_000)
    ),
    key!(
        "wrong_tokens",
        "a number from 1 to 1000000",
        "60",
        "How many wrong tokens an address may try in a minute; what has not even a token's shape is refused and not counted.",
        wrong_tokens,
        |value| count(value, 1_000_000)
    ),
    key!(
        "max_body",
        "a size",
        "\"12MiB\"",
        "The largest body of a request.",
        max_body,
        |value| {
            let size = text(value)?;
            parse_size(&size).map(|_| size)
        }
    ),
    key!(
        "max_connections",
        "a number from 1 to 100000",
        "4096",
        "How many connections there may be; more wait until one ends.",
        max_connections,
        |value| count(value, 100_000)
    ),
    key!(
        "max_requests",
        "a number from 1 to 100000",
        "1024",
        "How many requests may be under way; more are answered 503.",
        max_requests,
        |value| count(value, 100_000)
    ),
    key!(
        "header_timeout",
        "a length of time",
        "\"30s\"",
        "How long the head of a request may take to arrive, the idle time before it included.",
        header_timeout,
        time
    ),
    key!(
        "body_timeout",
        "a length of time",
        "\"30s\"",
        "How long the body of a request may take to arrive.",
        body_timeout,
        time
    ),
    key!(
        "write_timeout",
        "a length of time",
        "\"30s\"",
        "How long a reader may take nothing of an answer.",
        write_timeout,
        time
    ),
    key!(
        "operation_timeout",
        "a length of time",
        "\"90s\"",
        "How long an operation may take; commands have times of their own.",
        operation_timeout,
        time
    ),
    key!(
        "grace",
        "a length of time",
        "\"20s\"",
        "How long a shutdown waits for what was accepted; then it is ended.",
        grace,
        time
    ),
    key!(
        "access_log",
        "true or false",
        "false",
        "Whether every request is logged, not only failures and slow ones. --access-log turns it on.",
        access_log,
        switch
    ),
    key!(
        "slow",
        "a length of time",
        "\"1s\"",
        "From when on a request is logged as slow.",
        slow,
        time
    ),
];
