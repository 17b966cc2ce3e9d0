//! Webhook delivery with several servers on one store.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use polis_ops::port::Clock;
use polis_ops::{Polis, Settings, Store};
use polis_serve::events::{Hub, WebhookSender, WebhookSettings};
use polis_testkit::{CountedChance, MemoryStore, run};
use tokio::runtime::{Builder, Runtime};

use crate::events_ground::until;
use crate::events_webhook::{add, delivered, kept, tell};
use crate::receiver::{Act, Receiver};

/// Clock with the real time.
#[derive(Debug)]
pub(crate) struct RealClock;

impl Clock for RealClock {
    #[expect(clippy::disallowed_methods, reason = "this is the clock")]
    fn now_millis(&self) -> i64 {
        let since = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .unwrap();
        i64::try_from(since.as_millis()).unwrap()
    }

    fn sleep(&self, time: Duration) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        Box::pin(tokio::time::sleep(time))
    }
}

/// Random source with a prefix of its own for each server.
#[derive(Debug)]
struct Lot(String, CountedChance);

impl polis_ops::port::Chance for Lot {
    fn token(&self) -> String {
        format!("{}{}", self.0, &self.1.token()[1..])
    }
}

fn polis(store: &Arc<dyn Store>, name: char) -> Polis {
    Polis::new(
        Arc::clone(store),
        Arc::new(RealClock),
        Arc::new(Lot(name.to_string(), CountedChance::default())),
        Settings::default(),
    )
}

/// Lease of servers that shut down gracefully: long enough that a busy server does not lose it while it
/// waits. Other servers wait until it expires, so it is no longer than necessary.
const LONG: Duration = Duration::from_secs(6);
/// Lease of servers that are killed: the test waits until it expires.
const SHORT: Duration = Duration::from_millis(800);

fn server(polis: &Polis, lease: Duration) -> WebhookSender {
    let settings = WebhookSettings {
        look: Duration::from_millis(10),
        lease,
        // A delivery that times out on a busy machine would be sent twice.
        timeout: Duration::from_secs(20),
        ..WebhookSettings::default()
    };
    WebhookSender::start(polis.clone(), Hub::new(polis), settings)
}

/// Starts a server that can be killed without finishing anything.
fn mortal(polis: &Polis) -> (Runtime, WebhookSender) {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let sender = {
        let _inside = runtime.enter();
        server(polis, SHORT)
    };
    (runtime, sender)
}

async fn only_one_sends(store: Arc<dyn Store>) {
    let (a, b, c) = (polis(&store, 'a'), polis(&store, 'b'), polis(&store, 'c'));
    let receiver = Receiver::start(&[]).await;
    let (id, _) = add(&a, &receiver.url(), &["task."]).await;
    let senders = [&a, &b, &c].map(|polis| server(polis, LONG));
    let first = tell(&*store, 1).await;
    receiver.has(first).await;
    let last = tell(&*store, 150).await;
    receiver.has(last).await;
    assert_eq!(receiver.places(), (first..=last).collect::<Vec<_>>());
    delivered(&*store, &id, last).await;
    let figures: Vec<u64> = senders.iter().map(|s| s.figures().delivered).collect();
    assert_eq!(figures.iter().sum::<u64>(), last + 1 - first, "{figures:?}");

    // The servers stop one after another; the others continue, and nothing is sent twice.
    for sender in senders {
        sender.stop().await;
        let next = tell(&*store, 1).await;
        if next < last + 3 {
            receiver.has(next).await;
        }
    }
    let left = receiver.places();
    assert_eq!(left, (first..=last + 2).collect::<Vec<_>>());
}

#[test]
fn of_several_servers_one_sends() {
    run(only_one_sends(Arc::new(MemoryStore::default())));
}

#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn of_several_servers_one_sends_postgresql() {
    run(async {
        let url = polis_testkit::postgres::fresh_schema().await;
        let store = polis_store::PostgresStore::connect(&url, Duration::from_secs(20)).await;
        only_one_sends(Arc::new(store.unwrap())).await;
    });
}

#[test]
fn a_server_that_dies_is_replaced() {
    run(async {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let (a, b) = (polis(&store, 'a'), polis(&store, 'b'));
        let receiver = Receiver::start(&[]).await;
        let (id, _) = add(&a, &receiver.url(), &["task."]).await;
        let (runtime, doomed) = mortal(&a);
        let first = tell(&*store, 1).await;
        receiver.has(first).await;
        delivered(&*store, &id, first).await;
        assert!(kept(&*store, &id).await.0.sender.unwrap().starts_with('a'));
        let sender = server(&b, SHORT);
        tell(&*store, 40).await;
        until(|| receiver.places().len() > 10).await;
        runtime.shutdown_background();
        std::mem::forget(doomed);
        let last = tell(&*store, 40).await;
        receiver.has(last).await;
        delivered(&*store, &id, last).await;
        assert!(kept(&*store, &id).await.0.sender.unwrap().starts_with('b'));
        let got = receiver.places();
        let mut once = got.clone();
        once.dedup();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once, (first..=last).collect::<Vec<_>>(), "nothing is lost");
        assert!(
            got.len() - once.len() <= 16,
            "{} again",
            got.len() - once.len()
        );
        sender.stop().await;
    });
}

#[test]
fn whoever_is_there_tries_again() {
    run(async {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let (a, b) = (polis(&store, 'a'), polis(&store, 'b'));
        let receiver = Receiver::start(&[Act::status(500)]).await;
        let (id, _) = add(&a, &receiver.url(), &["task."]).await;
        let (runtime, doomed) = mortal(&a);
        let last = tell(&*store, 1).await;
        until(|| doomed.figures().failed == 1).await;
        crate::events_ground::until_async(async || kept(&*store, &id).await.0.failures == 1).await;
        runtime.shutdown_background();
        std::mem::forget(doomed);
        let sender = server(&b, SHORT);
        delivered(&*store, &id, last).await;
        assert_eq!(receiver.came().len(), 2);
        assert_eq!(kept(&*store, &id).await.0.failures, 0);
        sender.stop().await;
    });
}
