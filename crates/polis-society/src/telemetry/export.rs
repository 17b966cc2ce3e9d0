//! Sends spans to a collector, many at a time. A collector that is away costs nobody anything but the spans.

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

/// How many spans go together at most.
const TOGETHER: usize = 512;
/// How long a span waits for others.
const WAIT: Duration = Duration::from_secs(2);
/// How long the collector has for a request.
const PATIENCE: Duration = Duration::from_secs(10);
/// How long is waited before the second and last try.
const PAUSE: Duration = Duration::from_millis(500);
/// How often it is told that spans are dropped.
const TELL: Duration = Duration::from_secs(60);
/// The most of a collector's answer that is read to keep the connection.
const MOST_READ: usize = 64 << 10;

/// What waits to be sent.
#[derive(Debug)]
pub(super) enum Waiting {
    /// A span.
    Span(Box<Span>),
    /// So many were dropped because there was no room.
    Dropped(u64),
}

/// Sends spans.
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

    /// Sends until nothing more can come; how many spans were dropped.
    pub(super) async fn run(mut self, mut waiting: mpsc::Receiver<Waiting>) -> u64 {
        let mut batch = Vec::with_capacity(TOGETHER);
        let mut open = true;
        while open {
            let mut deadline = pin!(sleep_until(Instant::now() + WAIT));
            while batch.len() < TOGETHER {
                let next = if batch.is_empty() {
                    // Nobody waits: neither do we.
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

    /// Counts what is lost, and tells the operator now and then.
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
            // Hung up while nobody used it.
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

/// What became of a request.
enum Sent {
    Taken,
    /// Not now.
    Away,
    /// Never.
    Refused,
}
