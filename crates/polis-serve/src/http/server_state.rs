//! What all requests of a server share.

use std::sync::Arc;
use std::time::{Duration, Instant};

use polis_ops::Polis;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::options::Options;
use crate::metrics::Metrics;

/// What all requests of a server share.
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

    /// Nanoseconds since the server began, for rates.
    pub(crate) fn clock(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}

/// How a server ends: first nothing new is accepted, and after a time nothing goes on.
#[derive(Debug, Clone, Default)]
pub struct Closing {
    /// Nothing new is accepted.
    pub begun: CancellationToken,
    /// Whatever is still under way ends.
    pub over: CancellationToken,
    /// Deeds that go on when nobody listens any more.
    pub(crate) deeds: TaskTracker,
}

impl Closing {
    /// Waits until all deeds are done, but not for ever.
    pub(crate) async fn settled(&self, at_most: Duration) -> bool {
        self.deeds.close();
        tokio::time::timeout(at_most, self.deeds.wait())
            .await
            .is_ok()
    }
}
