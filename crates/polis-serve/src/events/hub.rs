//! Hub: the single subscriber of a process to the event log, which fans events out to all readers.
//!
//! A task waits for the store, puts new events into the [`Ring`] and notifies the readers group by group (see
//! `throttle`). It runs only while there are readers. Each reader keeps its own position in the log and takes
//! the events after it (see `follower`). A slow or stuck reader blocks neither the hub nor writers.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use polis_ops::port::EventLogQuery;
use polis_ops::{App, OpError, PortError};
use tokio::sync::watch;
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, sleep_until, timeout};

use super::batch::EventBatch;
use super::follower::LogFollower;
use super::page_cache::{CommitLog, EVENTS_PER_PAGE, LogPageCache};
use super::ring::{Ring, RingLimits, RingLookup};
use super::throttle;

/// Timeout of one wait for the store, so that no wait is unbounded.
const STORE_WAIT_TIMEOUT: Duration = Duration::from_secs(60);
/// Maximum pages read per round, so that a hub that is far behind still announces its progress.
const MAX_PAGES_PER_ROUND: u32 = 8;
/// Backoff before a failed read of the store is retried: initial and maximum.
const RETRY_BACKOFF: (Duration, Duration) = (Duration::from_millis(50), Duration::from_secs(2));

/// Settings of a hub.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct HubSettings {
    /// Maximum number of events kept in memory.
    pub max_events: usize,
    /// Approximate maximum memory of these events in bytes.
    pub max_bytes: usize,
    /// How long the log is still followed after the last reader has left.
    pub linger: Duration,
}

impl Default for HubSettings {
    fn default() -> Self {
        Self {
            max_events: 8_192,
            max_bytes: 16 << 20,
            linger: Duration::from_secs(5),
        }
    }
}

/// Metrics of a hub.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct HubMetrics {
    /// Number of readers.
    pub readers: usize,
    /// Newest sequence number known to the hub.
    pub head: u64,
    /// Number of events in memory.
    pub buffered_events: usize,
    /// Approximate memory of these events in bytes.
    pub buffered_bytes: usize,
    /// Number of notification rounds.
    pub rounds: u64,
    /// Number of events returned to readers, summed over all readers.
    pub handed_out: u64,
    /// Number of pages read from the store for readers that were behind.
    pub pages_read: u64,
    /// Number of failed attempts to follow the store.
    pub failures: u64,
}

/// Subscriber to a store's event log. Clones share the same state.
#[derive(Debug, Clone)]
pub struct Hub {
    shared: Arc<HubShared>,
}

impl Hub {
    /// Creates a hub over a store's log with default settings. No task runs until the first reader joins.
    pub fn new(app: &App) -> Self {
        Self::with_settings(app, HubSettings::default())
    }

    /// Creates a hub over a store's log with these settings.
    pub fn with_settings(app: &App, settings: HubSettings) -> Self {
        Self::from_log(Arc::clone(&app.store) as Arc<CommitLog>, settings)
    }

    /// Creates a hub over any log, such as a fake one in tests.
    pub(crate) fn from_log(log: Arc<CommitLog>, settings: HubSettings) -> Self {
        let bounds = RingLimits {
            max_events: settings.max_events,
            max_bytes: settings.max_bytes,
        };
        let core = HubShared {
            page_cache: LogPageCache::new(Arc::clone(&log)),
            log,
            settings,
            state: Mutex::new(HubState {
                ring: Ring::new(bounds),
                read_up_to: None,
                groups: Vec::new(),
                task: None,
            }),
            reader_status: watch::Sender::new(ReaderStatus::default()),
            rounds: AtomicU64::new(0),
            handed_out: AtomicU64::new(0),
            failures: AtomicU64::new(0),
        };
        Self {
            shared: Arc::new(core),
        }
    }

    /// Returns the newest sequence number in the store. Fails only if the store does.
    pub async fn last_sequence(&self) -> Result<u64, OpError> {
        Ok(self.shared.log.last_sequence().await?)
    }

    /// Creates a reader of all events after a sequence number. Must be called within a tokio runtime, on
    /// which the hub's task is spawned.
    pub fn follow(&self, after: u64) -> LogFollower {
        let (group, announced) = self.shared.add_reader();
        LogFollower::new(Arc::clone(&self.shared), group, announced, after)
    }

    /// Ends all current and future readers. They can still take the events already announced to them.
    pub fn close(&self) {
        self.shared
            .reader_status
            .send_modify(|status| status.closed = true);
        // Dropping the senders ends the readers' `changed()`.
        self.shared.state.lock().groups.clear();
    }

    /// Returns whether the hub was closed.
    pub fn is_closed(&self) -> bool {
        self.shared.reader_status.borrow().closed
    }

    /// Returns the number of readers.
    pub fn readers(&self) -> usize {
        self.shared.reader_status.borrow().readers
    }

    /// Returns the newest sequence number known to the hub; 0 while it does not follow the log.
    pub fn head(&self) -> u64 {
        self.shared.state.lock().read_up_to.unwrap_or(0)
    }

    /// Returns the hub's metrics.
    pub fn metrics(&self) -> HubMetrics {
        let readers = self.readers();
        let state = self.shared.state.lock();
        let (kept_events, kept_bytes) = state.ring.size();
        HubMetrics {
            readers,
            head: state.read_up_to.unwrap_or(0),
            buffered_events: kept_events,
            buffered_bytes: kept_bytes,
            rounds: self.shared.rounds.load(Ordering::Relaxed),
            handed_out: self.shared.handed_out.load(Ordering::Relaxed),
            pages_read: self.shared.page_cache.pages_read(),
            failures: self.shared.failures.load(Ordering::Relaxed),
        }
    }
}

/// Number of readers, and whether the hub is closed.
#[derive(Debug, Clone, Copy, Default)]
struct ReaderStatus {
    readers: usize,
    closed: bool,
}

/// State shared by a hub and its readers.
pub(super) struct HubShared {
    log: Arc<CommitLog>,
    settings: HubSettings,
    state: Mutex<HubState>,
    reader_status: watch::Sender<ReaderStatus>,
    pub(super) page_cache: LogPageCache,
    rounds: AtomicU64,
    handed_out: AtomicU64,
    failures: AtomicU64,
}

impl fmt::Debug for HubShared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let status = *self.reader_status.borrow();
        f.debug_struct("HubShared")
            .field("crowd", &status)
            .finish_non_exhaustive()
    }
}

/// Mutable state of a hub.
#[derive(Debug)]
struct HubState {
    ring: Ring,
    /// Sequence number up to which the log was read; `None` while it is not followed.
    read_up_to: Option<u64>,
    groups: Vec<ReaderGroup>,
    task: Option<JoinHandle<()>>,
}

/// Readers that are notified together.
#[derive(Debug)]
struct ReaderGroup {
    /// Announced sequence number: its readers may read up to it.
    announced: Arc<watch::Sender<u64>>,
    readers: usize,
}

impl HubShared {
    /// Adds a reader to a group with room, and starts the hub's task if it is not running.
    fn add_reader(self: &Arc<Self>) -> (usize, watch::Receiver<u64>) {
        let mut state = self.state.lock();
        self.reader_status.send_modify(|status| status.readers += 1);
        if self.reader_status.borrow().closed {
            return (usize::MAX, watch::channel(0).1);
        }
        let newest = state.ring.last_seq().unwrap_or(0);
        let with_room = state
            .groups
            .iter()
            .position(|g| g.readers < throttle::GROUP_SIZE);
        let at = with_room.unwrap_or_else(|| {
            state.groups.push(ReaderGroup {
                announced: Arc::new(watch::Sender::new(newest)),
                readers: 0,
            });
            state.groups.len() - 1
        });
        let announced = match state.groups.get_mut(at) {
            Some(group) => {
                if group.readers == 0 {
                    // An empty group is not notified, so its value may be out of date.
                    group
                        .announced
                        .send_modify(|latest| *latest = (*latest).max(newest));
                }
                group.readers += 1;
                group.announced.subscribe()
            }
            None => watch::channel(0).1,
        };
        if state.task.as_ref().is_none_or(JoinHandle::is_finished) {
            state.task = Some(tokio::spawn(run_hub(Arc::clone(self))));
        }
        (at, announced)
    }

    /// Removes a reader from its group.
    pub(super) fn remove_reader(&self, group: usize) {
        let mut state = self.state.lock();
        if let Some(group) = state.groups.get_mut(group) {
            group.readers = group.readers.saturating_sub(1);
        }
        drop(state);
        self.reader_status
            .send_modify(|status| status.readers = status.readers.saturating_sub(1));
    }

    /// Returns the events in memory after `position`, up to and including `announced`.
    pub(super) fn lookup(&self, position: u64, announced: u64) -> RingLookup {
        self.state.lock().ring.events_after(position, announced)
    }

    /// Counts events returned to a reader.
    pub(super) fn count_handed_out(&self, count: usize) {
        self.handed_out.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Waits until there has been no reader for the linger time, or until the hub is closed.
    async fn wait_until_unused(&self) {
        let mut status = self.reader_status.subscribe();
        loop {
            let empty = status.wait_for(|status| status.readers == 0 || status.closed);
            if empty.await.is_ok_and(|status| status.closed) {
                return;
            }
            let reader_added = status.wait_for(|status| status.readers > 0);
            if timeout(self.settings.linger, reader_added).await.is_err() {
                return;
            }
        }
    }

    /// Clears the ring and stops following, unless a reader joined in the meantime. Returns whether it
    /// stopped.
    fn stop_if_unused(&self) -> bool {
        let mut state = self.state.lock();
        let status = *self.reader_status.borrow();
        if status.readers > 0 && !status.closed {
            return false;
        }
        state.ring.clear();
        state.read_up_to = None;
        // A sequence number announced before must not be taken for one that is in the ring now.
        state.groups.clear();
        state.task = None;
        true
    }

    /// Follows the log forever. Failed reads are retried with backoff.
    async fn follow_log(&self) {
        let mut delay = RETRY_BACKOFF.0;
        let mut first = 0_usize;
        loop {
            match self.read_new_events().await {
                Ok(true) => {
                    delay = RETRY_BACKOFF.0;
                    self.notify_groups(first).await;
                    first = first.wrapping_add(1);
                }
                Ok(false) => delay = RETRY_BACKOFF.0,
                Err(error) => {
                    self.failures.fetch_add(1, Ordering::Relaxed);
                    tracing::warn!(code = %error.code, "following the log failed: {error}");
                    sleep(delay).await;
                    delay = delay.saturating_mul(2).min(RETRY_BACKOFF.1);
                }
            }
            // A store may answer without ever waiting; let other tasks run nevertheless.
            tokio::task::yield_now().await;
        }
    }

    /// Waits for new events and adds them to the ring. Returns whether there were any.
    async fn read_new_events(&self) -> Result<bool, PortError> {
        let previous = self.state.lock().read_up_to;
        let mut last = match previous {
            Some(last) => {
                let head = self
                    .log
                    .wait_for_event_after(last, STORE_WAIT_TIMEOUT)
                    .await?;
                if head <= last {
                    return Ok(false);
                }
                last
            }
            // Readers that reconnect after a restart are slightly behind, so start one page before the end.
            None => {
                let head = self.log.last_sequence().await?;
                let start = head.saturating_sub(u64::from(EVENTS_PER_PAGE));
                self.state.lock().read_up_to = Some(start);
                if head == 0 {
                    return Ok(false);
                }
                start
            }
        };
        for page in 0..MAX_PAGES_PER_ROUND {
            let query = EventLogQuery {
                after: last,
                limit: EVENTS_PER_PAGE,
                ..EventLogQuery::default()
            };
            let events = self.log.events(&query).await?;
            let full = events.len() >= EVENTS_PER_PAGE as usize;
            let Some(batch) =
                EventBatch::from_events(events).filter(|batch| batch.first_seq() == last + 1)
            else {
                // No more events: the previous full page was the last one.
                if page > 0 {
                    break;
                }
                return Err(PortError::internal("Reading the log", "it has a gap"));
            };
            last = batch.last_seq();
            let mut state = self.state.lock();
            state.ring.push(batch);
            state.read_up_to = Some(last);
            if !full {
                break;
            }
        }
        Ok(true)
    }

    /// Notifies all groups one after another, starting with a different group each time.
    async fn notify_groups(&self, first: usize) {
        let (head, readers, groups) = {
            let state = self.state.lock();
            let occupied: Vec<&ReaderGroup> =
                state.groups.iter().filter(|g| g.readers > 0).collect();
            let readers: usize = occupied.iter().map(|group| group.readers).sum();
            let mut groups: Vec<_> = occupied.iter().map(|g| Arc::clone(&g.announced)).collect();
            let rotation = first.checked_rem(groups.len()).unwrap_or(0);
            groups.rotate_left(rotation);
            (state.read_up_to.unwrap_or(0), readers, groups)
        };
        self.rounds.fetch_add(1, Ordering::Relaxed);
        let round = throttle::round_duration(readers);
        let start = Instant::now();
        for (nth, group) in groups.iter().enumerate() {
            if nth > 0 && !round.is_zero() {
                sleep_until(start + throttle::group_delay(round, nth, groups.len())).await;
            }
            group.send_if_modified(|announced| {
                let is_newer = *announced < head;
                *announced = (*announced).max(head);
                is_newer
            });
        }
        drop(groups);
        if !round.is_zero() {
            sleep_until(start + round).await;
        }
    }
}

/// Task of the hub: follows the log while there are readers.
async fn run_hub(core: Arc<HubShared>) {
    loop {
        tokio::select! {
            () = core.follow_log() => {}
            () = core.wait_until_unused() => {}
        }
        if core.stop_if_unused() {
            return;
        }
    }
}

#[cfg(test)]
mod tests;
