//! Tests of the hub over a fake log: order, store outages, catching up, closing and throttled notification.

use std::sync::atomic::{AtomicBool, AtomicUsize};

use polis_core::Refusal;
use polis_core::refusal::Reason;
use polis_core::{Event, RefusalCode};
use polis_ops::PortFuture;
use polis_ops::port::EventLogReader;
use polis_testkit::SeededRng;

use super::*;
use crate::events::EventSlice;
use crate::events::sample_event;

/// In-memory log that fails while `away` is set.
#[derive(Debug, Default)]
struct FakeLog {
    head: watch::Sender<u64>,
    unavailable: AtomicBool,
    /// Number of callers currently waiting for new events.
    waiting: AtomicUsize,
    pages: AtomicUsize,
}

impl FakeLog {
    fn with_events(events: u64) -> Arc<Self> {
        let log = Self::default();
        log.head.send_replace(events);
        Arc::new(log)
    }

    fn append_events(&self, count: u64) -> u64 {
        self.head.send_modify(|head| *head += count);
        *self.head.borrow()
    }

    fn result_if_available<T>(&self, answer: T) -> Result<T, PortError> {
        if self.unavailable.load(Ordering::SeqCst) {
            return Err(PortError::from(Refusal::new(
                RefusalCode::STORE_UNAVAILABLE,
                Reason::new("test-failure"),
            )));
        }
        Ok(answer)
    }
}

impl EventLogReader for FakeLog {
    fn events<'a>(&'a self, query: &'a EventLogQuery) -> PortFuture<'a, Vec<Event>> {
        self.pages.fetch_add(1, Ordering::SeqCst);
        let last = (*self.head.borrow()).min(query.after + u64::from(query.limit));
        let events = (query.after + 1..=last).map(sample_event).collect();
        Box::pin(std::future::ready(self.result_if_available(events)))
    }

    fn last_sequence(&self) -> PortFuture<'_, u64> {
        Box::pin(std::future::ready(
            self.result_if_available(*self.head.borrow()),
        ))
    }

    fn wait_for_event_after(&self, after: u64, max_wait: Duration) -> PortFuture<'_, u64> {
        struct WaitingGuard<'a>(&'a AtomicUsize);
        impl Drop for WaitingGuard<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        Box::pin(async move {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            let _guard = WaitingGuard(&self.waiting);
            let mut head = self.head.subscribe();
            let appended = head.wait_for(|head| *head > after);
            let _ = timeout(max_wait, appended).await;
            self.result_if_available(*self.head.borrow())
        })
    }
}

fn hub_with_ring(log: &Arc<FakeLog>, events: usize) -> Hub {
    let settings = HubSettings {
        max_events: events,
        ..HubSettings::default()
    };
    Hub::from_log(Arc::clone(log) as Arc<CommitLog>, settings)
}

/// Reads up to `last` and checks that every event is the next one in order.
async fn read_up_to(follower: &mut LogFollower, last: u64) {
    while follower.position() < last {
        let position = follower.position();
        let slice = follower.next().await.unwrap();
        check_consecutive(&slice, position);
        assert_eq!(follower.position(), slice.last_seq());
    }
}

fn check_consecutive(slice: &EventSlice, position: u64) {
    let actual: Vec<u64> = slice.events().iter().map(|event| event.seq).collect();
    let expected: Vec<u64> = (position + 1..=slice.last_seq()).collect();
    assert_eq!(actual, expected);
}

#[tokio::test(start_paused = true)]
async fn readers_of_any_speed_get_every_event_once_in_order() {
    let log = FakeLog::with_events(700);
    let hub = hub_with_ring(&log, 40);
    let total = 3_000;
    let readers: Vec<_> = (0..60_u64)
        .map(|n| {
            let mut follower = hub.follow(n * 11);
            tokio::spawn(async move {
                let mut rng = SeededRng::from_seed(n);
                while follower.position() < total {
                    let position = follower.position();
                    check_consecutive(&follower.next().await.unwrap(), position);
                    if rng.one_in(1 + n % 7) {
                        sleep(Duration::from_millis(rng.below(200))).await;
                    }
                }
            })
        })
        .collect();
    let mut rng = SeededRng::from_seed(99);
    let mut head = 700;
    while head < total {
        head = log.append_events((1 + rng.below(30)).min(total - head));
        sleep(Duration::from_millis(rng.below(20))).await;
    }
    for reader in readers {
        reader.await.unwrap();
    }
    let figures = hub.metrics();
    assert_eq!((figures.head, figures.readers), (total, 0));
    assert!(figures.buffered_events <= 40 + EVENTS_PER_PAGE as usize);
}

#[tokio::test(start_paused = true)]
async fn hub_resumes_after_store_outage() {
    let log = FakeLog::with_events(5);
    let hub = hub_with_ring(&log, 1_000);
    let mut current = hub.follow(5);
    let mut lagging = hub.follow(0);
    log.append_events(1);
    read_up_to(&mut current, 6).await;
    log.unavailable.store(true, Ordering::SeqCst);
    log.append_events(400);
    let result = timeout(Duration::from_secs(30), current.next()).await;
    assert!(result.is_err(), "no events during the outage");
    assert!(hub.metrics().failures > 3);
    log.append_events(1);
    log.unavailable.store(false, Ordering::SeqCst);
    read_up_to(&mut current, 407).await;
    read_up_to(&mut lagging, 407).await;
}

#[tokio::test(start_paused = true)]
async fn failed_page_read_is_retried() {
    let log = FakeLog::with_events(2_000);
    let hub = hub_with_ring(&log, 100);
    let mut current = hub.follow(1_900);
    read_up_to(&mut current, 2_000).await;
    log.unavailable.store(true, Ordering::SeqCst);
    let mut lagging = hub.follow(3);
    assert!(
        timeout(Duration::from_secs(9), lagging.next())
            .await
            .is_err()
    );
    log.unavailable.store(false, Ordering::SeqCst);
    read_up_to(&mut lagging, 2_000).await;
}

#[tokio::test(start_paused = true)]
async fn hub_follows_log_only_while_readers_exist() {
    let log = FakeLog::with_events(10);
    let hub = hub_with_ring(&log, 100);
    let waiting_count = || log.waiting.load(Ordering::SeqCst);
    sleep(Duration::from_secs(1)).await;
    assert_eq!((waiting_count(), log.pages.load(Ordering::SeqCst)), (0, 0));

    let (mut one, two) = (hub.follow(0), hub.follow(10));
    assert_eq!(hub.readers(), 2);
    read_up_to(&mut one, 10).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(waiting_count(), 1, "one wait for all readers");
    drop((one, two));
    sleep(Duration::from_secs(60)).await;
    assert_eq!((waiting_count(), hub.readers(), hub.head()), (0, 0, 0));

    // Events announced to readers that left must be new to readers that join later.
    log.append_events(3);
    let mut second = hub.follow(4);
    read_up_to(&mut second, 13).await;
    let mut now = hub.follow(13);
    log.append_events(1);
    read_up_to(&mut now, 14).await;
    assert_eq!(hub.head(), 14);
}

/// A reader that joins an empty group gets events logged while it was empty, without waiting for another
/// event.
#[tokio::test(start_paused = true)]
async fn reader_joining_empty_group_gets_missed_events() {
    let log = FakeLog::with_events(10);
    let hub = hub_with_ring(&log, 100);
    let mut first = hub.follow(10);
    log.append_events(1);
    read_up_to(&mut first, 11).await;
    drop(first);
    log.append_events(5);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(hub.head(), 16, "the hub still follows the log");
    let mut second = hub.follow(12);
    let read = timeout(Duration::from_secs(1), read_up_to(&mut second, 16));
    read.await.expect("no events were announced");
}

#[tokio::test(start_paused = true)]
async fn follower_of_empty_log_gets_first_event() {
    let log = FakeLog::with_events(0);
    let hub = hub_with_ring(&log, 100);
    let mut follower = hub.follow(0);
    let early = timeout(Duration::from_secs(200), follower.next()).await;
    assert!(early.is_err());
    log.append_events(1);
    read_up_to(&mut follower, 1).await;
}

#[tokio::test(start_paused = true)]
async fn readers_catching_up_share_page_reads() {
    let log = FakeLog::with_events(3_000);
    let hub = hub_with_ring(&log, 300);
    let readers: Vec<_> = (0..500)
        .map(|_| {
            let mut follower = hub.follow(100);
            tokio::spawn(async move { read_up_to(&mut follower, 3_000).await })
        })
        .collect();
    for reader in readers {
        reader.await.unwrap();
    }
    let read = log.pages.load(Ordering::SeqCst);
    assert!(read <= 16, "{read} pages for 500 readers");
    assert_eq!(hub.metrics().handed_out, 500 * 2_900);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_every_reader() {
    let log = FakeLog::with_events(5);
    let hub = hub_with_ring(&log, 100);
    let mut reader = hub.follow(5);
    let waiting = tokio::spawn(async move { reader.next().await.is_none() });
    tokio::task::yield_now().await;
    hub.close();
    assert!(waiting.await.unwrap());
    assert!(hub.is_closed());
    let mut late = hub.follow(0);
    assert!(late.next().await.is_none());
    drop(late);
    sleep(Duration::from_secs(60)).await;
    assert_eq!(log.waiting.load(Ordering::SeqCst), 0);
    assert_eq!(hub.readers(), 0);
}

/// Under load, many readers are notified in few rounds. A single event is sent immediately to the first
/// group.
#[tokio::test(start_paused = true)]
async fn many_readers_are_notified_in_few_rounds() {
    let log = FakeLog::with_events(1);
    let hub = hub_with_ring(&log, 10_000);
    let readers: Vec<_> = (0..1_000)
        .map(|_| {
            let mut follower = hub.follow(1);
            tokio::spawn(async move {
                read_up_to(&mut follower, 2).await;
                let first = Instant::now();
                read_up_to(&mut follower, 1_002).await;
                first
            })
        })
        .collect();
    sleep(Duration::from_secs(1)).await;
    let before = hub.metrics().rounds;
    let start = Instant::now();
    log.append_events(1);
    sleep(2 * throttle::round_duration(1_000)).await;
    assert_eq!(hub.metrics().rounds, before + 1);
    for _ in 0..1_000 {
        log.append_events(1);
        sleep(Duration::from_millis(1)).await;
    }
    let mut delays = Vec::new();
    for reader in readers {
        delays.push(reader.await.unwrap() - start);
    }
    delays.sort_unstable();
    let (first, last) = (delays[throttle::GROUP_SIZE - 1], delays[999]);
    assert!(first < Duration::from_millis(2), "{first:?}");
    let round = throttle::round_duration(1_000);
    assert!(last <= round, "{last:?}");
    let rounds = u32::try_from(hub.metrics().rounds - before - 1).unwrap();
    let full = Duration::from_secs(1).div_duration_f64(round) as u32;
    assert!(
        (full / 2..=full + 2).contains(&rounds),
        "{rounds} rounds in a second"
    );
}
