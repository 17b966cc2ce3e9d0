//! Log follower: the cursor of one reader in the event log.
//!
//! Returns the events after its position: from the hub's in-memory ring, or from the store if the reader has
//! fallen behind the ring.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use super::batch::EventSlice;
use super::hub::HubShared;
use super::ring::RingLookup;

/// Backoff before a failed read of the store is retried: initial and maximum.
const RETRY_BACKOFF: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// A reader of the log. Unregisters from the hub when dropped.
#[derive(Debug)]
pub struct LogFollower {
    hub: Arc<HubShared>,
    group: usize,
    announced: watch::Receiver<u64>,
    position: u64,
}

impl LogFollower {
    pub(super) fn new(
        hub: Arc<HubShared>,
        group: usize,
        announced: watch::Receiver<u64>,
        position: u64,
    ) -> Self {
        Self {
            hub,
            group,
            announced,
            position,
        }
    }

    /// Returns the sequence number of the last event that was returned.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Continues from another sequence number.
    pub fn seek(&mut self, position: u64) {
        self.position = position;
    }

    /// Waits for the next consecutive events; at least one. Returns `None` once the hub is closed and every
    /// event it announced has been returned. Cancel safe: dropping the future loses no events.
    ///
    /// A reader that is behind the hub's ring reads from the store, one page at a time. Failed reads are
    /// retried.
    pub async fn next(&mut self) -> Option<EventSlice> {
        let mut delay = RETRY_BACKOFF.0;
        loop {
            // A reader that always has events to read must not starve other tasks.
            tokio::task::consume_budget().await;
            let announced = *self.announced.borrow_and_update();
            let found = match self.hub.lookup(self.position, announced) {
                RingLookup::Events(slice) => Ok(slice),
                RingLookup::OlderThanRing => self.hub.page_cache.events_after(self.position).await,
                RingLookup::NoneYet => {
                    self.announced.changed().await.ok()?;
                    continue;
                }
            };
            match found {
                Ok(slice) => {
                    self.position = slice.last_seq();
                    self.hub.count_handed_out(slice.count());
                    return Some(slice);
                }
                Err(error) => {
                    tracing::warn!(code = %error.code, "reading the log failed: {error}");
                    // Do not retry once the hub is closed: no further events will be announced.
                    self.announced.has_changed().ok()?;
                    sleep(delay).await;
                    delay = delay.saturating_mul(2).min(RETRY_BACKOFF.1);
                }
            }
        }
    }
}

impl Drop for LogFollower {
    fn drop(&mut self) {
        self.hub.remove_reader(self.group);
    }
}
