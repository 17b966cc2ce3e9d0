//! Tests of the hub over a fake log that can be made to fail.

use std::sync::atomic::{AtomicBool, AtomicUsize};

use polis_core::{Code, Event};
use polis_ops::PortFuture;
use polis_ops::port::Events;
use polis_testkit::Dice;

use super::*;
use crate::events::News;
use crate::events::sample;

/// In-memory log that fails while `away` is set.
#[derive(Debug, Default)]
struct FakeLog {
    head: watch::Sender<u64>,
    away: AtomicBool,
    /// Number of callers currently waiting for new events.
    waiting: AtomicUsize,
    pages: AtomicUsize,
}

impl FakeLog {
    fn with(events: u64) -> Arc<Self> {
        let log = Self::default();
        log.head.send_replace(events);
        Arc::new(log)
    }

    fn grow(&self, by: u64) -> u64 {
        self.head.send_modify(|head| *head += by);
        *self.head.borrow()
    }

    fn answer<T>(&self, answer: T) -> Result<T, PortError> {
        if self.away.load(Ordering::SeqCst) {
            return Err(PortError::new(Code::StoreUnavailable, "Away.", "wait"));
        }
        Ok(answer)
    }
}

impl Events for FakeLog {
    fn events<'a>(&'a self, query: &'a EventQuery) -> PortFuture<'a, Vec<Event>> {
        self.pages.fetch_add(1, Ordering::SeqCst);
        let last = (*self.head.borrow()).min(query.after + u64::from(query.limit));
        let events = (query.after + 1..=last).map(sample).collect();
        Box::pin(std::future::ready(self.answer(events)))
    }

    fn last_sequence(&self) -> PortFuture<'_, u64> {
        Box::pin(std::future::ready(self.answer(*self.head.borrow())))
    }

    fn wait_beyond(&self, after: u64, at_most: Duration) -> PortFuture<'_, u64> {
        struct Waiting<'a>(&'a AtomicUsize);
        impl Drop for Waiting<'_> {
            fn drop(&mut self) {
                self.0.fetch_sub(1, Ordering::SeqCst);
            }
        }
        Box::pin(async move {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            let _waiting = Waiting(&self.waiting);
            let mut head = self.head.subscribe();
            let beyond = head.wait_for(|head| *head > after);
            let _ = timeout(at_most, beyond).await;
            self.answer(*self.head.borrow())
        })
    }
}

fn hub(log: &Arc<FakeLog>, events: usize) -> Hub {
    let settings = HubSettings {
        events,
        ..HubSettings::default()
    };
    Hub::over(Arc::clone(log) as Arc<Log>, settings)
}

/// Reads up to `last` and checks that every event is the next one in order.
async fn read_to(follower: &mut Follower, last: u64) {
    while follower.place() < last {
        let place = follower.place();
        let news = follower.next().await.unwrap();
        check(&news, place);
        assert_eq!(follower.place(), news.last());
    }
}

fn check(news: &News, place: u64) {
    let seen: Vec<u64> = news.events().iter().map(|event| event.seq).collect();
    let due: Vec<u64> = (place + 1..=news.last()).collect();
    assert_eq!(seen, due);
}

#[tokio::test(start_paused = true)]
async fn readers_of_any_speed_get_every_event_once_in_order() {
    let log = FakeLog::with(700);
    let hub = hub(&log, 40);
    let total = 3_000;
    let readers: Vec<_> = (0..60_u64)
        .map(|n| {
            let mut follower = hub.follow(n * 11);
            tokio::spawn(async move {
                let mut dice = Dice::of(n);
                while follower.place() < total {
                    let place = follower.place();
                    check(&follower.next().await.unwrap(), place);
                    if dice.once_in(1 + n % 7) {
                        sleep(Duration::from_millis(dice.below(200))).await;
                    }
                }
            })
        })
        .collect();
    let mut dice = Dice::of(99);
    let mut head = 700;
    while head < total {
        head = log.grow((1 + dice.below(30)).min(total - head));
        sleep(Duration::from_millis(dice.below(20))).await;
    }
    for reader in readers {
        reader.await.unwrap();
    }
    let figures = hub.figures();
    assert_eq!((figures.head, figures.readers), (total, 0));
    assert!(figures.kept_events <= 40 + PAGE as usize);
}

#[tokio::test(start_paused = true)]
async fn a_store_that_is_away_is_waited_for() {
    let log = FakeLog::with(5);
    let hub = hub(&log, 1_000);
    let mut near = hub.follow(5);
    let mut far = hub.follow(0);
    log.grow(1);
    read_to(&mut near, 6).await;
    log.away.store(true, Ordering::SeqCst);
    log.grow(400);
    let waits = timeout(Duration::from_secs(30), near.next()).await;
    assert!(waits.is_err(), "nothing comes from a store that is away");
    assert!(hub.figures().failures > 3);
    log.grow(1);
    log.away.store(false, Ordering::SeqCst);
    read_to(&mut near, 407).await;
    read_to(&mut far, 407).await;
}

#[tokio::test(start_paused = true)]
async fn pages_that_fail_are_read_again() {
    let log = FakeLog::with(2_000);
    let hub = hub(&log, 100);
    let mut near = hub.follow(1_900);
    read_to(&mut near, 2_000).await;
    log.away.store(true, Ordering::SeqCst);
    let mut far = hub.follow(3);
    assert!(timeout(Duration::from_secs(9), far.next()).await.is_err());
    log.away.store(false, Ordering::SeqCst);
    read_to(&mut far, 2_000).await;
}

#[tokio::test(start_paused = true)]
async fn the_log_is_followed_only_while_somebody_reads() {
    let log = FakeLog::with(10);
    let hub = hub(&log, 100);
    let waits = || log.waiting.load(Ordering::SeqCst);
    sleep(Duration::from_secs(1)).await;
    assert_eq!((waits(), log.pages.load(Ordering::SeqCst)), (0, 0));

    let (mut one, two) = (hub.follow(0), hub.follow(10));
    assert_eq!(hub.readers(), 2);
    read_to(&mut one, 10).await;
    sleep(Duration::from_secs(1)).await;
    assert_eq!(waits(), 1, "one wait for all readers");
    drop((one, two));
    sleep(Duration::from_secs(60)).await;
    assert_eq!((waits(), hub.readers(), hub.head()), (0, 0, 0));

    // Events announced to readers that left must be new to readers that join later.
    log.grow(3);
    let mut again = hub.follow(4);
    read_to(&mut again, 13).await;
    let mut now = hub.follow(13);
    log.grow(1);
    read_to(&mut now, 14).await;
    assert_eq!(hub.head(), 14);
}

/// A reader that joins an empty group gets events logged while it was empty, without waiting for another
/// event.
#[tokio::test(start_paused = true)]
async fn a_group_that_was_empty_is_not_behind() {
    let log = FakeLog::with(10);
    let hub = hub(&log, 100);
    let mut first = hub.follow(10);
    log.grow(1);
    read_to(&mut first, 11).await;
    drop(first);
    log.grow(5);
    sleep(Duration::from_secs(1)).await;
    assert_eq!(hub.head(), 16, "it is still followed");
    let mut second = hub.follow(12);
    let read = timeout(Duration::from_secs(1), read_to(&mut second, 16));
    read.await.expect("nothing is told");
}

#[tokio::test(start_paused = true)]
async fn an_empty_log_has_a_first_event() {
    let log = FakeLog::with(0);
    let hub = hub(&log, 100);
    let mut follower = hub.follow(0);
    let early = timeout(Duration::from_secs(200), follower.next()).await;
    assert!(early.is_err());
    log.grow(1);
    read_to(&mut follower, 1).await;
}

#[tokio::test(start_paused = true)]
async fn those_who_catch_up_together_read_the_store_once() {
    let log = FakeLog::with(3_000);
    let hub = hub(&log, 300);
    let readers: Vec<_> = (0..500)
        .map(|_| {
            let mut follower = hub.follow(100);
            tokio::spawn(async move { read_to(&mut follower, 3_000).await })
        })
        .collect();
    for reader in readers {
        reader.await.unwrap();
    }
    let read = log.pages.load(Ordering::SeqCst);
    assert!(read <= 16, "{read} pages for 500 readers");
    assert_eq!(hub.figures().handed_out, 500 * 2_900);
}

#[tokio::test(start_paused = true)]
async fn closing_ends_every_reader() {
    let log = FakeLog::with(5);
    let hub = hub(&log, 100);
    let mut there = hub.follow(5);
    let waiting = tokio::spawn(async move { there.next().await.is_none() });
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
async fn many_readers_are_told_in_few_rounds() {
    let log = FakeLog::with(1);
    let hub = hub(&log, 10_000);
    let readers: Vec<_> = (0..1_000)
        .map(|_| {
            let mut follower = hub.follow(1);
            tokio::spawn(async move {
                read_to(&mut follower, 2).await;
                let first = Instant::now();
                read_to(&mut follower, 1_002).await;
                first
            })
        })
        .collect();
    sleep(Duration::from_secs(1)).await;
    let before = hub.figures().rounds;
    let begin = Instant::now();
    log.grow(1);
    sleep(2 * throttle::round(1_000)).await;
    assert_eq!(hub.figures().rounds, before + 1);
    for _ in 0..1_000 {
        log.grow(1);
        sleep(Duration::from_millis(1)).await;
    }
    let mut delays = Vec::new();
    for reader in readers {
        delays.push(reader.await.unwrap() - begin);
    }
    delays.sort_unstable();
    let (first, last) = (delays[throttle::GROUP - 1], delays[999]);
    assert!(first < Duration::from_millis(2), "{first:?}");
    let round = throttle::round(1_000);
    assert!(last <= round, "{last:?}");
    let rounds = u32::try_from(hub.figures().rounds - before - 1).unwrap();
    let full = Duration::from_secs(1).div_duration_f64(round) as u32;
    assert!(
        (full / 2..=full + 2).contains(&rounds),
        "{rounds} rounds in a second"
    );
}
