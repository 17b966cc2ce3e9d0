//! Older parts of the log, for readers that begin or fall behind what the hub keeps in memory.
//!
//! Pages lie at fixed places and never change once they are full, so those who catch up together share
//! them: a thousand readers that come back after a restart read the store once, not a thousand times.

use std::collections::VecDeque;
use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use polis_ops::PortError;
use polis_ops::port::{EventQuery, Events};
use tokio::sync::{OnceCell, Semaphore};

use super::batch::{Batch, News};

/// How many events a page has.
pub(crate) const PAGE: u32 = 256;
/// How many pages are kept.
const PAGES: usize = 32;
/// How many bytes they may have together, about.
const BYTES: usize = 16 << 20;
/// How many pages are read from the store at the same time.
const AT_ONCE: usize = 2;

/// A commit log.
pub(crate) type Log = dyn Events + Send + Sync;

type Slot = Arc<OnceCell<Arc<Batch>>>;

/// Pages of the log.
pub(crate) struct History {
    log: Arc<Log>,
    /// The page used last stands last.
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
    /// The pages of this log; none is read yet.
    pub(crate) fn of(log: Arc<Log>) -> Self {
        Self {
            log,
            pages: Mutex::default(),
            turns: Semaphore::new(AT_ONCE),
            reads: AtomicU64::new(0),
        }
    }

    /// How many pages were read from the store.
    pub(crate) fn reads(&self) -> u64 {
        self.reads.load(Ordering::Relaxed)
    }

    /// What comes after `place`, up to the end of a page. The log must go on there.
    pub(crate) async fn after(&self, place: u64) -> Result<News, PortError> {
        let number = place / u64::from(PAGE);
        // A page that was short when somebody else read it may end before the place; the next look is
        // at a fresh one.
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
