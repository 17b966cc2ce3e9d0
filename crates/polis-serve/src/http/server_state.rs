//! Server state shared by all request handlers: store, settings, metrics and shutdown signals.

use std::sync::Arc;
use std::time::{Duration, Instant};

use polis_ops::Polis;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::options::Options;
use crate::metrics::Metrics;

/// Server state shared by all request handlers.
#[derive(Debug)]
pub(crate) struct Ground {
    pub(crate) polis: Polis,
    pub(crate) options: Options,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) closing: Closing,
    begun: Instant,
}

impl Ground {
    pub(crate) fn new(polis: Polis, options: Options) -> Self {
        Self {
            polis,
            options,
            metrics: Arc::new(Metrics::new()),
            closing: Closing::default(),
            begun: Instant::now(),
        }
    }

    /// Returns the nanoseconds since server start, for the rate limits.
    pub(crate) fn clock(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// Graceful shutdown: first no new requests are accepted, and after a grace period running ones are
/// cancelled.
#[derive(Debug, Clone, Default)]
pub struct Closing {
    /// Cancelled when the shutdown starts: no new requests are accepted.
    pub begun: CancellationToken,
    /// Cancelled when the grace period is over: running requests end.
    pub over: CancellationToken,
    /// Operations that continue after their client has disconnected.
    pub(crate) deeds: TaskTracker,
}

impl Closing {
    /// Waits until these operations are done, up to a timeout. Returns whether all of them finished.
    pub(crate) async fn settled(&self, at_most: Duration) -> bool {
        self.deeds.close();
        tokio::time::timeout(at_most, self.deeds.wait())
            .await
            .is_ok()
    }
}
