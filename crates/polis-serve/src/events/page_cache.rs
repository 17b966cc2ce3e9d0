//! Page cache over the older part of the log, for readers that start or fall behind the hub's in-memory ring.
//!
//! Pages have fixed boundaries and never change once they are full, so readers that catch up at the same time
//! share them: a thousand readers that reconnect after a restart read the store once, not a thousand times.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use polis_ops::PortError;
use polis_ops::port::{EventQuery, Events};
use tokio::sync::{OnceCell, Semaphore};

use super::batch::{Batch, News};

/// Number of events per page.
pub(crate) const PAGE: u32 = 256;
/// Maximum number of cached pages.
const PAGES: usize = 32;
/// Approximate maximum size of the cached pages in bytes.
const BYTES: usize = 16 << 20;
/// Maximum number of concurrent page reads from the store.
const AT_ONCE: usize = 2;

/// The commit log of a store.
pub(crate) type Log = dyn Events + Send + Sync;

type Slot = Arc<OnceCell<Arc<Batch>>>;

/// LRU cache of log pages.
pub(crate) struct History {
    log: Arc<Log>,
    /// In order of use; the most recently used page is last.
    pages: Mutex<VecDeque<(u64, Slot)>>,
    turns: Semaphore,
    reads: AtomicU64,
}

impl fmt::Debug for History {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("History").finish_non_exhaustive()
    }
}

impl History {
    /// Creates an empty cache over this log.
    pub(crate) fn of(log: Arc<Log>) -> Self {
        Self {
            log,
            pages: Mutex::default(),
            turns: Semaphore::new(AT_ONCE),
            reads: AtomicU64::new(0),
        }
    }

    /// Returns how many pages were read from the store.
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// Returns the events after `place`, up to the end of a page. Fails if the log has no event after
    /// `place`.
    pub(crate) async fn after(&self, place: u64) -> Result<News, PortError> {
        let number = place / u64::from(PAGE);
        // A partial page cached by another reader may end before `place`; the second attempt reads it again.
        for _ in 0..2 {
            let slot = self.slot(number);
            let batch = slot.get_or_try_init(|| self.read(number)).await?;
            if batch.len() < PAGE as usize {
                self.forget(number, &slot);
            }
            if let Some(news) = News::of(batch, place, u64::MAX) {
                return Ok(news);
            }
        }
        Err(PortError::internal(
            "Reading the log",
            "it has no event at the place",
        ))
    }

    async fn read(&self, number: u64) -> Result<Arc<Batch>, PortError> {
        let _turn = self.turns.acquire().await;
        let query = EventQuery {
            after: number * u64::from(PAGE),
            limit: PAGE,
            ..EventQuery::default()
        };
        self.reads.fetch_add(1, Ordering::Relaxed);
        let events = self.log.events(&query).await?;
        Batch::of(events)
            .filter(|batch| batch.first() == query.after + 1)
            .ok_or_else(|| PortError::internal("Reading the log", "it has a gap"))
    }

    fn slot(&self, number: u64) -> Slot {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        let found = pages.iter().position(|(n, _)| *n == number);
        let known = found.and_then(|at| pages.remove(at));
        let (_, slot) = known.unwrap_or_else(|| (number, Slot::default()));
        pages.push_back((number, Arc::clone(&slot)));
        let weight = |(_, slot): &(u64, Slot)| slot.get().map_or(0, |batch| batch.weight());
        let mut bytes: usize = pages.iter().map(weight).sum();
        while pages.len() > PAGES || (bytes > BYTES && pages.len() > 1) {
            bytes -= pages.pop_front().as_ref().map_or(0, weight);
        }
        slot
    }

    fn forget(&self, number: u64, slot: &Slot) {
        let mut pages = self.pages.lock().unwrap_or_else(PoisonError::into_inner);
        pages.retain(|(n, kept)| *n != number || !Arc::ptr_eq(kept, slot));
    }
}
