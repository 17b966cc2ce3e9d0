//! The one follower of the commit log that all readers of a process share.
//!
//! A task waits for the store, puts new events into the [`Ring`] and tells the readers, group by group
//! (see [`pace`]). It runs while there are readers. Readers keep their own place in the log and take what
//! comes after it (see [`Follower`]); nothing they do, or fail to do, holds it or a writer up.

use std::fmt;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use polis_ops::port::EventQuery;
use polis_ops::{OpError, Polis, PortError};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::batch::Batch;
use super::follower::Follower;
use super::page_cache::{History, Log, PAGE};
use super::ring::{Bounds, Look, Ring};
use super::throttle;

/// How long one wait for the store takes; only so that a wait never is for ever.
const WAIT: Duration = Duration::from_secs(60);
/// How many pages a round may bring, so that one that is far behind tells of its progress.
const PAGES_A_ROUND: u32 = 8;
/// How long to wait before a store that failed is asked again: at first, and at most.
const AGAIN: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// What may be set about a hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubSettings {
    /// How many events are kept in memory.
    pub events: usize,
    /// How many bytes of memory they may take, about.
    pub bytes: usize,
    /// How long the log is followed when nobody reads any more.
    pub linger: Duration,
}

impl Default for HubSettings {
    fn default() -> Self {
        Self {
            events: 8_192,
            bytes: 16 << 20,
            linger: Duration::from_secs(5),
        }
    }
}

/// Figures about a hub, for whoever watches the server.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HubFigures {
    /// How many readers there are.
    pub readers: usize,
    /// The newest place in the log that the hub knows of.
    pub head: u64,
    /// How many events are in memory.
    pub kept_events: usize,
    /// How many bytes they take, about.
    pub kept_bytes: usize,
    /// How often readers were told of news.
    pub rounds: u64,
    /// How many events readers took, all together.
    pub handed_out: u64,
    /// How many pages were read from the store for readers that were behind.
    pub pages_read: u64,
    /// How often following the store failed.
    pub failures: u64,
}

/// The follower of a store's commit log; clones are the same one.
#[derive(Debug, Clone)]
pub struct Hub {
    core: Arc<Core>,
}

impl Hub {
    /// A hub over a store's log. Nothing runs until somebody reads.
    pub fn new(polis: &Polis) -> Self {
        Self::with(polis, HubSettings::default())
    }

    /// The same, with settings.
    pub fn with(polis: &Polis, settings: HubSettings) -> Self {
        Self::over(Arc::clone(&polis.store) as Arc<Log>, settings)
    }

    /// A hub over any log.
    pub(crate) fn over(log: Arc<Log>, settings: HubSettings) -> Self {
        let bounds = Bounds {
            events: settings.events,
            bytes: settings.bytes,
        };
        let core = Core {
            history: History::of(Arc::clone(&log)),
            log,
            settings,
            state: Mutex::new(State {
                ring: Ring::new(bounds),
                known: None,
                groups: Vec::new(),
                driver: None,
            }),
            crowd: watch::Sender::new(Crowd::default()),
            rounds: AtomicU64::new(0),
            handed_out: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        };
        Self {
            core: Arc::new(core),
        }
    }

    /// The place of the newest event, as the store says.
    pub async fn now(&self) -> Result<u64, OpError> {
        Ok(self.core.log.last_sequence().await?)
    }

    /// Reads everything after a place in the log. Called inside a tokio runtime, which the hub then
    /// works on.
    pub fn follow(&self, after: u64) -> Follower {
        let (group, told) = self.core.join();
        Follower::new(Arc::clone(&self.core), group, told, after)
    }

    /// Ends every reader, now and later; what they were told of they may still take.
    pub fn close(&self) {
        self.core.crowd.send_modify(|crowd| crowd.closed = true);
        // Without the senders a reader learns that nothing comes any more.
        self.core.state().groups.clear();
    }

    /// Whether it was closed.
    pub fn is_closed(&self) -> bool {
        self.core.crowd.borrow().closed
    }

    /// How many readers there are.
    pub fn readers(&self) -> usize {
        self.core.crowd.borrow().readers
    }

    /// The newest place it knows of; 0 while it does not follow.
    pub fn head(&self) -> u64 {
        self.core.state().known.unwrap_or(0)
    }

    /// Figures about it.
    pub fn figures(&self) -> HubFigures {
        let readers = self.readers();
        let state = self.core.state();
        let (kept_events, kept_bytes) = state.ring.size();
        HubFigures {
            readers,
            head: state.known.unwrap_or(0),
            kept_events,
            kept_bytes,
            rounds: self.core.rounds.load(Ordering::Relaxed),
            handed_out: self.core.handed_out.load(Ordering::Relaxed),
            pages_read: self.core.history.reads(),
            failures: self.core.failures.load(Ordering::Relaxed),
        }
    }
}

/// Who is there.
#[derive(Debug, Clone, Copy, Default)]
struct Crowd {
    readers: usize,
    closed: bool,
}

/// What a hub and its readers share.
pub(super) struct Core {
    log: Arc<Log>,
    settings: HubSettings,
    state: Mutex<State>,
    crowd: watch::Sender<Crowd>,
    pub(super) history: History,
    rounds: AtomicU64,
    handed_out: AtomicU64,
    failures: AtomicU64,
}

impl fmt::Debug for Core {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let crowd = *self.crowd.borrow();
        f.debug_struct("Core")
            .field("crowd", &crowd)
            .finish_non_exhaustive()
    }
}

#[derive(Debug)]
struct State {
    ring: Ring,
    /// Up to where the log was read; nowhere while it is not followed.
    known: Option<u64>,
    groups: Vec<Group>,
    driver: Option<JoinHandle<()>>,
}

/// Readers that are told together.
#[derive(Debug)]
struct Group {
    /// Up to where they may read.
    told: Arc<watch::Sender<u64>>,
    readers: usize,
}

impl Core {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a reader to a group that has room, and sees that the log is followed.
    fn join(self: &Arc<Self>) -> (usize, watch::Receiver<u64>) {
        let mut state = self.state();
        self.crowd.send_modify(|crowd| crowd.readers += 1);
        if self.crowd.borrow().closed {
            return (usize::MAX, watch::channel(0).1);
        }
        let newest = state.ring.last().unwrap_or(0);
        let with_room = state
            .groups
            .iter()
            .position(|g| g.readers < throttle::GROUP);
        let at = with_room.unwrap_or_else(|| {
            state.groups.push(Group {
                told: Arc::new(watch::Sender::new(newest)),
                readers: 0,
            });
            state.groups.len() - 1
        });
        let told = match state.groups.get_mut(at) {
            Some(group) => {
                if group.readers == 0 {
                    // Nobody told it while it was empty.
                    group.told.send_modify(|told| *told = (*told).max(newest));
                }
                group.readers += 1;
                group.told.subscribe()
            }
            None => watch::channel(0).1,
        };
        if state.driver.as_ref().is_none_or(JoinHandle::is_finished) {
            state.driver = Some(tokio::spawn(drive(Arc::clone(self))));
        }
        (at, told)
    }

    /// Takes a reader out of its group.
    pub(super) fn leave(&self, group: usize) {
        let mut state = self.state();
        if let Some(group) = state.groups.get_mut(group) {
            group.readers = group.readers.saturating_sub(1);
        }
        drop(state);
        self.crowd
            .send_modify(|crowd| crowd.readers = crowd.readers.saturating_sub(1));
    }

    /// What there is in memory after `place`, up to `told`.
    pub(super) fn look(&self, place: u64, told: u64) -> Look {
        self.state().ring.after(place, told)
    }

    /// Counts what a reader took.
    pub(super) fn took(&self, many: usize) {
        self.handed_out.fetch_add(many as u64, Ordering::Relaxed);
    }

    /// Waits until nobody has read for a while, or nobody may any more.
    async fn deserted(&self) {
        let mut crowd = self.crowd.subscribe();
        loop {
            let empty = crowd.wait_for(|crowd| crowd.readers == 0 || crowd.closed);
            if empty.await.is_ok_and(|crowd| crowd.closed) {
                return;
            }
            let back = crowd.wait_for(|crowd| crowd.readers > 0);
            if timeout(self.settings.linger, back).await.is_err() {
                return;
            }
        }
    }

    /// Forgets the log, unless somebody came in the meantime. Whether it did.
    fn rest(&self) -> bool {
        let mut state = self.state();
        let crowd = *self.crowd.borrow();
        if crowd.readers > 0 && !crowd.closed {
            return false;
        }
        state.ring.clear();
        state.known = None;
        // A group's readers must not take what they were told of before for what is there now.
        state.groups.clear();
        state.driver = None;
        true
    }

    /// Follows the log for ever. A store that is away is asked again until it is back.
    async fn rounds(&self) {
        let mut again = AGAIN.0;
        let mut first = 0_usize;
        loop {
            match self.read_on().await {
                Ok(true) => {
                    again = AGAIN.0;
                    self.tell(first).await;
                    first = first.wrapping_add(1);
                }
                Ok(false) => again = AGAIN.0,
                Err(error) => {
                    self.failures.fetch_add(1, Ordering::Relaxed);
                    tracing::warn!(code = %error.code, "following the log failed: {error}");
                    sleep(again).await;
                    again = again.saturating_mul(2).min(AGAIN.1);
                }
            }
            // Stores may answer without waiting; others have their turn all the same.
            tokio::task::yield_now().await;
        }
    }

    /// Waits for news and takes them into memory. Whether there were any.
    async fn read_on(&self) -> Result<bool, PortError> {
        let known = self.state().known;
        let mut last = match known {
            Some(last) => {
                let head = self.log.wait_beyond(last, WAIT).await?;
                if head <= last {
                    return Ok(false);
                }
                last
            }
            // Readers that come back after a restart are a little behind: begin a little before the end.
            None => {
                let head = self.log.last_sequence().await?;
                let begin = head.saturating_sub(u64::from(PAGE));
                self.state().known = Some(begin);
                if head == 0 {
                    return Ok(false);
                }
                begin
            }
        };
        for page in 0..PAGES_A_ROUND {
            let query = EventQuery {
                after: last,
                limit: PAGE,
                ..EventQuery::default()
            };
            let events = self.log.events(&query).await?;
            let full = events.len() >= PAGE as usize;
            let Some(batch) = Batch::of(events).filter(|batch| batch.first() == last + 1) else {
                // A full page may have been the last one.
                if page > 0 {
                    break;
                }
                return Err(PortError::internal("Reading the log", "it has a gap"));
            };
            last = batch.last();
            let mut state = self.state();
            state.ring.push(batch);
            state.known = Some(last);
            if !full {
                break;
            }
        }
        Ok(true)
    }

    /// Tells all groups, one after another, another one first each time.
    async fn tell(&self, first: usize) {
        let (head, readers, groups) = {
            let state = self.state();
            let there: Vec<&Group> = state.groups.iter().filter(|g| g.readers > 0).collect();
            let readers: usize = there.iter().map(|group| group.readers).sum();
            let mut groups: Vec<_> = there.iter().map(|g| Arc::clone(&g.told)).collect();
            let by = first.checked_rem(groups.len()).unwrap_or(0);
            groups.rotate_left(by);
            (state.known.unwrap_or(0), readers, groups)
        };
        self.rounds.fetch_add(1, Ordering::Relaxed);
        let round = throttle::round(readers);
        let begin = Instant::now();
        for (nth, group) in groups.iter().enumerate() {
            if nth > 0 && !round.is_zero() {
                sleep_until(begin + throttle::turn(round, nth, groups.len())).await;
            }
            group.send_if_modified(|told| {
                let news = *told < head;
                *told = (*told).max(head);
                news
            });
        }
        drop(groups);
        if !round.is_zero() {
            sleep_until(begin + round).await;
        }
    }
}

/// Follows the log while there are readers.
async fn drive(core: Arc<Core>) {
    loop {
        tokio::select! {
            () = core.rounds() => {}
            () = core.deserted() => {}
        }
        if core.rest() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
