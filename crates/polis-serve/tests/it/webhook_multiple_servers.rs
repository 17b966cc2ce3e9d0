//! Webhook delivery tests with several servers on one store: exactly one sends under a lease, and another
//! takes over when it dies.

use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use polis_ops::port::Clock;
use polis_ops::{App, InstallationSettings, Store};
use polis_serve::events::{Hub, WebhookSender, WebhookSettings};
use polis_testkit::{CountingRandomSource, MemoryStore, run_test};
use tokio::runtime::{Builder, Runtime};

use crate::test_event_server::wait_until;
use crate::webhook_delivery::{add_webhook, log_events, stored_webhook, wait_until_delivered};
use crate::webhook_receiver::{ReceiverAction, WebhookReceiver};

/// Clock with the real time.
#[derive(Debug)]
pub(crate) struct SystemTimeClock;

impl Clock for SystemTimeClock {
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
struct PrefixedRandom(String, CountingRandomSource);

impl polis_ops::port::RandomSource for PrefixedRandom {
    fn random_token(&self) -> String {
        format!("{}{}", self.0, &self.1.random_token()[1..])
    }
}

fn app_with_prefix(store: &Arc<dyn Store>, name: char) -> App {
    App::new(
        Arc::clone(store),
        Arc::new(SystemTimeClock),
        Arc::new(PrefixedRandom(
            name.to_string(),
            CountingRandomSource::default(),
        )),
        InstallationSettings::default(),
    )
}

/// Lease of servers that shut down gracefully: long enough that a busy server does not lose it while it
/// waits. Other servers wait until it expires, so it is no longer than necessary.
const GRACEFUL_LEASE: Duration = Duration::from_secs(6);
/// Lease of servers that are killed: the test waits until it expires.
const KILLED_LEASE: Duration = Duration::from_millis(800);

/// Starts a webhook sender with this lease.
fn start_webhook_sender(app: &App, lease: Duration) -> WebhookSender {
    let settings = WebhookSettings {
        poll_interval: Duration::from_millis(10),
        lease_duration: lease,
        // A delivery that times out on a busy machine would be sent twice.
        delivery_timeout: Duration::from_secs(20),
        ..WebhookSettings::default()
    };
    WebhookSender::start(app.clone(), Hub::new(app), settings)
}

/// Starts a server that can be killed without finishing anything.
fn start_killable_sender(app: &App) -> (Runtime, WebhookSender) {
    let runtime = Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let sender = {
        let _inside = runtime.enter();
        start_webhook_sender(app, KILLED_LEASE)
    };
    (runtime, sender)
}

/// Checks that one of three servers delivers each event, also while they stop one after another.
async fn check_single_sender(store: Arc<dyn Store>) {
    let (a, b, c) = (
        app_with_prefix(&store, 'a'),
        app_with_prefix(&store, 'b'),
        app_with_prefix(&store, 'c'),
    );
    let receiver = WebhookReceiver::start(&[]).await;
    let (id, _) = add_webhook(&a, &receiver.url(), &["task."]).await;
    let senders = [&a, &b, &c].map(|app| start_webhook_sender(app, GRACEFUL_LEASE));
    let first = log_events(&*store, 1).await;
    receiver.wait_for_event(first).await;
    let last = log_events(&*store, 150).await;
    receiver.wait_for_event(last).await;
    assert_eq!(
        receiver.event_sequences(),
        (first..=last).collect::<Vec<_>>()
    );
    wait_until_delivered(&*store, &id, last).await;
    let figures: Vec<u64> = senders.iter().map(|s| s.metrics().delivered).collect();
    assert_eq!(figures.iter().sum::<u64>(), last + 1 - first, "{figures:?}");

    // The servers stop one after another; the others continue, and nothing is sent twice.
    for sender in senders {
        sender.stop().await;
        let next = log_events(&*store, 1).await;
        if next < last + 3 {
            receiver.wait_for_event(next).await;
        }
    }
    let left = receiver.event_sequences();
    assert_eq!(left, (first..=last + 2).collect::<Vec<_>>());
}

#[test]
fn one_of_several_servers_sends_in_memory() {
    run_test(check_single_sender(Arc::new(MemoryStore::default())));
}

#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn one_of_several_servers_sends_postgresql() {
    run_test(async {
        let url = polis_testkit::postgres::create_test_schema().await;
        let store = polis_store::PostgresStore::connect(&url, Duration::from_secs(20)).await;
        check_single_sender(Arc::new(store.unwrap())).await;
    });
}

#[test]
fn killed_server_is_replaced_by_another() {
    run_test(async {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let (a, b) = (app_with_prefix(&store, 'a'), app_with_prefix(&store, 'b'));
        let receiver = WebhookReceiver::start(&[]).await;
        let (id, _) = add_webhook(&a, &receiver.url(), &["task."]).await;
        let (runtime, doomed) = start_killable_sender(&a);
        let first = log_events(&*store, 1).await;
        receiver.wait_for_event(first).await;
        wait_until_delivered(&*store, &id, first).await;
        assert!(
            stored_webhook(&*store, &id)
                .await
                .0
                .sender
                .unwrap()
                .starts_with('a')
        );
        let sender = start_webhook_sender(&b, KILLED_LEASE);
        log_events(&*store, 40).await;
        wait_until(|| receiver.event_sequences().len() > 10).await;
        runtime.shutdown_background();
        std::mem::forget(doomed);
        let last = log_events(&*store, 40).await;
        receiver.wait_for_event(last).await;
        wait_until_delivered(&*store, &id, last).await;
        assert!(
            stored_webhook(&*store, &id)
                .await
                .0
                .sender
                .unwrap()
                .starts_with('b')
        );
        let got = receiver.event_sequences();
        let mut once = got.clone();
        once.dedup();
        once.sort_unstable();
        once.dedup();
        assert_eq!(once, (first..=last).collect::<Vec<_>>(), "no event is lost");
        assert!(
            got.len() - once.len() <= 16,
            "{} were repeated",
            got.len() - once.len()
        );
        sender.stop().await;
    });
}

#[test]
fn retry_is_taken_over_by_another_server() {
    run_test(async {
        let store: Arc<dyn Store> = Arc::new(MemoryStore::default());
        let (a, b) = (app_with_prefix(&store, 'a'), app_with_prefix(&store, 'b'));
        let receiver = WebhookReceiver::start(&[ReceiverAction::respond_with_status(500)]).await;
        let (id, _) = add_webhook(&a, &receiver.url(), &["task."]).await;
        let (runtime, doomed) = start_killable_sender(&a);
        let last = log_events(&*store, 1).await;
        wait_until(|| doomed.metrics().failed == 1).await;
        crate::test_event_server::wait_until_async(async || {
            stored_webhook(&*store, &id).await.0.failures == 1
        })
        .await;
        runtime.shutdown_background();
        std::mem::forget(doomed);
        let sender = start_webhook_sender(&b, KILLED_LEASE);
        wait_until_delivered(&*store, &id, last).await;
        assert_eq!(receiver.requests().len(), 2);
        assert_eq!(stored_webhook(&*store, &id).await.0.failures, 0);
        sender.stop().await;
    });
}
