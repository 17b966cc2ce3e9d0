//! Background services of a server: live events, webhooks and MCP. Mounts their routes, registers their
//! metrics and shuts them down.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use polis_ops::Polis;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use tokio_util::sync::CancellationToken;

use super::problem;
use crate::events::{self, Hub, SseSettings, WebhookSender, WebhookSettings};
use crate::mcp::{self, HttpOptions, HttpService};
use crate::metrics::Metrics;

/// Path of the MCP endpoint.
pub(crate) const MCP: &str = "/mcp";
/// Polling interval while waiting for MCP calls to end.
const LOOK: Duration = Duration::from_millis(20);
/// How long webhook deliveries in progress may take at shutdown.
const WEBHOOKS: Duration = Duration::from_secs(5);

/// Background services of a server.
#[derive(Debug)]
pub struct Live {
    hub: Hub,
    webhooks: WebhookSender,
    mcp: HttpService,
    mcp_stop: CancellationToken,
    metrics: Arc<Metrics>,
}

impl Live {
    /// Starts the services and mounts their routes. Must be called within the tokio runtime.
    pub fn start(polis: &Polis, router: Router, metrics: &Arc<Metrics>) -> (Self, Router) {
        let hub = Hub::new(polis);
        let webhooks = WebhookSender::start(polis.clone(), hub.clone(), WebhookSettings::default());
        let mcp_stop = CancellationToken::new();
        let options = HttpOptions {
            metrics: Some(Arc::clone(metrics)),
            ..HttpOptions::new(mcp_stop.clone())
        };
        let mcp = mcp::service(polis.clone(), hub.clone(), options);
        let events = events::router(
            hub.clone(),
            polis.clone(),
            SseSettings::default(),
            problem::response,
        );
        let router = router.route_service(MCP, mcp.clone()).merge(events);
        let live = Self {
            hub,
            webhooks,
            mcp,
            mcp_stop,
            metrics: Arc::clone(metrics),
        };
        metrics.add(Box::new(Figures {
            hub: live.hub.clone(),
            webhooks: live.webhooks.watch(),
            mcp: live.mcp.clone(),
        }));
        (live, router)
    }

    /// Returns the hub that follows the log for all readers.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Shuts down gracefully: event readers get a closing notice, and MCP calls are finished.
    pub(crate) async fn end(self) {
        let _ = tokio::time::timeout(WEBHOOKS, self.webhooks.stop()).await;
        self.hub.close();
        // An MCP response may be a stream that is open before the call is done.
        while self.metrics.in_flight.get() > 0 || self.mcp.is_busy() {
            tokio::time::sleep(LOOK).await;
        }
        self.mcp_stop.cancel();
    }

    /// Returns a handle that ends the services immediately.
    pub(crate) fn at_once(&self) -> AtOnce {
        AtOnce {
            hub: self.hub.clone(),
            mcp_stop: self.mcp_stop.clone(),
        }
    }
}

/// Ends the services without waiting.
#[derive(Debug)]
pub(crate) struct AtOnce {
    hub: Hub,
    mcp_stop: CancellationToken,
}

impl AtOnce {
    pub(crate) fn end(&self) {
        self.hub.close();
        self.mcp_stop.cancel();
    }
}

/// Collects the metrics on each scrape.
#[derive(Debug)]
struct Figures {
    hub: Hub,
    webhooks: events::webhook::WebhookWatch,
    mcp: HttpService,
}

impl Collector for Figures {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let (hub, hooks) = (self.hub.figures(), self.webhooks.figures());
        let number = |count: usize| i64::try_from(count).unwrap_or(i64::MAX);
        for (name, about, value) in [
            (
                "events_readers",
                "Readers of live events",
                number(hub.readers),
            ),
            (
                "events_head",
                "The newest place in the log the readers were told of",
                i64::try_from(hub.head).unwrap_or(i64::MAX),
            ),
            (
                "events_kept",
                "Events in memory for readers",
                number(hub.kept_events),
            ),
            (
                "events_kept_bytes",
                "What they take, about",
                number(hub.kept_bytes),
            ),
            ("webhooks", "Webhooks there are", number(hooks.webhooks)),
            (
                "mcp_sessions",
                "Sessions of older MCP clients",
                number(self.mcp.sessions()),
            ),
        ] {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, about, None, gauge.metric_type())?)?;
        }
        for (name, about, value) in [
            (
                "events_handed_out",
                "Events readers took, all together",
                hub.handed_out,
            ),
            (
                "events_pages_read",
                "Pages read from the store for readers that were behind",
                hub.pages_read,
            ),
            (
                "events_failures",
                "How often following the store failed",
                hub.failures,
            ),
            (
                "webhooks_delivered",
                "Events delivered to webhooks",
                hooks.delivered,
            ),
            (
                "webhooks_failed",
                "Deliveries to webhooks that failed",
                hooks.failed,
            ),
        ] {
            let counter = ConstCounter::new(value);
            counter.encode(encoder.encode_descriptor(
                name,
                about,
                None,
                counter.metric_type(),
            )?)?;
        }
        Ok(())
    }
}
