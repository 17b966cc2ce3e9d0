//! OTLP exporter: sends spans to a collector in batches, with one retry. If the collector is unavailable, spans are
//! dropped and counted; nothing else is affected.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HOST, PROXY_AUTHORIZATION, USER_AGENT};
use http::{HeaderMap, HeaderValue, Method, Request, Uri};
use http_body_util::Full;
use polis_core::{Code, Refusal};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::span::{Span, body};
use super::{TelemetrySettings, sound_header};
use crate::model::line::{Lines, Open};

/// Maximum number of spans in a batch.
const TOGETHER: usize = 512;
/// Maximum time a span waits for its batch to fill.
const WAIT: Duration = Duration::from_secs(2);
/// Timeout of a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// Pause before the second and last attempt.
const PAUSE: Duration = Duration::from_millis(500);
/// Minimum time between two warnings about dropped spans.
const TELL: Duration = Duration::from_secs(60);
/// Maximum size of a response body that is read to reuse the connection.
const MOST_READ: usize = 64 << 10;

/// An item in the export queue.
#[derive(Debug)]
pub(super) enum Waiting {
    /// A span.
    Span(Box<Span>),
    /// This many spans were dropped because the queue was full.
    Dropped(u64),
}

/// The exporter and its drop statistics.
#[derive(Debug)]
pub(super) struct Exporter {
    lines: Lines,
    uri: Uri,
    headers: HeaderMap,
    service: String,
    dropped: u64,
    untold: u64,
    told: Option<Instant>,
}

impl Exporter {
    pub(super) fn new(settings: &TelemetrySettings) -> Result<Self, Refusal> {
        let wrong = |what: &str| {
            Refusal::new(
                Code::InvalidConfig,
                format!("The address of the collector of traces {what}."),
                "set it to an address such as http://localhost:4318",
            )
        };
        let uri: Uri = settings.endpoint.parse().map_err(|_| wrong("is none"))?;
        let lines = Lines::new(uri, &settings.proxies, Arc::default(), PATIENCE).map_err(wrong)?;
        let mut headers = HeaderMap::new();
        headers.insert(HOST, lines.host().clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let agent = concat!("polis/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        if let Some(value) = lines.proxy_authorization() {
            headers.insert(PROXY_AUTHORIZATION, value.clone());
        }
        for (name, value) in &settings.headers {
            let (name, value) = sound_header(name, value)?;
            headers.insert(name, value);
        }
        Ok(Self {
            uri: lines.target(),
            lines,
            headers,
            service: settings.service.clone(),
            dropped: 0,
            untold: 0,
            told: None,
        })
    }

    /// Sends batches until the queue is closed; returns the number of dropped spans.
    pub(super) async fn run(mut self, mut waiting: mpsc::Receiver<Waiting>) -> u64 {
        let mut batch = Vec::with_capacity(TOGETHER);
        let mut open = true;
        while open {
            let mut deadline = pin!(sleep_until(Instant::now() + WAIT));
            while batch.len() < TOGETHER {
                let next = if batch.is_empty() {
                    // No span is waiting, so no batch timeout runs.
                    let next = waiting.recv().await;
                    deadline.as_mut().reset(Instant::now() + WAIT);
                    next
                } else {
                    tokio::select! {
                        next = waiting.recv() => next,
                        () = &mut deadline => break,
                    }
                };
                match next {
                    Some(Waiting::Span(span)) => batch.push(*span),
                    Some(Waiting::Dropped(count)) => self.lost(count),
                    None => {
                        open = false;
                        break;
                    }
                }
            }
            if !batch.is_empty() {
                self.send(&batch).await;
                batch.clear();
            }
        }
        self.dropped
    }

    async fn send(&mut self, batch: &[Span]) {
        let body = Bytes::from(body(&self.service, batch));
        for last in [false, true] {
            match self.post(body.clone()).await {
                Sent::Taken => return,
                Sent::Refused => break,
                Sent::Away if last => {}
                Sent::Away => sleep(PAUSE).await,
            }
        }
        self.lost(batch.len() as u64);
    }

    /// Counts dropped spans, and logs a warning from time to time.
    fn lost(&mut self, count: u64) {
        self.dropped += count;
        self.untold += count;
        if self.told.is_none_or(|told| told.elapsed() >= TELL) {
            tracing::warn!(
                dropped = self.untold,
                "spans were dropped: the collector of traces does not take them"
            );
            self.untold = 0;
            self.told = Some(Instant::now());
        }
    }

    async fn post(&self, body: Bytes) -> Sent {
        let mut late = pin!(sleep_until(Instant::now() + PATIENCE));
        let request = || {
            let mut request = Request::new(Full::new(body.clone()));
            *request.method_mut() = Method::POST;
            *request.uri_mut() = self.uri.clone();
            *request.headers_mut() = self.headers.clone();
            request
        };
        let Ok(mut open) = self.lines.open().await else {
            return Sent::Away;
        };
        let mut answer = open.send(request(), late.as_mut()).await;
        if open.reused() && answer.is_err() {
            // The collector closed the idle connection.
            let Ok(fresh) = self.lines.fresh().await else {
                return Sent::Away;
            };
            open = fresh;
            answer = open.send(request(), late.as_mut()).await;
        }
        let Ok(answer) = answer else {
            return Sent::Away;
        };
        let status = answer.status();
        let mut rest = answer.into_body();
        let mut read = 0;
        let whole = loop {
            match Open::next(&mut open, &mut rest, late.as_mut()).await {
                Ok(None) => break true,
                Ok(Some(bytes)) if read + bytes.len() <= MOST_READ => read += bytes.len(),
                Ok(Some(_)) | Err(_) => break false,
            }
        };
        if whole {
            self.lines.keep(open);
        }
        match status.as_u16() {
            200..=299 => Sent::Taken,
            408 | 429 | 500..=599 => Sent::Away,
            _ => Sent::Refused,
        }
    }
}

/// Result of a request.
enum Sent {
    Taken,
    /// Failed for now; may be retried.
    Away,
    /// Refused; not retried.
    Refused,
}
