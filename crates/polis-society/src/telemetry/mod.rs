//! OpenTelemetry tracing: exports the model requests and tool calls of a run's agents (its members) as spans
//! in the GenAI semantic conventions, to a collector (OTLP over HTTP, as JSON). `span_tracker` builds the
//! spans, `otlp_exporter` sends them.
//!
//! It is off unless a collector is configured, in the environment variables of OpenTelemetry or in
//! `polis.toml`. It only observes: it reads the public progress events, so it can neither block a member nor
//! make one fail. Spans that a collector does not accept in time are dropped and counted. Prompts and
//! responses are not sent: they stay in the store.

mod otlp_exporter;
mod otlp_span;
mod span_tracker;

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use http::{HeaderName, HeaderValue};
use percent_encoding::percent_decode_str;
use polis_core::Refusal;
use polis_ops::port::Clock;
use tokio::sync::{broadcast, mpsc, oneshot};
use tokio::task::JoinHandle;

use crate::model::ProxySettings;
use crate::progress_event::ProgressEvent;
use otlp_exporter::OtlpExporter;

use crate::refusal_tables::ModelRefusal;

/// Capacity of the queue of spans for the collector.
const SPAN_QUEUE_CAPACITY: usize = 4096;

/// Settings of the trace export.
#[derive(Clone, PartialEq, Eq)]
pub struct TelemetrySettings {
    /// The URL that accepts traces, such as `http://localhost:4318/v1/traces`.
    pub endpoint: String,
    /// Additional headers of every request, mostly API keys.
    pub headers: Vec<(String, String)>,
    /// The name of this service.
    pub service: String,
    /// Distinguishes this store from others: runs of two stores may have the same name.
    pub store: String,
    /// The proxies to use.
    pub proxies: ProxySettings,
}

/// Leaves out headers, which are keys, and addresses, which may contain passwords.
impl fmt::Debug for TelemetrySettings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TelemetrySettings")
            .field("service", &self.service)
            .finish_non_exhaustive()
    }
}

impl TelemetrySettings {
    /// Creates settings for a collector's base URL, as in `OTEL_EXPORTER_OTLP_ENDPOINT`.
    pub fn from_base_url(base: &str) -> Self {
        Self {
            endpoint: format!("{}/v1/traces", base.trim().trim_end_matches('/')),
            headers: Vec::new(),
            service: "polis".to_owned(),
            store: String::new(),
            proxies: ProxySettings::default(),
        }
    }

    /// Creates settings from the environment variables of OpenTelemetry; `None` if they do not enable
    /// tracing.
    pub fn from_variables(get: impl Fn(&str) -> Option<String>) -> Option<Self> {
        let get = |name: &str| get(name).filter(|value| !value.trim().is_empty());
        let off = get("OTEL_SDK_DISABLED").is_some_and(|value| value.eq_ignore_ascii_case("true"));
        let none = get("OTEL_TRACES_EXPORTER").is_some_and(|value| value == "none");
        if off || none {
            return None;
        }
        let mut settings = match get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT") {
            Some(url) => Self {
                endpoint: url.trim().to_owned(),
                ..Self::from_base_url("")
            },
            None => Self::from_base_url(&get("OTEL_EXPORTER_OTLP_ENDPOINT")?),
        };
        let headers = get("OTEL_EXPORTER_OTLP_TRACES_HEADERS")
            .or_else(|| get("OTEL_EXPORTER_OTLP_HEADERS"))
            .unwrap_or_default();
        settings.headers = headers.split(',').filter_map(parse_header_pair).collect();
        if let Some(service) = get("OTEL_SERVICE_NAME") {
            settings.service = service;
        }
        Some(settings)
    }
}

/// Parses a header as in OpenTelemetry's variables: `name=value`, percent-encoded.
fn parse_header_pair(pair: &str) -> Option<(String, String)> {
    let (name, value) = pair.split_once('=')?;
    let plain = |text: &str| {
        percent_decode_str(text.trim())
            .decode_utf8_lossy()
            .into_owned()
    };
    Some((plain(name), plain(value)))
}

/// A running export of traces to a collector.
#[derive(Debug)]
pub struct TelemetryExport {
    stop: oneshot::Sender<()>,
    follow: JoinHandle<()>,
    export: JoinHandle<u64>,
}

impl TelemetryExport {
    /// Starts exporting the progress events of a [`Society`](crate::Society). Fails with `InvalidConfig` if
    /// the collector's URL, its proxy or a header is invalid.
    pub fn start(
        settings: &TelemetrySettings,
        progress: broadcast::Receiver<ProgressEvent>,
        clock: Arc<dyn Clock>,
    ) -> Result<Self, Refusal> {
        let exporter = OtlpExporter::new(settings)?;
        let (spans, waiting) = mpsc::channel(SPAN_QUEUE_CAPACITY);
        let (stop, stopped) = oneshot::channel();
        let store = settings.store.clone();
        Ok(Self {
            stop,
            follow: tokio::spawn(span_tracker::track_spans(
                progress, spans, clock, store, stopped,
            )),
            export: tokio::spawn(exporter.run_until_closed(waiting)),
        })
    }

    /// Stops, and sends the remaining spans within this time. Returns the number of spans dropped since the
    /// start, or `None` if the time was too short.
    pub async fn stop(self, limit: Duration) -> Option<u64> {
        let Self {
            stop,
            follow,
            mut export,
        } = self;
        drop(stop);
        let _ = follow.await;
        let result = tokio::time::timeout(limit, &mut export).await;
        export.abort();
        result.ok()?.ok()
    }
}

/// Parses a header. Fails with `InvalidConfig` if the name or the value is invalid.
fn validate_header(name: &str, value: &str) -> Result<(HeaderName, HeaderValue), Refusal> {
    let pair = HeaderName::try_from(name)
        .ok()
        .zip(HeaderValue::try_from(value).ok());
    let Some((name, mut value)) = pair else {
        return Err(Refusal::from(ModelRefusal::InvalidTraceHeader));
    };
    value.set_sensitive(true);
    Ok((name, value))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_are_read_from_otel_variables() {
        let read = |all: &[(&str, &str)]| {
            let all: Vec<(String, String)> = all
                .iter()
                .map(|(k, v)| ((*k).to_owned(), (*v).to_owned()))
                .collect();
            TelemetrySettings::from_variables(|name| {
                all.iter()
                    .find(|(key, _)| key == name)
                    .map(|(_, value)| value.clone())
            })
        };
        assert_eq!(read(&[]), None);
        assert_eq!(read(&[("OTEL_EXPORTER_OTLP_ENDPOINT", " ")]), None);
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://h:4318/");
        assert_eq!(read(&[base, ("OTEL_SDK_DISABLED", "TRUE")]), None);
        assert_eq!(read(&[base, ("OTEL_TRACES_EXPORTER", "none")]), None);
        assert_eq!(read(&[base]).unwrap().endpoint, "http://h:4318/v1/traces");
        let all = read(&[
            base,
            ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://x/traces"),
            (
                "OTEL_EXPORTER_OTLP_HEADERS",
                "authorization=Bearer%20secret, x-a=b",
            ),
            ("OTEL_SERVICE_NAME", "team"),
        ])
        .unwrap();
        assert_eq!(all.endpoint, "https://x/traces");
        assert_eq!(all.service, "team");
        let pair = |a: &str, b: &str| (a.to_owned(), b.to_owned());
        assert_eq!(
            all.headers,
            [pair("authorization", "Bearer secret"), pair("x-a", "b")]
        );
        assert!(!format!("{all:?}").contains("secret"));
    }
}
