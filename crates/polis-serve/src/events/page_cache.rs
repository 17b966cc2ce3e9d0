//! Page cache over the older part of the log, for readers that start or fall behind the hub's in-memory ring.
//!
//! Pages have fixed boundaries and never change once they are full, so readers that catch up at the same time
//! share them: a thousand readers that reconnect after a restart read the store once, not a thousand times.

use std::collections::VecDeque;
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::Mutex;
use polis_ops::PortError;
use polis_ops::port::{EventLogQuery, EventLogReader};
use tokio::sync::{OnceCell, Semaphore};

use super::batch::{EventBatch, EventSlice};

/// Number of events per page.
pub(crate) const EVENTS_PER_PAGE: u32 = 256;
/// Maximum number of cached pages.
const MAX_CACHED_PAGES: usize = 32;
/// Approximate maximum size of the cached pages in bytes.
const MAX_CACHED_BYTES: usize = 16 << 20;
/// Maximum number of concurrent page reads from the store.
const MAX_CONCURRENT_READS: usize = 2;

/// The event log of a store.
pub(crate) type CommitLog = dyn EventLogReader + Send + Sync;

/// Cache cell of a page, which concurrent readers fill only once.
type PageCell = Arc<OnceCell<Arc<EventBatch>>>;

/// LRU cache of log pages.
pub(crate) struct LogPageCache {
    log: Arc<CommitLog>,
    /// In order of use; the most recently used page is last.
    pages: Mutex<VecDeque<(u64, PageCell)>>,
    read_permits: Semaphore,
    pages_read: AtomicU64,
}

impl fmt::Debug for LogPageCache {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LogPageCache").finish_non_exhaustive()
    }
}

impl LogPageCache {
    /// Creates an empty cache over this log.
    pub(crate) fn new(log: Arc<CommitLog>) -> Self {
        Self {
            log,
            pages: Mutex::default(),
            read_permits: Semaphore::new(MAX_CONCURRENT_READS),
            pages_read: AtomicU64::new(0),
        }
    }

    /// Returns how many pages were read from the store.
    pub(crate) fn pages_read(&self) -> u64 {
        self.pages_read.load(Ordering::Relaxed)
    }

    /// Returns the events after `position`, up to the end of a page. Fails if the log has no event after
    /// `position`.
    pub(crate) async fn events_after(&self, position: u64) -> Result<EventSlice, PortError> {
        let number = position / u64::from(EVENTS_PER_PAGE);
        // A partial page cached by another reader may end before `position`; the second attempt reads it again.
        for _ in 0..2 {
            let slot = self.page_cell(number);
            let batch = slot.get_or_try_init(|| self.read_page(number)).await?;
            if batch.len() < EVENTS_PER_PAGE as usize {
                self.evict_page(number, &slot);
            }
            if let Some(slice) = EventSlice::from_batch(batch, position, u64::MAX) {
                return Ok(slice);
            }
        }
        Err(PortError::internal(
            "Reading the log",
            "it has no event after the requested position",
        ))
    }

    async fn read_page(&self, number: u64) -> Result<Arc<EventBatch>, PortError> {
        let _permit = self.read_permits.acquire().await;
        let query = EventLogQuery {
            after: number * u64::from(EVENTS_PER_PAGE),
            limit: EVENTS_PER_PAGE,
            ..EventLogQuery::default()
        };
        self.pages_read.fetch_add(1, Ordering::Relaxed);
        let events = self.log.events(&query).await?;
        EventBatch::from_events(events)
            .filter(|batch| batch.first_seq() == query.after + 1)
            .ok_or_else(|| PortError::internal("Reading the log", "it has a gap"))
    }

    fn page_cell(&self, number: u64) -> PageCell {
        let mut pages = self.pages.lock();
        let found = pages.iter().position(|(n, _)| *n == number);
        let cached = found.and_then(|at| pages.remove(at));
        let (_, slot) = cached.unwrap_or_else(|| (number, PageCell::default()));
        pages.push_back((number, Arc::clone(&slot)));
        let weight =
            |(_, slot): &(u64, PageCell)| slot.get().map_or(0, |batch| batch.memory_bytes());
        let mut bytes: usize = pages.iter().map(weight).sum();
        while pages.len() > MAX_CACHED_PAGES || (bytes > MAX_CACHED_BYTES && pages.len() > 1) {
            bytes -= pages.pop_front().as_ref().map_or(0, weight);
        }
        slot
    }

    fn evict_page(&self, number: u64, slot: &PageCell) {
        let mut pages = self.pages.lock();
        pages.retain(|(n, cached)| *n != number || !Arc::ptr_eq(cached, slot));
    }
}
