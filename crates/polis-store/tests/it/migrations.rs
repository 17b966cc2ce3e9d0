//! Schema migration tests: a store written by an earlier version of polis is migrated when it is opened, also
//! by several processes concurrently, without losing data.

use std::time::Duration;

use polis_core::changeset::{Changeset, StoreWrite, WritePrecondition};
use polis_core::message::NewMessage;
use polis_core::record::{RecordBody, RecordKind, RecordName};
use polis_core::society::{MemberKey, RunId};
use polis_core::{Agent, AgentId, RawJson, TaskId, Timestamp};
use polis_ops::port::{CommitOutcome, MailboxKey, Store};
use polis_store::embedded::{DATABASE_FILE, StoreMode};
use polis_store::{EmbeddedStore, PostgresStore};
use polis_testkit::postgres::create_test_schema;
use polis_testkit::run_test;
use rusqlite::Connection;
use tokio_postgres::NoTls;

const STORE_TIMEOUT: Duration = Duration::from_secs(60);

/// Agents as stored by a polis without workspaces: two heads of teams, one of them retired, and one
/// subordinate.
const OLD_AGENTS: [(&str, &str); 3] = [
    (
        "ada",
        r#"{"id":"ada","name":"ada","role":"architect","layer":"mid","supervisor":null,"status":"active","createdAt":"2026-01-02T03:04:05.678Z"}"#,
    ),
    (
        "bob",
        r#"{"id":"bob","name":"'bob'","role":"architect","layer":"bottom","supervisor":"ada","status":"active","createdAt":"2026-01-03T03:04:05.678Z"}"#,
    ),
    (
        "程序员",
        r#"{"id":"程序员","name":"\"小王\"","role":"architect","layer":"mid","supervisor":null,"status":"retired","createdAt":"2026-01-04T03:04:05.678Z"}"#,
    ),
];

async fn check_workspaces_of_agents(store: &dyn Store) {
    let agents: Vec<Agent> = OLD_AGENTS
        .iter()
        .map(|(_, body)| serde_json::from_str(body).unwrap())
        .collect();
    assert_eq!(store.agents().await.unwrap(), agents);
    let workspaces = store.workspaces().await.unwrap();
    let heads: Vec<_> = agents.iter().filter(|a| a.is_child_of_root()).collect();
    assert_eq!(heads.len(), 2);
    assert_eq!(workspaces.len(), heads.len());
    for (workspace, head) in workspaces.iter().zip(heads) {
        assert_eq!(workspace.workspace_id, head.id);
        assert_eq!(workspace.workspace_path, None);
        assert_eq!(workspace.created_at, head.created_at);
    }
    let ada: AgentId = "ada".parse().unwrap();
    let found = store.workspace(&ada).await.unwrap().unwrap();
    assert_eq!(
        (found.workspace, found.revision),
        (workspaces[0].clone(), 1)
    );
}

/// The migrations up to each version, oldest first.
const SQLITE_MIGRATIONS: [&str; 4] = [
    include_str!("../../migrations/sqlite/0001_tasks_agents_log.sql"),
    include_str!("../../migrations/sqlite/0002_boards.sql"),
    include_str!("../../migrations/sqlite/0003_workspaces.sql"),
    include_str!("../../migrations/sqlite/0004_records_messages.sql"),
];
const POSTGRES_MIGRATIONS: [&str; 4] = [
    include_str!("../../migrations/postgres/0001_tasks_agents_log.sql"),
    include_str!("../../migrations/postgres/0002_boards.sql"),
    include_str!("../../migrations/postgres/0003_workspaces.sql"),
    include_str!("../../migrations/postgres/0004_records_messages.sql"),
];

/// Creates an embedded store as a polis of this version left it, with its agents.
fn create_old_embedded_store(version: usize, kept: &str) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    let old = Connection::open(directory.path().join(DATABASE_FILE)).unwrap();
    old.pragma_update(None, "journal_mode", "wal").unwrap();
    for step in &SQLITE_MIGRATIONS[..version] {
        old.execute_batch(step).unwrap();
    }
    let reached = format!("PRAGMA user_version = {version}");
    old.execute_batch(&reached).unwrap();
    old.execute_batch(kept).unwrap();
    for row in OLD_AGENTS {
        let sql = "INSERT INTO agents (id, revision, body) VALUES (?, 4, ?)";
        old.execute(sql, row).unwrap();
    }
    directory
}

/// Creates a schema on a server as a polis of this version left it, with its agents.
async fn create_old_postgres_schema(version: usize, kept: &[&str]) -> String {
    let url = create_test_schema().await;
    let (old, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let schema = format!(
        "CREATE TABLE polis_schema (version BIGINT PRIMARY KEY); \
         INSERT INTO polis_schema SELECT generate_series(1, {version})"
    );
    for step in POSTGRES_MIGRATIONS[..version]
        .iter()
        .chain([&schema.as_str()])
        .chain(kept)
    {
        old.batch_execute(step).await.unwrap();
    }
    for (id, body) in OLD_AGENTS {
        let sql = "INSERT INTO agents (id, revision, body) VALUES ($1, 4, $2)";
        old.execute(sql, &[&id, &body]).await.unwrap();
    }
    url
}

/// Opens the store several times concurrently; one of them migrates it.
fn open_concurrently(url: &str) -> Vec<tokio::task::JoinHandle<PostgresStore>> {
    (0..4)
        .map(|_| {
            let url = url.to_owned();
            tokio::spawn(async move { PostgresStore::connect(&url, STORE_TIMEOUT).await.unwrap() })
        })
        .collect()
}

/// Data of a polis without records and messages, in SQL that both databases accept.
const VERSION_3_DATA: &str = r#"
INSERT INTO tasks (id, revision, version, status, owner, owner_role, required_role, task_type, standing,
  open_blockers, blocked_by, blocks, created_at, updated_at, subject, rest, description)
  VALUES (7, 3, 2, 'pending', '', '', '', '', 0, 0, '', '', '2026-01-02T03:04:05.678Z', NULL, '旧', '{}', 'kept');
INSERT INTO comments (task_id, id, body) VALUES (7, 1,
  '{"id":1,"author":"ada","createdAt":"2026-01-02T03:04:05.678Z","body":"said","mentions":[]}');
INSERT INTO events (seq, at, actor, kind, subject, data)
  VALUES (1, '2026-01-02T03:04:05.678Z', 'ada', 'task.created', 'task/7', '{}');
INSERT INTO workspaces (id, revision, body)
  VALUES ('ada', 2, '{"workspaceId":"ada","createdAt":"2026-01-02T03:04:05.678Z"}');
INSERT INTO marks (name, value) VALUES ('task-number', 9);
"#;

/// Existing data is preserved, and new features work.
async fn check_migrated_from_version_3(store: &dyn Store, round: u64) {
    let task = TaskId::new(7).unwrap();
    let found = store.tasks(&[task]).await.unwrap().pop().unwrap();
    assert_eq!((found.revision, found.task.subject.as_str()), (3, "旧"));
    assert_eq!(found.task.description, "kept");
    let ada: AgentId = "ada".parse().unwrap();
    assert_eq!(store.agents().await.unwrap().len(), OLD_AGENTS.len());
    assert_eq!(store.workspace(&ada).await.unwrap().unwrap().revision, 2);
    assert_eq!(store.last_task_number().await.unwrap(), 9);
    assert_eq!(store.last_sequence().await.unwrap(), 1);
    let name = RecordName::new(RecordKind::Webhook, format!("hook {round}"));
    assert_eq!(store.record(&name).await.unwrap(), None);
    let at = Timestamp::from_millis(1_000);
    let changes = Changeset {
        actor: ada.clone(),
        at: at.clone(),
        writes: vec![
            StoreWrite::SendMessage(Box::new(NewMessage {
                from: ada.clone(),
                to: ada,
                created_at: at,
                deliver_at: 1_000,
                reply_to: None,
                run: None,
                payload: RawJson::from_value(&round).unwrap(),
            })),
            StoreWrite::PutRecord {
                name: name.clone(),
                expect: WritePrecondition::Absent,
                expires_at: None,
                body: RecordBody::Text("{}".to_owned()),
            },
        ],
        events: Vec::new(),
    };
    let CommitOutcome::Committed(receipt) = store.commit(changes).await.unwrap() else {
        panic!("a conflict");
    };
    assert_eq!(receipt.messages, [round]);
    assert!(store.message(round).await.unwrap().is_some());
    assert!(store.record(&name).await.unwrap().is_some());
}

#[test]
fn version_3_embedded_store_gets_records_and_messages() {
    run_test(async {
        let directory = create_old_embedded_store(3, VERSION_3_DATA);
        // Opened several times concurrently; one of them migrates it.
        let opening: Vec<_> = (0..4)
            .map(|_| {
                let directory = directory.path().to_owned();
                let open = move || {
                    EmbeddedStore::open(&directory, StoreMode::Server, STORE_TIMEOUT).unwrap()
                };
                tokio::task::spawn_blocking(open)
            })
            .collect();
        for (store, round) in opening.into_iter().zip(1..) {
            check_migrated_from_version_3(&store.await.unwrap(), round).await;
        }
        let again =
            EmbeddedStore::open(directory.path(), StoreMode::OneShot, STORE_TIMEOUT).unwrap();
        assert_eq!(again.check_integrity().unwrap(), [""; 0]);
        check_migrated_from_version_3(&again, 5).await;
    });
}

#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn version_3_postgres_store_gets_records_and_messages() {
    run_test(async {
        let marks = "UPDATE marks SET value = 1 WHERE name = 'log-head'";
        let url = create_old_postgres_schema(3, &[VERSION_3_DATA, marks]).await;
        for (store, round) in open_concurrently(&url).into_iter().zip(1..) {
            check_migrated_from_version_3(&store.await.unwrap(), round).await;
        }
    });
}

/// Data of a polis without societies, in SQL that both databases accept: an unread message, a read one, and
/// one that is not yet delivered.
const VERSION_4_DATA: &str = r#"
INSERT INTO records (kind, id, revision, expires_at, body) VALUES ('token', 'old', 2, NULL, '{}');
INSERT INTO messages (id, recipient, sender, at, deliver_at, reply_to, read_at, payload) VALUES
  (1, 'ada', 'bob', '2026-01-02T03:04:05.678Z', 1767323045678, NULL, NULL, '"unread"'),
  (2, 'bob', 'ada', '2026-01-02T03:04:05.678Z', 1767323045678, 1, '2026-01-02T03:04:05.679Z', '"read"'),
  (3, 'bob', 'ada', '2026-01-02T03:04:05.678Z', 1767323055678, NULL, NULL, '"to come"');
"#;
/// When the messages of [`VERSION_4_DATA`] were sent.
const SENT_AT_MS: i64 = 1_767_323_045_678;

/// Existing data is preserved, and new features work.
async fn check_migrated_from_version_4(store: &dyn Store, round: u64) {
    let (ada, bob) = (
        "ada".parse::<AgentId>().unwrap(),
        "bob".parse::<AgentId>().unwrap(),
    );
    let record = RecordName::new(RecordKind::Token, "old");
    assert_eq!(store.record(&record).await.unwrap().unwrap().revision, 2);
    for (id, read) in [(1, false), (2, true), (3, false)] {
        let found = store.message(id).await.unwrap().unwrap();
        assert_eq!((found.run, found.read_at.is_some()), (None, read));
    }
    let waits = |name: &AgentId| MailboxKey {
        run: None,
        recipient: name.clone(),
    };
    let waiting = store.unread_mailboxes(SENT_AT_MS, None, 1).await.unwrap();
    assert_eq!(waiting, [waits(&ada)]);
    let waiting = store
        .unread_mailboxes(SENT_AT_MS + 10_000, None, 2)
        .await
        .unwrap();
    assert_eq!(waiting, [waits(&ada), waits(&bob)]);
    let next = SENT_AT_MS + 10_000;
    assert_eq!(store.next_delivery(&ada, SENT_AT_MS).await.unwrap(), None);
    assert_eq!(
        store.next_delivery(&bob, SENT_AT_MS).await.unwrap(),
        Some(next)
    );
    assert_eq!(
        store.next_delivery_of_any(SENT_AT_MS).await.unwrap(),
        Some(next)
    );
    // Agents are found by their role.
    let found = store.agents_of_run(None, Some("architect")).await.unwrap();
    assert_eq!(found, store.agents().await.unwrap());
    assert_eq!(found.len(), OLD_AGENTS.len());
    let found = store.agents_of_run(None, Some("tester")).await.unwrap();
    assert_eq!(found, []);
    let run: RunId = format!("run-{round}").parse().unwrap();
    let member = MemberKey::new(run.clone(), ada.clone());
    assert_eq!(store.turns(&member, 0, 9).await.unwrap(), []);
    let at = Timestamp::from_millis(SENT_AT_MS);
    let changes = Changeset {
        actor: ada.clone(),
        at: at.clone(),
        writes: vec![
            StoreWrite::SendMessage(Box::new(NewMessage {
                from: ada.clone(),
                to: ada.clone(),
                created_at: at,
                deliver_at: SENT_AT_MS,
                reply_to: None,
                run: Some(run.clone()),
                payload: RawJson::from_value(&round).unwrap(),
            })),
            StoreWrite::AppendTurn {
                member: member.to_string(),
                turn: 0,
                body: RecordBody::Text("{}".to_owned()),
            },
        ],
        events: Vec::new(),
    };
    let CommitOutcome::Committed(receipt) = store.commit(changes).await.unwrap() else {
        panic!("a conflict");
    };
    assert_eq!(receipt.messages, [round + 3]);
    let found = store.message(round + 3).await.unwrap().unwrap();
    assert_eq!(found.run, Some(run));
    assert_eq!(store.turns(&member, 0, 9).await.unwrap().len(), 1);
}

#[test]
fn version_4_embedded_store_gets_societies() {
    run_test(async {
        let directory = create_old_embedded_store(4, VERSION_4_DATA);
        // Opened several times concurrently; one of them migrates it.
        let opening: Vec<_> = (0..4)
            .map(|_| {
                let directory = directory.path().to_owned();
                let open = move || {
                    EmbeddedStore::open(&directory, StoreMode::Server, STORE_TIMEOUT).unwrap()
                };
                tokio::task::spawn_blocking(open)
            })
            .collect();
        for (store, round) in opening.into_iter().zip(1..) {
            check_migrated_from_version_4(&store.await.unwrap(), round).await;
        }
        let again =
            EmbeddedStore::open(directory.path(), StoreMode::OneShot, STORE_TIMEOUT).unwrap();
        assert_eq!(again.check_integrity().unwrap(), [""; 0]);
        check_migrated_from_version_4(&again, 5).await;
    });
}

#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn version_4_postgres_store_gets_societies() {
    run_test(async {
        let marks = "INSERT INTO marks (name, value) VALUES ('message-number', 3)";
        let url = create_old_postgres_schema(4, &[VERSION_4_DATA, marks]).await;
        for (store, round) in open_concurrently(&url).into_iter().zip(1..) {
            check_migrated_from_version_4(&store.await.unwrap(), round).await;
        }
    });
}

#[test]
fn version_2_embedded_store_gets_workspaces_of_agents() {
    run_test(async {
        let directory = create_old_embedded_store(2, "");
        for _ in 0..2 {
            let store =
                EmbeddedStore::open(directory.path(), StoreMode::OneShot, STORE_TIMEOUT).unwrap();
            check_workspaces_of_agents(&store).await;
        }
    });
}

#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn version_2_postgres_store_gets_workspaces_of_agents() {
    run_test(async {
        let url = create_old_postgres_schema(2, &[]).await;
        for _ in 0..2 {
            check_workspaces_of_agents(&PostgresStore::connect(&url, STORE_TIMEOUT).await.unwrap())
                .await;
        }
    });
}
