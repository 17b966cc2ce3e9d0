//! OTLP exporter: sends spans to a collector in batches, with one retry. If the collector is unavailable,
//! spans are dropped and counted; nothing else is affected.

use std::pin::pin;
use std::time::Duration;

use bytes::Bytes;
use http::HeaderMap;
use polis_core::Refusal;
use polis_http_client::{HttpClient, HttpClientSettings, PostTarget, RequestTimeouts};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, sleep_until};

use super::otlp_span::{OtlpSpan, encode_spans};
use super::{TelemetrySettings, validate_header};
use crate::refusal_tables::ModelRefusal;

/// Maximum number of spans in a batch.
const MAX_BATCH_SPANS: usize = 512;
/// Maximum time a span waits for its batch to fill.
const BATCH_INTERVAL: Duration = Duration::from_secs(2);
/// Timeout of a request.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
/// Pause before the second and last attempt.
const RETRY_BACKOFF: Duration = Duration::from_millis(500);
/// Minimum time between two warnings about dropped spans.
const WARNING_INTERVAL: Duration = Duration::from_secs(60);
/// Timeout for reading the response body; the status is known before.
const RESPONSE_BODY_TIMEOUT: Duration = Duration::from_secs(1);

/// An item in the export queue.
#[derive(Debug)]
pub(super) enum ExportQueueItem {
    /// A span to be exported.
    Span(Box<OtlpSpan>),
    /// This many spans were dropped because the queue was full.
    Dropped(u64),
}

/// The exporter and its drop statistics.
#[derive(Debug)]
pub(super) struct OtlpExporter {
    client: HttpClient,
    target: PostTarget,
    service: String,
    dropped: u64,
    unreported_drops: u64,
    last_warning: Option<Instant>,
}

impl OtlpExporter {
    pub(super) fn new(settings: &TelemetrySettings) -> Result<Self, Refusal> {
        let client = HttpClient::new(HttpClientSettings {
            proxies: settings.proxies.clone(),
            ..HttpClientSettings::default()
        });
        let mut headers = HeaderMap::new();
        for (name, value) in &settings.headers {
            let (name, value) = validate_header(name, value)?;
            headers.insert(name, value);
        }
        let target = client.prepare(&settings.endpoint, headers);
        let target = target.map_err(|error| {
            Refusal::from(ModelRefusal::InvalidTraceUrl {
                detail: error.to_string(),
            })
        })?;
        Ok(Self {
            client,
            target,
            service: settings.service.clone(),
            dropped: 0,
            unreported_drops: 0,
            last_warning: None,
        })
    }

    /// Sends batches until the queue is closed; returns the number of dropped spans.
    pub(super) async fn run_until_closed(
        mut self,
        mut queue: mpsc::Receiver<ExportQueueItem>,
    ) -> u64 {
        let mut batch = Vec::with_capacity(MAX_BATCH_SPANS);
        let mut open = true;
        while open {
            let mut deadline = pin!(sleep_until(Instant::now() + BATCH_INTERVAL));
            while batch.len() < MAX_BATCH_SPANS {
                let next = if batch.is_empty() {
                    // No span is waiting, so no batch timeout runs.
                    let next = queue.recv().await;
                    deadline.as_mut().reset(Instant::now() + BATCH_INTERVAL);
                    next
                } else {
                    tokio::select! {
                        next = queue.recv() => next,
                        () = &mut deadline => break,
                    }
                };
                match next {
                    Some(ExportQueueItem::Span(span)) => batch.push(*span),
                    Some(ExportQueueItem::Dropped(count)) => self.count_dropped(count),
                    None => {
                        open = false;
                        break;
                    }
                }
            }
            if !batch.is_empty() {
                self.send_batch(&batch).await;
                batch.clear();
            }
        }
        self.dropped
    }

    /// Sends a batch, with one retry; counts its spans as dropped if that fails.
    async fn send_batch(&mut self, batch: &[OtlpSpan]) {
        let body = Bytes::from(encode_spans(&self.service, batch));
        for last in [false, true] {
            match self.post_batch(body.clone()).await {
                ExportOutcome::Accepted => return,
                ExportOutcome::Rejected => break,
                ExportOutcome::Unavailable if last => {}
                ExportOutcome::Unavailable => sleep(RETRY_BACKOFF).await,
            }
        }
        self.count_dropped(batch.len() as u64);
    }

    /// Counts dropped spans, and logs a warning from time to time.
    fn count_dropped(&mut self, count: u64) {
        self.dropped += count;
        self.unreported_drops += count;
        if self
            .last_warning
            .is_none_or(|warned_at| warned_at.elapsed() >= WARNING_INTERVAL)
        {
            tracing::warn!(
                dropped = self.unreported_drops,
                "spans were dropped: the trace collector does not accept them"
            );
            self.unreported_drops = 0;
            self.last_warning = Some(Instant::now());
        }
    }

    /// Posts a batch to the collector once.
    async fn post_batch(&self, body: Bytes) -> ExportOutcome {
        let timeouts = RequestTimeouts::total(EXPORT_TIMEOUT);
        let posting = self
            .client
            .post(&self.target, HeaderMap::new(), body, timeouts);
        let Ok(response) = posting.await else {
            return ExportOutcome::Unavailable;
        };
        let status = response.status();
        response.drain(RESPONSE_BODY_TIMEOUT).await;
        match status.as_u16() {
            200..=299 => ExportOutcome::Accepted,
            408 | 429 | 500..=599 => ExportOutcome::Unavailable,
            _ => ExportOutcome::Rejected,
        }
    }
}

/// Result of a request.
enum ExportOutcome {
    Accepted,
    /// Temporary failure; may be retried.
    Unavailable,
    /// Rejected by the collector; not retried.
    Rejected,
}
