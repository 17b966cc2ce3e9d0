//! Multi-process tests of events on one store: writers in other processes, a webhook sender that is killed, a
//! PostgreSQL server that restarts.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use polis_ops::Store;
use polis_serve::events::{Hub, WebhookSender, WebhookSettings};
use polis_store::embedded::StoreMode;
use polis_store::{EmbeddedStore, PostgresStore};
use polis_testkit::{run_test, store_factory};

use crate::test_event_server::{TestEventServer, TestEventServerOptions, log_event, wait_until};
use crate::webhook_delivery::{add_webhook, log_events, wait_until_delivered};
use crate::webhook_multiple_servers::SystemTimeClock;
use crate::webhook_receiver::WebhookReceiver;

/// Environment variable with the store path of a subprocess.
const STORE_PATH_ENV: &str = "POLIS_TEST_STORE";
const STORE_TIMEOUT: Duration = Duration::from_secs(60);

/// Starts a test function of this binary in a subprocess.
fn start_subprocess(name: &str, store: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            name,
            "--include-ignored",
            "--nocapture",
            "--quiet",
        ])
        .env(STORE_PATH_ENV, store)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Opens the store of a subprocess. Returns `None` if this process was not started by its test.
fn subprocess_store() -> Option<Arc<dyn Store>> {
    let path = PathBuf::from(std::env::var_os(STORE_PATH_ENV)?);
    Some(open_store(&path))
}

fn open_store(path: &Path) -> Arc<dyn Store> {
    Arc::new(EmbeddedStore::create(path, StoreMode::Server, STORE_TIMEOUT).unwrap())
}

/// Events per writing process.
const EVENTS_PER_WRITER: u64 = 200;

#[test]
#[ignore = "started as a subprocess by another test"]
fn subprocess_writes_events() {
    let Some(store) = subprocess_store() else {
        return;
    };
    run_test(async move {
        log_events(&*store, EVENTS_PER_WRITER).await;
    });
}

#[test]
fn events_of_other_processes_reach_every_reader() {
    run_test(async {
        let directory = tempfile::tempdir().unwrap();
        let store = open_store(directory.path());
        let server =
            TestEventServer::start_on_store(Arc::clone(&store), TestEventServerOptions::default())
                .await;
        let mut readers = Vec::new();
        let total = EVENTS_PER_WRITER * 3;
        for _ in 0..20 {
            let mut reader = server.follow("").await;
            assert_eq!(reader.next_block().await.unwrap().id, Some(0));
            readers.push(tokio::spawn(async move {
                let due: Vec<u64> = (1..=total).collect();
                assert_eq!(reader.next_sequences(due.len()).await, due);
            }));
        }
        let path = directory.path().to_owned();
        let others: Vec<Child> = (0..2)
            .map(|_| start_subprocess("event_multiple_processes::subprocess_writes_events", &path))
            .collect();
        log_events(&*store, EVENTS_PER_WRITER).await;
        for mut other in others {
            let ended = tokio::task::spawn_blocking(move || other.wait().unwrap());
            assert!(ended.await.unwrap().success());
        }
        for reader in readers {
            reader.await.unwrap();
        }
    });
}

/// Starts a webhook sender with a short lease.
fn start_webhook_sender(store: &Arc<dyn Store>) -> WebhookSender {
    let mut app = store_factory::new_test_app(Arc::clone(store));
    app.clock = Arc::new(SystemTimeClock);
    let settings = WebhookSettings {
        poll_interval: Duration::from_millis(10),
        lease_duration: Duration::from_millis(500),
        delivery_timeout: Duration::from_secs(10),
        ..WebhookSettings::default()
    };
    WebhookSender::start(app.clone(), Hub::new(&app), settings)
}

#[test]
#[ignore = "started as a subprocess by another test"]
fn subprocess_sends_webhooks() {
    let Some(store) = subprocess_store() else {
        return;
    };
    run_test(async move {
        let _sender = start_webhook_sender(&store);
        std::future::pending::<()>().await;
    });
}

/// However often the sending process is killed, every event arrives, in order except for a few repetitions.
#[test]
fn killed_sender_repeats_at_most_one_batch() {
    run_test(async {
        let directory = tempfile::tempdir().unwrap();
        let store = open_store(directory.path());
        let receiver = WebhookReceiver::start(&[]).await;
        let app = store_factory::new_test_app(Arc::clone(&store));
        let (id, _) = add_webhook(&app, &receiver.url(), &["task."]).await;
        let last = log_events(&*store, 400).await;
        let kills = 4;
        for round in 1..=kills {
            let mut child = start_subprocess(
                "event_multiple_processes::subprocess_sends_webhooks",
                directory.path(),
            );
            wait_until(|| receiver.requests().len() >= round * 50).await;
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let sender = start_webhook_sender(&store);
        wait_until_delivered(&*store, &id, last).await;
        sender.stop().await;
        let got = receiver.event_sequences();
        let mut due = 2;
        for seq in &got {
            assert!(*seq <= due, "{seq} arrived before {due}");
            due = due.max(seq + 1);
        }
        assert_eq!(due, last + 1, "no event is lost");
        let again = got.len() as u64 - (last - 1);
        assert!(again <= 16 * kills as u64, "{again} were repeated");
    });
}

#[expect(clippy::disallowed_methods, reason = "setting of a test")]
fn required_env(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

/// A database restart is only a pause: readers get the events committed before and after it exactly once.
#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn readers_survive_restart_of_postgresql() {
    run_test(async {
        let url = required_env("POLIS_TEST_PG_FAULT_URL");
        let url = polis_testkit::postgres::create_test_schema_at(&url).await;
        let store = PostgresStore::connect(&url, STORE_TIMEOUT).await.unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let server =
            TestEventServer::start_on_store(Arc::clone(&store), TestEventServerOptions::default())
                .await;
        let mut reader = server.follow("").await;
        log_events(&*store, 50).await;
        assert_eq!(
            reader.next_sequences(50).await,
            (1..=50).collect::<Vec<_>>()
        );
        let restart = required_env("POLIS_TEST_PG_RESTART");
        let restarted = tokio::task::spawn_blocking(move || {
            let mut words = restart.split_whitespace();
            let mut command = Command::new(words.next().unwrap());
            command.args(words).stdout(Stdio::null()).status().unwrap()
        });
        assert!(restarted.await.unwrap().success());
        let mut last = 0;
        while last < 100 {
            // The first attempts may find the connection broken, or end with an unknown outcome.
            let told = tokio::spawn({
                let store = Arc::clone(&store);
                async move { log_event(&*store, "task.updated", 1, "user", "x").await }
            });
            last = told.await.unwrap_or(last);
        }
        let due: Vec<u64> = (51..=last).collect();
        assert_eq!(reader.next_sequences(due.len()).await, due);
    });
}
