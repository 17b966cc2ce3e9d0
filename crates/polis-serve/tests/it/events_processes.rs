//! Several processes on one store: writers in other processes, a sender that is killed, a database that
//! restarts.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use polis_ops::Store;
use polis_serve::events::{Hub, WebhookSender, WebhookSettings};
use polis_store::embedded::Use;
use polis_store::{EmbeddedStore, PostgresStore};
use polis_testkit::{run, test_store};

use crate::events_ground::{Options, Server, note, until};
use crate::events_webhook::{add, delivered, tell};
use crate::events_webhook_shared::RealClock;
use crate::receiver::Receiver;

/// Environment variable with the store path of a subprocess.
const WHERE: &str = "POLIS_TEST_STORE";
const PATIENCE: Duration = Duration::from_secs(60);

/// Starts one part of a test in a subprocess.
fn part(name: &str, store: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .args([
            "--exact",
            name,
            "--include-ignored",
            "--nocapture",
            "--quiet",
        ])
        .env(WHERE, store)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .spawn()
        .unwrap()
}

/// Opens the store of a subprocess. Returns `None` if this process was not started by its test.
fn part_store() -> Option<Arc<dyn Store>> {
    let path = PathBuf::from(std::env::var_os(WHERE)?);
    Some(open(&path))
}

fn open(path: &Path) -> Arc<dyn Store> {
    Arc::new(EmbeddedStore::create(path, Use::Long, PATIENCE).unwrap())
}

const EACH: u64 = 200;

#[test]
#[ignore = "a part of another test"]
fn part_writes() {
    let Some(store) = part_store() else { return };
    run(async move {
        tell(&*store, EACH).await;
    });
}

#[test]
fn what_other_processes_write_reaches_every_reader() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        let server = Server::on(Arc::clone(&store), Options::default()).await;
        let mut readers = Vec::new();
        let total = EACH * 3;
        for _ in 0..20 {
            let mut reader = server.read("").await;
            assert_eq!(reader.block().await.unwrap().id, Some(0));
            readers.push(tokio::spawn(async move {
                let due: Vec<u64> = (1..=total).collect();
                assert_eq!(reader.places(due.len()).await, due);
            }));
        }
        let path = directory.path().to_owned();
        let others: Vec<Child> = (0..2)
            .map(|_| part("events_processes::part_writes", &path))
            .collect();
        tell(&*store, EACH).await;
        for mut other in others {
            let ended = tokio::task::spawn_blocking(move || other.wait().unwrap());
            assert!(ended.await.unwrap().success());
        }
        for reader in readers {
            reader.await.unwrap();
        }
    });
}

fn sender(store: &Arc<dyn Store>) -> WebhookSender {
    let mut polis = test_store::polis(Arc::clone(store));
    polis.clock = Arc::new(RealClock);
    let settings = WebhookSettings {
        look: Duration::from_millis(10),
        lease: Duration::from_millis(500),
        timeout: Duration::from_secs(10),
        ..WebhookSettings::default()
    };
    WebhookSender::start(polis.clone(), Hub::new(&polis), settings)
}

#[test]
#[ignore = "a part of another test"]
fn part_sends_for_ever() {
    let Some(store) = part_store() else { return };
    run(async move {
        let _sender = sender(&store);
        std::future::pending::<()>().await;
    });
}

/// However often the sending process is killed, every event arrives, in order except for a few repetitions.
#[test]
fn a_sender_that_is_killed_repeats_at_most_a_few() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let store = open(directory.path());
        let receiver = Receiver::start(&[]).await;
        let polis = test_store::polis(Arc::clone(&store));
        let (id, _) = add(&polis, &receiver.url(), &["task."]).await;
        let last = tell(&*store, 400).await;
        let kills = 4;
        for round in 1..=kills {
            let mut child = part("events_processes::part_sends_for_ever", directory.path());
            until(|| receiver.came().len() >= round * 50).await;
            child.kill().unwrap();
            child.wait().unwrap();
        }
        let sender = sender(&store);
        delivered(&*store, &id, last).await;
        sender.stop().await;
        let got = receiver.places();
        let mut due = 2;
        for seq in &got {
            assert!(*seq <= due, "{seq} came before {due}");
            due = due.max(seq + 1);
        }
        assert_eq!(due, last + 1, "nothing is lost");
        let again = got.len() as u64 - (last - 1);
        assert!(again <= 16 * kills as u64, "{again} came again");
    });
}

#[expect(clippy::disallowed_methods, reason = "a test's own setting")]
fn setting(name: &str) -> String {
    std::env::var(name).unwrap_or_else(|_| panic!("{name} is not set"))
}

/// A database restart is only a pause: readers get the events committed before and after it exactly once.
#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn readers_survive_a_restart_of_postgresql() {
    run(async {
        let url = setting("POLIS_TEST_PG_FAULT_URL");
        let url = polis_testkit::postgres::fresh_schema_at(&url).await;
        let store = PostgresStore::connect(&url, PATIENCE).await.unwrap();
        let store: Arc<dyn Store> = Arc::new(store);
        let server = Server::on(Arc::clone(&store), Options::default()).await;
        let mut reader = server.read("").await;
        tell(&*store, 50).await;
        assert_eq!(reader.places(50).await, (1..=50).collect::<Vec<_>>());
        let restart = setting("POLIS_TEST_PG_RESTART");
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
                async move { note(&*store, "task.updated", 1, "user", "x").await }
            });
            last = told.await.unwrap_or(last);
        }
        let due: Vec<u64> = (51..=last).collect();
        assert_eq!(reader.places(due.len()).await, due);
    });
}
