//! A store of an earlier polis is brought up to date when it is opened, and nothing of it is lost.

use std::time::Duration;

use polis_core::{Agent, AgentId};
use polis_ops::port::Store;
use polis_store::embedded::{DATABASE, Use};
use polis_store::{EmbeddedStore, PostgresStore};
use polis_testkit::postgres::fresh_schema;
use polis_testkit::run;
use rusqlite::Connection;
use tokio_postgres::NoTls;

const PATIENCE: Duration = Duration::from_secs(60);

/// Agents as a polis without workspaces has kept them: two heads of teams, one of them retired, and
/// one below.
const AGENTS: [(&str, &str); 3] = [
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

async fn check(store: &dyn Store) {
    let agents: Vec<Agent> = AGENTS
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

#[test]
fn agents_of_an_older_embedded_store_get_their_workspaces() {
    run(async {
        let directory = tempfile::tempdir().unwrap();
        let old = Connection::open(directory.path().join(DATABASE)).unwrap();
        for step in [
            include_str!("../../migrations/sqlite/0001_tasks_agents_log.sql"),
            include_str!("../../migrations/sqlite/0002_boards.sql"),
            "PRAGMA user_version = 2",
        ] {
            old.execute_batch(step).unwrap();
        }
        for row in AGENTS {
            let sql = "INSERT INTO agents (id, revision, body) VALUES (?, 4, ?)";
            old.execute(sql, row).unwrap();
        }
        drop(old);
        for _ in 0..2 {
            let store = EmbeddedStore::open(directory.path(), Use::Brief, PATIENCE).unwrap();
            check(&store).await;
        }
    });
}

#[test]
#[ignore = "needs PostgreSQL: scripts/test starts one"]
fn agents_of_an_older_server_get_their_workspaces() {
    run(async {
        let url = fresh_schema().await;
        let (old, connection) = tokio_postgres::connect(&url, NoTls).await.unwrap();
        tokio::spawn(connection);
        for step in [
            include_str!("../../migrations/postgres/0001_tasks_agents_log.sql"),
            include_str!("../../migrations/postgres/0002_boards.sql"),
            "CREATE TABLE polis_schema (version BIGINT PRIMARY KEY); INSERT INTO polis_schema VALUES (1), (2)",
        ] {
            old.batch_execute(step).await.unwrap();
        }
        for (id, body) in AGENTS {
            let sql = "INSERT INTO agents (id, revision, body) VALUES ($1, 4, $2)";
            old.execute(sql, &[&id, &body]).await.unwrap();
        }
        for _ in 0..2 {
            check(&PostgresStore::connect(&url, PATIENCE).await.unwrap()).await;
        }
    });
}
