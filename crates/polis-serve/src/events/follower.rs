//! A reader's place in the log, and what comes after it.

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

use super::batch::News;
use super::hub::Core;
use super::ring::Look;

/// How long a reader waits before it asks a store again that failed: at first, and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(2));

/// One reader of the log. Leaves when it is dropped.
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

    /// Everything up to here was handed out.
    pub fn place(&self) -> u64 {
        self.place
    }

    /// Goes on from another place.
    pub fn seek(&mut self, place: u64) {
        self.place = place;
    }

    /// Waits for what comes next: neighbouring events, at least one. `None` when the hub was closed and
    /// everything it told of was taken. May be dropped half-way; nothing is lost then.
    ///
    /// Whoever is behind what the hub has in memory reads from the store, a page at a time. A store that
    /// is away is waited for.
    pub async fn next(&mut self) -> Option<News> {
        let mut again = AGAIN.0;
        loop {
            // One that always has something to read must not keep others from running.
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
                    // Nothing is waited for that will not be told any more.
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
