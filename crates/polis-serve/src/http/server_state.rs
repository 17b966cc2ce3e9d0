//! Server state shared by all request handlers: store, settings, metrics and shutdown signals.

use std::sync::Arc;
use std::time::{Duration, Instant};

use polis_core::number::saturating_cast;
use polis_ops::App;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::options::ServerOptions;
use crate::metrics::ServerMetrics;

/// Server state shared by all request handlers.
#[derive(Debug)]
pub(crate) struct ServerState {
    pub(crate) app: App,
    pub(crate) options: ServerOptions,
    pub(crate) metrics: Arc<ServerMetrics>,
    pub(crate) shutdown: GracefulShutdown,
    started_at: Instant,
}

impl ServerState {
    pub(crate) fn new(app: App, options: ServerOptions) -> Self {
        Self {
            app,
            options,
            metrics: Arc::new(ServerMetrics::new()),
            shutdown: GracefulShutdown::default(),
            started_at: Instant::now(),
        }
    }

    /// Returns the nanoseconds since server start, for the rate limits.
    pub(crate) fn nanos_since_start(&self) -> u64 {
        saturating_cast::<u64>(self.started_at.elapsed().as_nanos())
    }
}

/// Graceful shutdown: first no new requests are accepted, and after a grace period running ones are
/// cancelled.
#[derive(Debug, Clone, Default)]
pub struct GracefulShutdown {
    /// Cancelled when the shutdown starts: no new requests are accepted.
    pub started: CancellationToken,
    /// Cancelled when the grace period is over: running requests end.
    pub grace_expired: CancellationToken,
    /// Operations that continue after their client has disconnected.
    pub(crate) detached_operations: TaskTracker,
}

impl GracefulShutdown {
    /// Waits until these operations are done, up to a timeout. Returns whether all of them finished.
    pub(crate) async fn wait_for_operations(&self, limit: Duration) -> bool {
        self.detached_operations.close();
        tokio::time::timeout(limit, self.detached_operations.wait())
            .await
            .is_ok()
    }
}
