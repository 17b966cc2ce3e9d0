//! Webhook delivery tests with one server: order, signatures, retries with backoff, Retry-After, TLS, and
//! receivers that fail, hang or disconnect.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use polis_core::AgentId;
use polis_core::record::{RecordKind, RecordName};
use polis_core::webhook::{Webhook, WebhookAddParams};
use polis_i18n::{Surface, UiLanguage, render_reason};
use polis_ops::op::{self, WebhookRemoveParams};
use polis_ops::{App, Store};
use polis_serve::events::{Hub, WebhookSender, WebhookSettings};
use polis_testkit::{FixedClock, MemoryStore, pick_non_ephemeral_port, run_test, store_factory};

use crate::test_event_server::{log_event, wait_until};
use crate::webhook_receiver::{CERTIFICATE_AUTHORITY, ReceiverAction, WebhookReceiver};

/// An in-memory store with a hub, and a manual clock whose waits end at once.
struct TestWebhookStore {
    app: App,
    clock: Arc<FixedClock>,
    hub: Hub,
}

impl TestWebhookStore {
    fn new() -> Self {
        let clock = Arc::new(FixedClock::default());
        let mut app = store_factory::new_test_app(Arc::new(MemoryStore::default()));
        app.clock = Arc::<FixedClock>::clone(&clock);
        Self {
            hub: Hub::new(&app),
            app,
            clock,
        }
    }

    fn sender_settings() -> WebhookSettings {
        WebhookSettings {
            poll_interval: Duration::from_millis(10),
            delivery_timeout: Duration::from_secs(20),
            ..WebhookSettings::default()
        }
    }

    fn start_sender(&self) -> WebhookSender {
        self.start_sender_with(Self::sender_settings())
    }

    fn start_sender_with(&self, settings: WebhookSettings) -> WebhookSender {
        WebhookSender::start(self.app.clone(), self.hub.clone(), settings)
    }

    /// Registers a webhook. Returns its id and secret.
    async fn add_webhook(&self, url: &str, kinds: &[&str]) -> (String, String) {
        add_webhook(&self.app, url, kinds).await
    }

    async fn log_events(&self, many: u64) -> u64 {
        log_events(&*self.app.store, many).await
    }

    async fn stored_webhook(&self, id: &str) -> (Webhook, u64) {
        stored_webhook(&*self.app.store, id).await
    }

    /// Waits until the record shows that all events up to this sequence number are delivered.
    async fn wait_until_delivered(&self, id: &str, place: u64) {
        wait_until_delivered(&*self.app.store, id, place).await;
    }
}

/// Registers a webhook. Returns its id and secret.
pub(crate) async fn add_webhook(app: &App, url: &str, kinds: &[&str]) -> (String, String) {
    let params = WebhookAddParams {
        url: url.to_owned(),
        kinds: kinds.iter().map(|&kind| kind.to_owned()).collect(),
        since: None,
    };
    let added = op::add_webhook(&app.request(&AgentId::user()), &params)
        .await
        .unwrap();
    (added.view.id, added.secret)
}

/// Logs `many` events. Returns the sequence number of the last.
pub(crate) async fn log_events(store: &dyn Store, many: u64) -> u64 {
    let mut last = 0;
    for _ in 0..many {
        last = log_event(store, "task.updated", 1, "user", "x").await;
    }
    last
}

/// Returns the stored webhook record and its revision.
pub(crate) async fn stored_webhook(store: &dyn Store, id: &str) -> (Webhook, u64) {
    let name = RecordName::new(RecordKind::Webhook, id);
    let stored = store.record(&name).await.unwrap().unwrap();
    (serde_json::from_str(&stored.body).unwrap(), stored.revision)
}

/// Waits until the record shows that all events up to this sequence number are delivered.
pub(crate) async fn wait_until_delivered(store: &dyn Store, id: &str, place: u64) {
    let waited = tokio::time::timeout(crate::test_event_server::RESULT_TIMEOUT, async {
        while stored_webhook(store, id).await.0.delivered < place {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    waited
        .await
        .expect("the delivery position is never written");
}

#[test]
fn events_are_delivered_in_order_signed_and_once() {
    run_test(async {
        let test_store = TestWebhookStore::new();
        let receiver = WebhookReceiver::start(&[]).await;
        let (id, secret) = test_store.add_webhook(&receiver.url(), &["task."]).await;
        let sender = test_store.start_sender();
        let store = &*test_store.app.store;
        for n in 0..40 {
            let kind = if n % 2 == 0 {
                "task.updated"
            } else {
                "board.written"
            };
            log_event(store, kind, n + 1, "alice", "说明").await;
        }
        let head = test_store.app.store.last_sequence().await.unwrap();
        receiver.wait_for_event(head - 1).await;
        let came = receiver.requests();
        let log = crate::test_event_server::events_after(store, 0).await;
        let wanted: Vec<_> = log.iter().filter(|e| e.kind == "task.updated").collect();
        assert_eq!(came.len(), wanted.len());
        for (came, event) in came.iter().zip(wanted) {
            assert_eq!(came.json(), serde_json::to_value(event).unwrap());
            assert!(came.is_signed_with(&secret));
            assert!(!came.is_signed_with(&format!("whsec_{}", "0".repeat(64))));
            assert_eq!(came.header("webhook-id"), format!("{id}.{}", event.seq));
            assert_eq!(came.header("webhook-timestamp"), "1767225600");
            assert_eq!(came.header("content-type"), "application/json");
            assert_eq!(came.head.uri, "/hook?x=1");
            assert_eq!(came.head.method, "POST");
        }
        assert_eq!(receiver.connection_count(), 1, "the connection is reused");
        test_store.wait_until_delivered(&id, head - 1).await;
        assert_eq!(sender.metrics().delivered, 20);
        sender.stop().await;
        let (hook, _) = test_store.stored_webhook(&id).await;
        assert_eq!((hook.delivered, hook.failures), (head, 0));
        assert_eq!((hook.sender, hook.sender_until), (None, 0));
        let now = test_store.app.store.last_sequence().await.unwrap();
        assert_eq!(now, head, "delivery logs no events");
    });
}

#[test]
fn delivery_position_is_written_in_batches() {
    run_test(async {
        let test_store = TestWebhookStore::new();
        let receiver = WebhookReceiver::start(&[]).await;
        let (id, _) = test_store.add_webhook(&receiver.url(), &[]).await;
        let last = test_store.log_events(320).await;
        let sender = test_store.start_sender();
        receiver.wait_for_event(last).await;
        sender.stop().await;
        let (hook, revision) = test_store.stored_webhook(&id).await;
        assert_eq!(hook.delivered, last);
        // One write for the lease, one per 16 deliveries, one at the end; a slow machine adds some because of
        // the time limit.
        assert!((20..60).contains(&revision), "{revision} writes");
        // Without a kind filter, the first event is its own registration.
        assert_eq!(receiver.event_sequences(), (1..=last).collect::<Vec<_>>());
    });
}

#[test]
fn failed_delivery_is_retried_with_same_id() {
    run_test(async {
        let test_store = TestWebhookStore::new();
        let receiver = WebhookReceiver::start(&[
            ReceiverAction::respond_with_status(204),
            ReceiverAction::respond_with_status(500),
            ReceiverAction::Disconnect,
            ReceiverAction::respond_with_status(404),
            ReceiverAction::respond_with_status(204),
        ])
        .await;
        let (id, secret) = test_store.add_webhook(&receiver.url(), &["task."]).await;
        let begin = polis_testkit::clock::START_MILLIS;
        let sender = test_store.start_sender();
        let last = test_store.log_events(3).await;
        receiver.wait_for_event(last).await;
        let first = last - 2;
        let second = last - 1;
        assert_eq!(
            receiver.event_sequences(),
            [first, second, second, second, second, last],
            "in order despite failures"
        );
        let ids: BTreeSet<String> = receiver
            .requests()
            .iter()
            .map(|came| came.header("webhook-id").to_owned())
            .collect();
        assert_eq!(ids.len(), 3);
        assert!(
            receiver
                .requests()
                .iter()
                .all(|came| came.is_signed_with(&secret))
        );
        test_store.wait_until_delivered(&id, last).await;
        let (hook, _) = test_store.stored_webhook(&id).await;
        assert_eq!(
            (hook.failures, hook.retry_at, hook.last_error),
            (0, None, None)
        );
        // 1, 2 and 4 seconds, each reduced by up to a half.
        use polis_ops::port::Clock as _;
        let waited = test_store.clock.now_millis() - begin;
        assert!((3_500..=7_000).contains(&waited), "{waited} ms");
        assert_eq!(sender.metrics().failed, 3);
        sender.stop().await;
    });
}

#[test]
fn retry_after_header_is_honoured() {
    run_test(async {
        let after =
            |value: &str| ReceiverAction::Respond(503, vec![("retry-after", value.to_owned())]);
        let test_store = TestWebhookStore::new();
        let date = "Thu, 01 Jan 2026 00:10:00 GMT";
        let receiver = WebhookReceiver::start(&[after("120"), after(date)]).await;
        let (id, _) = test_store.add_webhook(&receiver.url(), &["task."]).await;
        let sender = test_store.start_sender();
        let last = test_store.log_events(1).await;
        wait_until(|| receiver.requests().len() == 3).await;
        let times: Vec<i64> = receiver
            .requests()
            .iter()
            .map(|came| came.header("webhook-timestamp").parse().unwrap())
            .collect();
        let begin = polis_testkit::clock::START_MILLIS / 1_000;
        assert_eq!(times, [begin, begin + 120, begin + 600]);
        test_store.wait_until_delivered(&id, last).await;
        sender.stop().await;
    });
}

#[test]
fn gone_receiver_is_retried_after_ten_minutes() {
    run_test(async {
        let test_store = TestWebhookStore::new();
        let receiver = WebhookReceiver::start(&[ReceiverAction::respond_with_status(410)]).await;
        let (id, _) = test_store.add_webhook(&receiver.url(), &["task."]).await;
        let sender = test_store.start_sender();
        let last = test_store.log_events(1).await;
        wait_until(|| receiver.requests().len() == 2).await;
        test_store.wait_until_delivered(&id, last).await;
        use polis_ops::port::Clock as _;
        let waited = test_store.clock.now_millis() - polis_testkit::clock::START_MILLIS;
        assert_eq!(waited, 600_000);
        sender.stop().await;
    });
}

#[test]
fn delivery_error_is_recorded() {
    run_test(async {
        let elsewhere = WebhookReceiver::start(&[]).await;
        let to = vec![("location", elsewhere.url())];
        let nobody = format!("http://localhost:{}/hook", pick_non_ephemeral_port());
        let redirecting =
            WebhookReceiver::start(&vec![ReceiverAction::Respond(307, to); 1_000]).await;
        let refusing =
            WebhookReceiver::start(&vec![ReceiverAction::respond_with_status(500); 1_000]).await;
        let slow =
            WebhookReceiver::start(&vec![
                ReceiverAction::RespondAfter(Duration::from_secs(60));
                1_000
            ])
            .await;
        let cases = [
            (
                redirecting.url(),
                "The receiver answered 307 Temporary Redirect (redirects are not followed).",
            ),
            (
                refusing.url(),
                "The receiver answered 500 Internal Server Error.",
            ),
            (slow.url(), "No response within 0.05 s."),
            (nobody, "No connection: connection refused."),
            (
                "http://user:secret@no-such-host.invalid/".to_owned(),
                "No connection: ",
            ),
        ];
        for (url, error) in cases {
            let test_store = TestWebhookStore::new();
            let (id, _) = test_store.add_webhook(&url, &["task."]).await;
            let sender = test_store.start_sender_with(WebhookSettings {
                delivery_timeout: Duration::from_millis(if error.contains("0.05") {
                    50
                } else {
                    10_000
                }),
                ..TestWebhookStore::sender_settings()
            });
            let last = test_store.log_events(1).await;
            wait_until(|| sender.metrics().failed >= 2).await;
            sender.stop().await;
            let (hook, _) = test_store.stored_webhook(&id).await;
            assert!(hook.failures >= 1, "{url}");
            assert!(hook.retry_at.is_some() && hook.delivered < last);
            assert_eq!(hook.sender, None, "the lease is released for other servers");
            let said = hook.last_error.unwrap();
            assert!(said.starts_with(error), "{said}");
            let stored = hook.last_failure.unwrap();
            let render = |lang| render_reason(&stored, Surface::Cli, lang).message;
            assert_eq!(render(UiLanguage::En), said);
            let chinese = render(UiLanguage::Zh);
            let starts = ["接收方应答 ", "0.05 秒内", "无法连接："];
            assert!(
                starts.iter().any(|start| chinese.starts_with(start)),
                "{chinese}"
            );
            assert!(!said.contains("secret"));
        }
        assert!(elsewhere.requests().is_empty(), "a redirect was followed");
    });
}

#[test]
fn hanging_receiver_does_not_delay_others() {
    run_test(async {
        let test_store = TestWebhookStore::new();
        let hanging =
            WebhookReceiver::start(&vec![
                ReceiverAction::RespondAfter(Duration::from_secs(600));
                100
            ])
            .await;
        let good = WebhookReceiver::start(&[]).await;
        test_store.add_webhook(&hanging.url(), &["task."]).await;
        test_store.add_webhook(&good.url(), &["task."]).await;
        let sender = test_store.start_sender_with(WebhookSettings {
            delivery_timeout: Duration::from_secs(600),
            ..TestWebhookStore::sender_settings()
        });
        let first = test_store.log_events(1).await;
        wait_until(|| !hanging.requests().is_empty()).await;
        let last = test_store.log_events(100).await;
        good.wait_for_event(last).await;
        assert_eq!(good.event_sequences(), (first..=last).collect::<Vec<_>>());
        assert_eq!(hanging.requests().len(), 1);
        // Stopping does not wait for it indefinitely.
        let stopped = tokio::time::timeout(Duration::from_secs(30), sender.stop());
        stopped.await.expect("stopping hangs");
    });
}

#[test]
fn restarted_receiver_gets_remaining_events() {
    run_test(async {
        let test_store = TestWebhookStore::new();
        // A reserved port, so that no other process gets it in the meantime.
        let address = ([127, 0, 0, 1], pick_non_ephemeral_port()).into();
        let receiver = WebhookReceiver::start_at(address, &[], None).await;
        let url = receiver.url();
        let (id, _) = test_store.add_webhook(&url, &["task."]).await;
        let sender = test_store.start_sender();
        let before = test_store.log_events(5).await;
        receiver.wait_for_event(before).await;
        let mut got = receiver.stop().await;
        let last = test_store.log_events(5).await;
        wait_until(|| sender.metrics().failed > 0).await;
        let back = WebhookReceiver::start_at(address, &[], None).await;
        back.wait_for_event(last).await;
        got.extend(back.event_sequences());
        assert_eq!(got, (before - 4..=last).collect::<Vec<_>>());
        test_store.wait_until_delivered(&id, last).await;
        sender.stop().await;
    });
}

#[test]
fn long_response_body_is_not_read() {
    run_test(async {
        let test_store = TestWebhookStore::new();
        let receiver = WebhookReceiver::start(&[
            ReceiverAction::RespondWithBody(50 << 20),
            ReceiverAction::RespondWithBody(1_000),
        ])
        .await;
        let (id, _) = test_store.add_webhook(&receiver.url(), &["task."]).await;
        let sender = test_store.start_sender();
        let last = test_store.log_events(3).await;
        receiver.wait_for_event(last).await;
        assert_eq!(receiver.requests().len(), 3);
        assert_eq!(
            receiver.connection_count(),
            2,
            "only the first connection is closed"
        );
        test_store.wait_until_delivered(&id, last).await;
        sender.stop().await;
    });
}

#[test]
fn webhooks_are_added_and_removed_while_sending() {
    run_test(async {
        let test_store = TestWebhookStore::new();
        let sender = test_store.start_sender();
        let (one, two) = (
            WebhookReceiver::start(&[]).await,
            WebhookReceiver::start(&[]).await,
        );
        test_store.log_events(3).await;
        assert_eq!(
            test_store.hub.readers(),
            0,
            "without webhooks no reader follows the log"
        );
        let (first, _) = test_store.add_webhook(&one.url(), &["task."]).await;
        wait_until(|| sender.metrics().webhooks == 1).await;
        let seen = test_store.log_events(1).await;
        one.wait_for_event(seen).await;
        test_store.add_webhook(&two.url(), &["task."]).await;
        wait_until(|| sender.metrics().webhooks == 2).await;
        let both = test_store.log_events(1).await;
        one.wait_for_event(both).await;
        two.wait_for_event(both).await;
        let remove = WebhookRemoveParams { id: first };
        op::remove_webhook(&test_store.app.request(&AgentId::user()), &remove)
            .await
            .unwrap();
        wait_until(|| sender.metrics().webhooks == 1).await;
        let last = test_store.log_events(1).await;
        two.wait_for_event(last).await;
        assert_eq!(one.event_sequences(), [seen, both]);
        assert_eq!(two.event_sequences(), [both, last]);
        sender.stop().await;
        wait_until(|| test_store.hub.readers() == 0).await;
    });
}

#[test]
fn tls_receiver_needs_trusted_certificate() {
    run_test(async {
        let test_store = TestWebhookStore::new();
        let receiver = WebhookReceiver::start_tls().await;
        let (id, secret) = test_store.add_webhook(&receiver.url(), &["task."]).await;
        let sender = test_store.start_sender();
        let last = test_store.log_events(2).await;
        wait_until(|| sender.metrics().failed >= 1).await;
        sender.stop().await;
        let (hook, _) = test_store.stored_webhook(&id).await;
        let said = hook.last_error.unwrap();
        assert!(
            said.contains("TLS") || said.contains("certificates"),
            "{said}"
        );
        assert!(receiver.requests().is_empty());

        let sender = test_store.start_sender_with(WebhookSettings {
            extra_roots: vec![CERTIFICATE_AUTHORITY.to_vec()],
            ..TestWebhookStore::sender_settings()
        });
        receiver.wait_for_event(last).await;
        assert_eq!(receiver.event_sequences(), [last - 1, last]);
        assert!(
            receiver
                .requests()
                .iter()
                .all(|came| came.is_signed_with(&secret))
        );
        test_store.wait_until_delivered(&id, last).await;
        sender.stop().await;
    });
}
