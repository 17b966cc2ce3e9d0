//! Webhook delivery by one server to receivers that succeed, fail, hang or disconnect.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Duration;

use polis_core::AgentId;
use polis_core::record::{RecordKind, RecordName};
use polis_core::webhook::{Webhook, WebhookAdd};
use polis_ops::op::{self, WebhookRemove};
use polis_ops::{Polis, Store};
use polis_serve::events::{Hub, WebhookSender, WebhookSettings};
use polis_testkit::{FixedClock, MemoryStore, lasting_port, run, test_store};

use crate::events_ground::{note, until};
use crate::receiver::{AUTHORITY, Act, Receiver};

/// A store with a clock that never really waits.
struct Scene {
    polis: Polis,
    clock: Arc<FixedClock>,
    hub: Hub,
}

impl Scene {
    fn new() -> Self {
        let clock = Arc::new(FixedClock::default());
        let mut polis = test_store::polis(Arc::new(MemoryStore::default()));
        polis.clock = Arc::<FixedClock>::clone(&clock);
        Self {
            hub: Hub::new(&polis),
            polis,
            clock,
        }
    }

    fn settings() -> WebhookSettings {
        WebhookSettings {
            look: Duration::from_millis(10),
            timeout: Duration::from_secs(20),
            ..WebhookSettings::default()
        }
    }

    fn send(&self) -> WebhookSender {
        self.send_with(Self::settings())
    }

    fn send_with(&self, settings: WebhookSettings) -> WebhookSender {
        WebhookSender::start(self.polis.clone(), self.hub.clone(), settings)
    }

    /// Registers a webhook. Returns its id and secret.
    async fn hook(&self, url: &str, kinds: &[&str]) -> (String, String) {
        add(&self.polis, url, kinds).await
    }

    async fn tell(&self, many: u64) -> u64 {
        tell(&*self.polis.store, many).await
    }

    async fn kept(&self, id: &str) -> (Webhook, u64) {
        kept(&*self.polis.store, id).await
    }

    /// Waits until the record shows that all events up to this sequence number are delivered.
    async fn delivered(&self, id: &str, place: u64) {
        delivered(&*self.polis.store, id, place).await;
    }
}

pub(crate) async fn add(polis: &Polis, url: &str, kinds: &[&str]) -> (String, String) {
    let params = WebhookAdd {
        url: url.to_owned(),
        kinds: kinds.iter().map(|&kind| kind.to_owned()).collect(),
        since: None,
    };
    let added = op::add_webhook(polis, &AgentId::user(), &params)
        .await
        .unwrap();
    (added.view.id, added.secret)
}

pub(crate) async fn tell(store: &dyn Store, many: u64) -> u64 {
    let mut last = 0;
    for _ in 0..many {
        last = note(store, "task.updated", 1, "user", "x").await;
    }
    last
}

pub(crate) async fn kept(store: &dyn Store, id: &str) -> (Webhook, u64) {
    let name = RecordName::new(RecordKind::Webhook, id);
    let stored = store.record(&name).await.unwrap().unwrap();
    (serde_json::from_str(&stored.body).unwrap(), stored.revision)
}

pub(crate) async fn delivered(store: &dyn Store, id: &str, place: u64) {
    let waited = tokio::time::timeout(crate::events_ground::SOON, async {
        while kept(store, id).await.0.delivered < place {
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
    });
    waited.await.expect("the place is never written");
}

#[test]
fn events_arrive_in_order_signed_and_once() {
    run(async {
        let scene = Scene::new();
        let receiver = Receiver::start(&[]).await;
        let (id, secret) = scene.hook(&receiver.url(), &["task."]).await;
        let sender = scene.send();
        let store = &*scene.polis.store;
        for n in 0..40 {
            let kind = if n % 2 == 0 {
                "task.updated"
            } else {
                "board.written"
            };
            note(store, kind, n + 1, "alice", "说明").await;
        }
        let head = scene.polis.store.last_sequence().await.unwrap();
        receiver.has(head - 1).await;
        let came = receiver.came();
        let log = crate::events_ground::log_after(store, 0).await;
        let wanted: Vec<_> = log.iter().filter(|e| e.kind == "task.updated").collect();
        assert_eq!(came.len(), wanted.len());
        for (came, event) in came.iter().zip(wanted) {
            assert_eq!(came.json(), serde_json::to_value(event).unwrap());
            assert!(came.is_signed(&secret));
            assert!(!came.is_signed(&format!("whsec_{}", "0".repeat(64))));
            assert_eq!(came.header("webhook-id"), format!("{id}.{}", event.seq));
            assert_eq!(came.header("webhook-timestamp"), "1767225600");
            assert_eq!(came.header("content-type"), "application/json");
            assert_eq!(came.head.uri, "/hook?x=1");
            assert_eq!(came.head.method, "POST");
        }
        assert_eq!(receiver.connections(), 1, "the connection is kept");
        scene.delivered(&id, head - 1).await;
        assert_eq!(sender.figures().delivered, 20);
        sender.stop().await;
        let (hook, _) = scene.kept(&id).await;
        assert_eq!((hook.delivered, hook.failures), (head, 0));
        assert_eq!((hook.sender, hook.sender_until), (None, 0));
        let now = scene.polis.store.last_sequence().await.unwrap();
        assert_eq!(now, head, "sending makes no events");
    });
}

#[test]
fn the_place_is_written_in_batches() {
    run(async {
        let scene = Scene::new();
        let receiver = Receiver::start(&[]).await;
        let (id, _) = scene.hook(&receiver.url(), &[]).await;
        let last = scene.tell(320).await;
        let sender = scene.send();
        receiver.has(last).await;
        sender.stop().await;
        let (hook, revision) = scene.kept(&id).await;
        assert_eq!(hook.delivered, last);
        // One write for the lease, one per 16 deliveries, one at the end; a slow machine adds some because of
        // the time limit.
        assert!((20..60).contains(&revision), "{revision} writes");
        // Without a kind filter, the first event is its own registration.
        assert_eq!(receiver.places(), (1..=last).collect::<Vec<_>>());
    });
}

#[test]
fn a_delivery_that_fails_is_tried_again_with_the_same_id() {
    run(async {
        let scene = Scene::new();
        let receiver = Receiver::start(&[
            Act::status(204),
            Act::status(500),
            Act::Break,
            Act::status(404),
            Act::status(204),
        ])
        .await;
        let (id, secret) = scene.hook(&receiver.url(), &["task."]).await;
        let begin = polis_testkit::clock::BEGINNING;
        let sender = scene.send();
        let last = scene.tell(3).await;
        receiver.has(last).await;
        let first = last - 2;
        let second = last - 1;
        assert_eq!(
            receiver.places(),
            [first, second, second, second, second, last],
            "in order, whatever fails"
        );
        let ids: BTreeSet<String> = receiver
            .came()
            .iter()
            .map(|came| came.header("webhook-id").to_owned())
            .collect();
        assert_eq!(ids.len(), 3);
        assert!(receiver.came().iter().all(|came| came.is_signed(&secret)));
        scene.delivered(&id, last).await;
        let (hook, _) = scene.kept(&id).await;
        assert_eq!(
            (hook.failures, hook.retry_at, hook.last_error),
            (0, None, None)
        );
        // 1, 2 and 4 seconds, each reduced by up to a half.
        use polis_ops::port::Clock as _;
        let waited = scene.clock.now_millis() - begin;
        assert!((3_500..=7_000).contains(&waited), "{waited} ms");
        assert_eq!(sender.figures().failed, 3);
        sender.stop().await;
    });
}

#[test]
fn a_receiver_says_when_to_come_back() {
    run(async {
        let after = |value: &str| Act::Answer(503, vec![("retry-after", value.to_owned())]);
        let scene = Scene::new();
        let date = "Thu, 01 Jan 2026 00:10:00 GMT";
        let receiver = Receiver::start(&[after("120"), after(date)]).await;
        let (id, _) = scene.hook(&receiver.url(), &["task."]).await;
        let sender = scene.send();
        let last = scene.tell(1).await;
        until(|| receiver.came().len() == 3).await;
        let times: Vec<i64> = receiver
            .came()
            .iter()
            .map(|came| came.header("webhook-timestamp").parse().unwrap())
            .collect();
        let begin = polis_testkit::clock::BEGINNING / 1_000;
        assert_eq!(times, [begin, begin + 120, begin + 600]);
        scene.delivered(&id, last).await;
        sender.stop().await;
    });
}

#[test]
fn a_receiver_that_is_gone_is_asked_seldom() {
    run(async {
        let scene = Scene::new();
        let receiver = Receiver::start(&[Act::status(410)]).await;
        let (id, _) = scene.hook(&receiver.url(), &["task."]).await;
        let sender = scene.send();
        let last = scene.tell(1).await;
        until(|| receiver.came().len() == 2).await;
        scene.delivered(&id, last).await;
        use polis_ops::port::Clock as _;
        let waited = scene.clock.now_millis() - polis_testkit::clock::BEGINNING;
        assert_eq!(waited, 600_000);
        sender.stop().await;
    });
}

#[test]
fn what_went_wrong_is_written_down() {
    run(async {
        let elsewhere = Receiver::start(&[]).await;
        let to = vec![("location", elsewhere.url())];
        let nobody = format!("http://localhost:{}/hook", lasting_port());
        let redirecting = Receiver::start(&vec![Act::Answer(307, to); 1_000]).await;
        let refusing = Receiver::start(&vec![Act::status(500); 1_000]).await;
        let slow = Receiver::start(&vec![Act::Slow(Duration::from_secs(60)); 1_000]).await;
        let cases = [
            (
                redirecting.url(),
                "The receiver answered 307 Temporary Redirect (redirects are not followed).",
            ),
            (
                refusing.url(),
                "The receiver answered 500 Internal Server Error.",
            ),
            (slow.url(), "No answer within 0.05 s."),
            (nobody, "No connection: connection refused."),
            (
                "http://user:secret@no-such-host.invalid/".to_owned(),
                "No connection: ",
            ),
        ];
        for (url, error) in cases {
            let scene = Scene::new();
            let (id, _) = scene.hook(&url, &["task."]).await;
            let sender = scene.send_with(WebhookSettings {
                timeout: Duration::from_millis(if error.contains("0.05") { 50 } else { 10_000 }),
                ..Scene::settings()
            });
            let last = scene.tell(1).await;
            until(|| sender.figures().failed >= 2).await;
            sender.stop().await;
            let (hook, _) = scene.kept(&id).await;
            assert!(hook.failures >= 1, "{url}");
            assert!(hook.retry_at.is_some() && hook.delivered < last);
            assert_eq!(hook.sender, None, "whoever is there next may try");
            let said = hook.last_error.unwrap();
            assert!(said.starts_with(error), "{said}");
            assert!(!said.contains("secret"));
        }
        assert!(elsewhere.came().is_empty(), "a redirect was followed");
    });
}

#[test]
fn a_receiver_that_hangs_holds_up_nobody_else() {
    run(async {
        let scene = Scene::new();
        let hanging = Receiver::start(&vec![Act::Slow(Duration::from_secs(600)); 100]).await;
        let good = Receiver::start(&[]).await;
        scene.hook(&hanging.url(), &["task."]).await;
        scene.hook(&good.url(), &["task."]).await;
        let sender = scene.send_with(WebhookSettings {
            timeout: Duration::from_secs(600),
            ..Scene::settings()
        });
        let first = scene.tell(1).await;
        until(|| !hanging.came().is_empty()).await;
        let last = scene.tell(100).await;
        good.has(last).await;
        assert_eq!(good.places(), (first..=last).collect::<Vec<_>>());
        assert_eq!(hanging.came().len(), 1);
        // Stopping does not wait for it indefinitely.
        let stopped = tokio::time::timeout(Duration::from_secs(30), sender.stop());
        stopped.await.expect("stopping hangs");
    });
}

#[test]
fn a_receiver_that_dies_gets_the_rest_when_it_is_back() {
    run(async {
        let scene = Scene::new();
        // A reserved port, so that no other process gets it in the meantime.
        let address = ([127, 0, 0, 1], lasting_port()).into();
        let receiver = Receiver::at(address, &[], None).await;
        let url = receiver.url();
        let (id, _) = scene.hook(&url, &["task."]).await;
        let sender = scene.send();
        let before = scene.tell(5).await;
        receiver.has(before).await;
        let mut got = receiver.places();
        drop(receiver);
        let last = scene.tell(5).await;
        until(|| sender.figures().failed > 0).await;
        let back = Receiver::at(address, &[], None).await;
        back.has(last).await;
        got.extend(back.places());
        assert_eq!(got, (before - 4..=last).collect::<Vec<_>>());
        scene.delivered(&id, last).await;
        sender.stop().await;
    });
}

#[test]
fn a_long_answer_is_not_read() {
    run(async {
        let scene = Scene::new();
        let receiver = Receiver::start(&[Act::Long(50 << 20), Act::Long(1_000)]).await;
        let (id, _) = scene.hook(&receiver.url(), &["task."]).await;
        let sender = scene.send();
        let last = scene.tell(3).await;
        receiver.has(last).await;
        assert_eq!(receiver.came().len(), 3);
        assert_eq!(receiver.connections(), 2, "only the first is given up");
        scene.delivered(&id, last).await;
        sender.stop().await;
    });
}

#[test]
fn webhooks_come_and_go_while_events_are_sent() {
    run(async {
        let scene = Scene::new();
        let sender = scene.send();
        let (one, two) = (Receiver::start(&[]).await, Receiver::start(&[]).await);
        scene.tell(3).await;
        assert_eq!(scene.hub.readers(), 0, "nobody follows the log for nothing");
        let (first, _) = scene.hook(&one.url(), &["task."]).await;
        until(|| sender.figures().webhooks == 1).await;
        let seen = scene.tell(1).await;
        one.has(seen).await;
        scene.hook(&two.url(), &["task."]).await;
        until(|| sender.figures().webhooks == 2).await;
        let both = scene.tell(1).await;
        one.has(both).await;
        two.has(both).await;
        let remove = WebhookRemove { id: first };
        op::remove_webhook(&scene.polis, &AgentId::user(), &remove)
            .await
            .unwrap();
        until(|| sender.figures().webhooks == 1).await;
        let last = scene.tell(1).await;
        two.has(last).await;
        assert_eq!(one.places(), [seen, both]);
        assert_eq!(two.places(), [both, last]);
        sender.stop().await;
        until(|| scene.hub.readers() == 0).await;
    });
}

#[test]
fn an_encrypted_receiver_must_be_vouched_for() {
    run(async {
        let scene = Scene::new();
        let receiver = Receiver::start_tls().await;
        let (id, secret) = scene.hook(&receiver.url(), &["task."]).await;
        let sender = scene.send();
        let last = scene.tell(2).await;
        until(|| sender.figures().failed >= 1).await;
        sender.stop().await;
        let (hook, _) = scene.kept(&id).await;
        let said = hook.last_error.unwrap();
        assert!(
            said.contains("TLS") || said.contains("certificates"),
            "{said}"
        );
        assert!(receiver.came().is_empty());

        let sender = scene.send_with(WebhookSettings {
            trust: vec![AUTHORITY.to_vec()],
            ..Scene::settings()
        });
        receiver.has(last).await;
        assert_eq!(receiver.places(), [last - 1, last]);
        assert!(receiver.came().iter().all(|came| came.is_signed(&secret)));
        scene.delivered(&id, last).await;
        sender.stop().await;
    });
}
