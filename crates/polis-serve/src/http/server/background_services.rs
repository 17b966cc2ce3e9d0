//! Background services of a server: live events, webhooks and MCP. Mounts their routes, registers their
//! metrics and shuts them down.

use std::sync::Arc;
use std::time::Duration;

use axum::Router;
use polis_core::number::saturating_cast;
use polis_ops::App;
use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric as _};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;
use tokio_util::sync::CancellationToken;

use crate::events::{self, Hub, SseSettings, WebhookSender, WebhookSettings};
use crate::http::problem;
use crate::mcp::{self, McpHttpOptions, McpHttpService};
use crate::metrics::ServerMetrics;

/// Path of the MCP endpoint.
pub(crate) const MCP_PATH: &str = "/mcp";
/// Polling interval while waiting for MCP calls to end.
const SHUTDOWN_POLL_INTERVAL: Duration = Duration::from_millis(20);
/// How long webhook deliveries in progress may take at shutdown.
const WEBHOOK_STOP_TIMEOUT: Duration = Duration::from_secs(5);

/// Background services of a server.
#[derive(Debug)]
pub struct BackgroundServices {
    hub: Hub,
    webhooks: WebhookSender,
    mcp: McpHttpService,
    mcp_stop: CancellationToken,
    metrics: Arc<ServerMetrics>,
}

impl BackgroundServices {
    /// Starts the services and mounts their routes. Must be called within the tokio runtime.
    pub fn start(app: &App, router: Router, metrics: &Arc<ServerMetrics>) -> (Self, Router) {
        let hub = Hub::new(app);
        let webhooks = WebhookSender::start(app.clone(), hub.clone(), WebhookSettings::default());
        let mcp_stop = CancellationToken::new();
        let options = McpHttpOptions {
            metrics: Some(Arc::clone(metrics)),
            ..McpHttpOptions::new(mcp_stop.clone())
        };
        let mcp = mcp::mcp_http_service(app.clone(), hub.clone(), options);
        let events = events::sse_router(
            hub.clone(),
            app.clone(),
            SseSettings::default(),
            problem::error_response,
        );
        let router = router.route_service(MCP_PATH, mcp.clone()).merge(events);
        let live = Self {
            hub,
            webhooks,
            mcp,
            mcp_stop,
            metrics: Arc::clone(metrics),
        };
        metrics.register_collector(Box::new(ServiceMetricsCollector {
            hub: live.hub.clone(),
            webhooks: live.webhooks.metrics_handle(),
            mcp: live.mcp.clone(),
        }));
        (live, router)
    }

    /// Returns the hub that follows the event log for all readers.
    pub fn hub(&self) -> &Hub {
        &self.hub
    }

    /// Shuts down gracefully: event readers get a closing notice, and MCP calls are finished.
    pub(crate) async fn shut_down(self) {
        let _ = tokio::time::timeout(WEBHOOK_STOP_TIMEOUT, self.webhooks.stop()).await;
        self.hub.close();
        // An MCP response may be a stream that is open before the call is done.
        while self.metrics.in_flight.get() > 0 || self.mcp.is_busy() {
            tokio::time::sleep(SHUTDOWN_POLL_INTERVAL).await;
        }
        self.mcp_stop.cancel();
    }

    /// Returns a handle that ends the services immediately.
    pub(crate) fn force_stop_handle(&self) -> ForceStopHandle {
        ForceStopHandle {
            hub: self.hub.clone(),
            mcp_stop: self.mcp_stop.clone(),
        }
    }
}

/// Ends the services without waiting.
#[derive(Debug)]
pub(crate) struct ForceStopHandle {
    hub: Hub,
    mcp_stop: CancellationToken,
}

impl ForceStopHandle {
    pub(crate) fn stop_now(&self) {
        self.hub.close();
        self.mcp_stop.cancel();
    }
}

/// Collects the metrics on each scrape.
#[derive(Debug)]
struct ServiceMetricsCollector {
    hub: Hub,
    webhooks: events::webhook::WebhookMetricsHandle,
    mcp: McpHttpService,
}

impl Collector for ServiceMetricsCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), std::fmt::Error> {
        let (hub, hooks) = (self.hub.metrics(), self.webhooks.metrics());
        let number = |count: usize| saturating_cast::<i64>(count);
        for (name, help, value) in [
            (
                "events_readers",
                "Readers of live events",
                number(hub.readers),
            ),
            (
                "events_head",
                "Newest sequence number of the log known to the hub",
                saturating_cast::<i64>(hub.head),
            ),
            (
                "events_kept",
                "Events kept in memory for readers",
                number(hub.buffered_events),
            ),
            (
                "events_kept_bytes",
                "Approximate memory of the kept events in bytes",
                number(hub.buffered_bytes),
            ),
            ("webhooks", "Registered webhooks", number(hooks.webhooks)),
            (
                "mcp_sessions",
                "Open MCP sessions (protocol revisions with sessions)",
                number(self.mcp.session_count()),
            ),
        ] {
            let gauge = ConstGauge::new(value);
            gauge.encode(encoder.encode_descriptor(name, help, None, gauge.metric_type())?)?;
        }
        for (name, help, value) in [
            (
                "events_handed_out",
                "Events returned to readers, summed over all readers",
                hub.handed_out,
            ),
            (
                "events_pages_read",
                "Pages read from the store for readers that were behind",
                hub.pages_read,
            ),
            (
                "events_failures",
                "Failed attempts to follow the event log",
                hub.failures,
            ),
            (
                "webhooks_delivered",
                "Events delivered to webhooks",
                hooks.delivered,
            ),
            ("webhooks_failed", "Failed webhook deliveries", hooks.failed),
        ] {
            let counter = ConstCounter::new(value);
            counter.encode(encoder.encode_descriptor(
                name,
                help,
                None,
                counter.metric_type(),
            )?)?;
        }
        Ok(())
    }
}
