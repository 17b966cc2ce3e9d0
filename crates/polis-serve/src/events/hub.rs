//! Hub: the single subscriber of a process to the commit log, shared by all readers.
//!
//! A task waits for the store, puts new events into the [`Ring`] and notifies the readers group by group (see
//! [`pace`]). It runs only while there are readers. Each reader keeps its own position in the log and takes
//! the events after it (see [`Follower`]). A slow or stuck reader blocks neither the hub nor writers.

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

/// Timeout of one wait for the store, so that no wait is unbounded.
const WAIT: Duration = Duration::from_secs(60);
/// Maximum pages read per round, so that a hub that is far behind still announces its progress.
const PAGES_A_ROUND: u32 = 8;
/// Backoff before a failed read of the store is retried: initial and maximum.
const AGAIN: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// Settings of a hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubSettings {
    /// Maximum number of events kept in memory.
    pub events: usize,
    /// Approximate maximum memory of these events in bytes.
    pub bytes: usize,
    /// How long the log is still followed after the last reader has left.
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

/// Metrics of a hub.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HubFigures {
    /// Number of readers.
    pub readers: usize,
    /// Newest sequence number known to the hub.
    pub head: u64,
    /// Number of events in memory.
    pub kept_events: usize,
    /// Approximate memory of these events in bytes.
    pub kept_bytes: usize,
    /// Number of notification rounds.
    pub rounds: u64,
    /// Number of events returned to readers, summed over all readers.
    pub handed_out: u64,
    /// Number of pages read from the store for readers that were behind.
    pub pages_read: u64,
    /// Number of failed attempts to follow the store.
    pub failures: u64,
}

/// Subscriber to a store's commit log. Clones share the same state.
#[derive(Debug, Clone)]
pub struct Hub {
    core: Arc<Core>,
}

impl Hub {
    /// Creates a hub over a store's log with default settings. No task runs until the first reader joins.
    pub fn new(polis: &Polis) -> Self {
        Self::with(polis, HubSettings::default())
    }

    /// Like [`Hub::new`], with settings.
    pub fn with(polis: &Polis, settings: HubSettings) -> Self {
        Self::over(Arc::clone(&polis.store) as Arc<Log>, settings)
    }

    /// Creates a hub over any log.
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

    /// Returns the newest sequence number in the store.
    pub async fn now(&self) -> Result<u64, OpError> {
        Ok(self.core.log.last_sequence().await?)
    }

    /// Creates a reader of all events after a sequence number. Must be called within a tokio runtime, on
    /// which the hub's task is spawned.
    pub fn follow(&self, after: u64) -> Follower {
        let (group, told) = self.core.join();
        Follower::new(Arc::clone(&self.core), group, told, after)
    }

    /// Ends all current and future readers. They can still take the events already announced to them.
    pub fn close(&self) {
        self.core.crowd.send_modify(|crowd| crowd.closed = true);
        // Dropping the senders ends the readers' `changed()`.
        self.core.state().groups.clear();
    }

    /// Returns whether the hub was closed.
    pub fn is_closed(&self) -> bool {
        self.core.crowd.borrow().closed
    }

    /// Returns the number of readers.
    pub fn readers(&self) -> usize {
        self.core.crowd.borrow().readers
    }

    /// Returns the newest sequence number known to the hub; 0 while it does not follow the log.
    pub fn head(&self) -> u64 {
        self.core.state().known.unwrap_or(0)
    }

    /// Returns the hub's metrics.
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

/// Number of readers, and whether the hub is closed.
#[derive(Debug, Clone, Copy, Default)]
struct Crowd {
    readers: usize,
    closed: bool,
}

/// State shared by a hub and its readers.
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
    /// Sequence number up to which the log was read; `None` while it is not followed.
    known: Option<u64>,
    groups: Vec<Group>,
    driver: Option<JoinHandle<()>>,
}

/// Readers that are notified together.
#[derive(Debug)]
struct Group {
    /// Announced sequence number: its readers may read up to it.
    told: Arc<watch::Sender<u64>>,
    readers: usize,
}

impl Core {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a reader to a group with room, and starts the hub's task if it is not running.
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
                    // An empty group is not notified, so its value may be out of date.
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

    /// Removes a reader from its group.
    pub(super) fn leave(&self, group: usize) {
        let mut state = self.state();
        if let Some(group) = state.groups.get_mut(group) {
            group.readers = group.readers.saturating_sub(1);
        }
        drop(state);
        self.crowd
            .send_modify(|crowd| crowd.readers = crowd.readers.saturating_sub(1));
    }

    /// Returns the events in memory after `place`, up to and including `told`.
    pub(super) fn look(&self, place: u64, told: u64) -> Look {
        self.state().ring.after(place, told)
    }

    /// Counts events returned to a reader.
    pub(super) fn took(&self, many: usize) {
        self.handed_out.fetch_add(many as u64, Ordering::Relaxed);
    }

    /// Waits until there has been no reader for the linger time, or until the hub is closed.
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

    /// Clears the ring and stops following, unless a reader joined in the meantime. Returns whether it
    /// stopped.
    fn rest(&self) -> bool {
        let mut state = self.state();
        let crowd = *self.crowd.borrow();
        if crowd.readers > 0 && !crowd.closed {
            return false;
        }
        state.ring.clear();
        state.known = None;
        // A sequence number announced before must not be taken for one that is in the ring now.
        state.groups.clear();
        state.driver = None;
        true
    }

    /// Follows the log forever. Failed reads are retried with backoff.
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
            // A store may answer without ever waiting; let other tasks run nevertheless.
            tokio::task::yield_now().await;
        }
    }

    /// Waits for new events and adds them to the ring. Returns whether there were any.
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
            // Readers that reconnect after a restart are slightly behind, so start one page before the end.
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
                // No more events: the previous full page was the last one.
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

    /// Notifies all groups one after another, starting with a different group each time.
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

/// Task of the hub: follows the log while there are readers.
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
