//! Cursor of one reader in the commit log.
//!
//! Returns the events after its position: from the hub's in-memory ring, or from the store if the reader has
//! fallen behind the ring.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use super::batch::News;
use super::hub::Core;
use super::ring::Look;

/// Backoff before a failed read of the store is retried: initial and maximum.
const AGAIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// A reader of the log. Unregisters from the hub when dropped.
#[derive(Debug)]
pub struct Follower {
    core: Arc<Core>,
    group: usize,
    told: watch::Receiver<u64>,
    place: u64,
}

impl Follower {
    pub(super) fn new(
        core: Arc<Core>,
        group: usize,
        told: watch::Receiver<u64>,
        place: u64,
    ) -> Self {
        Self {
            core,
            group,
            told,
            place,
        }
    }

    /// Returns the sequence number of the last event that was returned.
    pub fn place(&self) -> u64 {
        self.place
    }

    /// Continues from another sequence number.
    pub fn seek(&mut self, place: u64) {
        self.place = place;
    }

    /// Waits for the next consecutive events; at least one. Returns `None` once the hub is closed and every
    /// event it announced has been returned. Cancel safe: dropping the future loses no events.
    ///
    /// A reader that is behind the hub's ring reads from the store, one page at a time. Failed reads are
    /// retried.
    pub async fn next(&mut self) -> Option<News> {
        let mut again = AGAIN.0;
        loop {
            // A reader that always has events to read must not starve other tasks.
            tokio::task::consume_budget().await;
            let told = *self.told.borrow_and_update();
            let found = match self.core.look(self.place, told) {
                Look::News(news) => Ok(news),
                Look::Older => self.core.history.after(self.place).await,
                Look::Nothing => {
                    self.told.changed().await.ok()?;
                    continue;
                }
            };
            match found {
                Ok(news) => {
                    self.place = news.last();
                    self.core.took(news.count());
                    return Some(news);
                }
                Err(error) => {
                    tracing::warn!(code = %error.code, "reading the log failed: {error}");
                    // Do not retry once the hub is closed: no further events will be announced.
                    self.told.has_changed().ok()?;
                    sleep(again).await;
                    again = again.saturating_mul(2).min(AGAIN.1);
                }
            }
        }
    }
}

impl Drop for Follower {
    fn drop(&mut self) {
        self.core.leave(self.group);
    }
}
